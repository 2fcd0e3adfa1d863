//! Agents on servers that speak the Agent Communication Protocol, and servers that do not quite.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::Body,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures::StreamExt as _;
use goose::{
    exchange::{Event, Outcome},
    permission::Mode,
};
use goose_extension::{ElicitAction, Elicited};
use goose_test_support::{HttpAnswer, Loopback};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::{World, bounded, done, say, tell, until, until_text};

/// The id of every run.
const RUN: &str = "8a2b0b6e-3f06-4b62-9c2e-7a7a5d2f1c11";

/// The requests that a server got: the path, and the body.
type Asked = Arc<Mutex<Vec<(String, Value)>>>;

/// A server with the agents `echo` and `second`, and an entry that leads to it.
async fn server(more: &str) -> anyhow::Result<(World, Asked)> {
    let asked = Asked::default();
    let agents = || async { value(&json!({"agents": [{"name": "echo"}, {"name": "second"}]})) };
    let agent = |Path(name): Path<String>, headers: HeaderMap| async move {
        match (name.as_str(), headers.get("x-key").map(|key| key.as_bytes())) {
            ("locked", None) => (StatusCode::UNAUTHORIZED, value(&json!({"message": "no key"}))),
            ("echo" | "locked", _) => (StatusCode::OK, value(&json!({"name": name}))),
            _ => (StatusCode::NOT_FOUND, value(&json!({"code": "not_found", "message": "no such agent"}))),
        }
    };
    let router = Router::new()
        .route("/base/agents", get(agents))
        .route("/base/agents/{name}", get(agent))
        .route("/base/runs", post(run))
        .route("/base/runs/{id}", post(resume))
        .route("/base/runs/{id}/cancel", post(cancel))
        .with_state(Arc::clone(&asked));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/base", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, router).await });
    let world = World::new(&format!("agents:\n  other:\n    type: acp_http\n    url: {url}\n{more}"))?;
    Ok((world, asked))
}

fn value(value: &Value) -> Response {
    ([("content-type", "application/json")], value.to_string()).into_response()
}

fn events(events: &[Value]) -> Response {
    let text: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    ([("content-type", "text/event-stream; charset=utf-8")], text).into_response()
}

fn state(status: &str, more: Value) -> Value {
    let mut run = json!({"run_id": RUN, "session_id": "5f3c", "agent_name": "echo", "status": status});
    if let (Value::Object(run), Value::Object(more)) = (&mut run, more) {
        run.extend(more);
    }
    run
}

fn part(text: &str) -> Value {
    json!({"type": "message.part", "part": {"content_type": "text/plain", "content": text}})
}

fn message(text: &str) -> Value {
    json!({"role": "agent/echo", "parts": [{"content_type": "text/plain", "content": text}]})
}

/// Does what the task says.
async fn run(State(asked): State<Asked>, body: String) -> Response {
    let body: Value = serde_json::from_str(&body).unwrap_or_default();
    let task = body["input"][0]["parts"][0]["content"].as_str().unwrap_or_default().to_owned();
    asked.lock().push(("/runs".to_owned(), body));
    let created = json!({"type": "run.created", "run": state("created", json!({}))});
    let completed = |output: Value| json!({"type": "run.completed", "run": state("completed", json!({"output": output}))});
    // What was said before may follow.
    match task.lines().next().unwrap_or_default() {
        "parts" => events(&[
            created,
            json!({"type": "message.created", "message": {"role": "agent/echo", "parts": []}}),
            part("one "),
            part("two"),
            json!({"type": "message.completed", "message": message("one two")}),
            json!({"type": "message.created", "message": {"role": "agent/echo", "parts": []}}),
            json!({"type": "message.part", "part": {"metadata": {"kind": "trajectory", "message": "I thought"}}}),
            json!({"type": "message.part", "part": {"content_type": "image/png", "content": "aGk=", "content_encoding": "base64"}}),
            json!({"type": "generic", "generic": {"message": "working"}}),
            completed(json!([message("one two")])),
        ]),
        "whole" => events(&[created, completed(json!([message("all at once")]))]),
        "value" => value(&state("completed", json!({"output": [message("no stream")]}))),
        "ask" => {
            let request = json!({"await_request": {"type": "message", "message": message("Which colour?")}});
            events(&[created, json!({"type": "run.awaiting", "run": state("awaiting", request)})])
        }
        "fail" => {
            let error = json!({"error": {"code": "server_error", "message": "no more paper"}});
            events(&[created, json!({"type": "run.failed", "run": state("failed", error)})])
        }
        "cut" => events(&[created, part("half")]),
        "slow" => {
            let begin = format!("data: {created}\n\ndata: {}\n\n", part("waiting"));
            let begin = futures::stream::iter([Ok::<_, std::io::Error>(begin)]);
            let body = Body::from_stream(begin.chain(futures::stream::pending()));
            ([("content-type", "text/event-stream")], body).into_response()
        }
        "early" => {
            let headers = [("content-type", "text/event-stream"), ("run-id", RUN)];
            (headers, Body::from_stream(futures::stream::pending::<Result<String, std::io::Error>>()))
                .into_response()
        }
        "pings" => {
            let end = format!("data: {created}\n\ndata: {}\n\n", completed(json!([message("awake")])));
            let pings = ["data: not JSON\n\n"; 2].into_iter().chain([": ping\n\n"; 4]).map(str::to_owned);
            let slowly = futures::stream::iter(pings.chain([end])).then(|text| async move {
                tokio::time::sleep(Duration::from_millis(300)).await;
                Ok::<_, std::io::Error>(text)
            });
            ([("content-type", "text/event-stream")], Body::from_stream(slowly)).into_response()
        }
        "huge" => {
            let line = futures::stream::repeat_with(|| Ok::<_, std::io::Error>("x".repeat(1024 * 1024)));
            ([("content-type", "text/event-stream")], Body::from_stream(line)).into_response()
        }
        "endless" => {
            let text = format!("data: {}\n\n", part(&"and so on ".repeat(1_000)));
            let text = futures::stream::repeat_with(move || Ok::<_, std::io::Error>(text.clone()));
            ([("content-type", "text/event-stream")], Body::from_stream(text)).into_response()
        }
        "html" => ([("content-type", "text/html")], "<h1>Hello</h1>").into_response(),
        "busy" => (StatusCode::SERVICE_UNAVAILABLE, "try later").into_response(),
        "moved" => (StatusCode::FOUND, [("location", "http://elsewhere.invalid/")]).into_response(),
        _ => (StatusCode::UNPROCESSABLE_ENTITY, value(&json!({"message": "bad input"}))).into_response(),
    }
}

async fn resume(State(asked): State<Asked>, Path(id): Path<String>, body: String) -> Response {
    let body: Value = serde_json::from_str(&body).unwrap_or_default();
    let said = body["await_resume"]["message"]["parts"][0]["content"].as_str().unwrap_or_default().to_owned();
    asked.lock().push((format!("/runs/{id}"), body));
    events(&[
        part(&format!("You like {said}.")),
        json!({"type": "run.completed", "run": state("completed", json!({}))}),
    ])
}

async fn cancel(State(asked): State<Asked>, Path(id): Path<String>) -> Response {
    asked.lock().push((format!("/runs/{id}/cancel"), Value::Null));
    value(&state("cancelling", json!({})))
}

#[tokio::test]
async fn a_run_is_streamed_and_goes_on_in_its_session() -> anyhow::Result<()> {
    let (world, asked) = server("    agent: echo\n").await?;
    let exchange = world.open("other", Mode::Auto).await?;
    let seen = tell(&exchange, "parts").await?;
    assert_eq!((seen.text().as_str(), seen.outcome()?), ("one two\n\n[image/png, not shown]", &done()));
    assert_eq!(seen.logs(), ["other: I thought", "other: working"]);
    assert_eq!(tell(&exchange, "whole").await?.text(), "all at once");
    assert_eq!(tell(&exchange, "value").await?.text(), "no stream");
    let asked = asked.lock();
    assert_eq!((&asked[0].1["agent_name"], &asked[0].1["mode"]), (&json!("echo"), &json!("stream")));
    assert_eq!((&asked[0].1["session_id"], &asked[1].1["session_id"]), (&Value::Null, &json!("5f3c")));
    Ok(())
}

#[tokio::test]
async fn a_question_is_put_to_the_person_and_the_run_resumed() -> anyhow::Result<()> {
    let (world, asked) = server("    agent: echo\n").await?;
    let exchange = world.open("other", Mode::Auto).await?;
    let answer = Elicited::new(ElicitAction::Accept).with_content(json!({"answer": "blue"}));
    let seen = say(&exchange, "ask", answer).await?;
    assert_eq!((seen.text().as_str(), seen.questions()), ("You like blue.", vec!["other".to_owned()]));
    assert_eq!(asked.lock()[1].0, format!("/runs/{RUN}"));

    let seen = say(&exchange, "ask", Elicited::new(ElicitAction::Decline)).await?;
    assert!(seen.failure()?.contains("Which colour?"), "{}", seen.failure()?);
    assert_eq!(asked.lock().last().map(|it| it.0.clone()), Some(format!("/runs/{RUN}/cancel")));

    exchange.set_attended(false);
    let seen = tell(&exchange, "ask").await?;
    assert!(seen.failure()?.contains("Give it the answer with the task"), "{}", seen.failure()?);
    Ok(())
}

#[tokio::test]
async fn cancelling_cancels_the_run_on_the_server() -> anyhow::Result<()> {
    let (world, asked) = server("    agent: echo\n").await?;
    let exchange = world.open("other", Mode::Auto).await?;
    let mut reply = exchange.reply_to("slow");
    until_text(&mut reply).await?;
    reply.cancel();
    let last = bounded(async { reply.by_ref().collect::<Vec<_>>().await }).await?.pop();
    assert_eq!(last, Some(Event::Finished(Outcome::Cancelled)));
    let path = format!("/runs/{RUN}/cancel");
    until("the cancel", || asked.lock().iter().any(|(asked, _)| *asked == path)).await
}

#[tokio::test]
async fn a_run_that_has_not_begun_to_report_is_cancelled_too() -> anyhow::Result<()> {
    let (world, asked) = server("    agent: echo\n").await?;
    let exchange = world.open("other", Mode::Auto).await?;
    let mut reply = exchange.reply_to("early");
    until("the run", || asked.lock().iter().any(|(path, _)| path == "/runs")).await?;
    // The header is on its way.
    tokio::time::sleep(Duration::from_millis(300)).await;
    reply.cancel();
    bounded(async { reply.by_ref().collect::<Vec<_>>().await }).await?;
    let path = format!("/runs/{RUN}/cancel");
    until("the cancel", || asked.lock().iter().any(|(asked, _)| *asked == path)).await
}

#[tokio::test]
async fn a_server_that_shows_that_it_is_there_is_not_silent() -> anyhow::Result<()> {
    let (world, _) = server("    agent: echo\n    timeout: 1\n").await?;
    let exchange = world.open("other", Mode::Auto).await?;
    let seen = tell(&exchange, "pings").await?;
    assert_eq!((seen.text().as_str(), seen.outcome()?), ("awake", &done()));
    Ok(())
}

#[tokio::test]
async fn failures_are_told_apart_and_named() -> anyhow::Result<()> {
    let (world, _) = server("    agent: echo\n    timeout: 1\n").await?;
    for (task, reasons) in [
        ("fail", vec!["no more paper"]),
        ("cut", vec!["closed the connection before the run was over"]),
        ("slow", vec!["said nothing for 1 s"]),
        ("html", vec!["not JSON", "Hello"]),
        ("moved", vec!["302", "Redirects are not followed"]),
        ("unknown", vec!["422", "bad input"]),
    ] {
        // A session and a manager of its own: the circuit breaker is tested elsewhere.
        let world = World::new(&std::fs::read_to_string(world.manager.settings().paths().config_file())?)?;
        let exchange = world.open("other", Mode::Auto).await?;
        let seen = tell(&exchange, task).await?;
        let failure = seen.failure()?;
        for reason in reasons.into_iter().chain(["`other`"]) {
            assert!(failure.contains(reason), "{task}: {failure}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn what_a_server_sends_is_capped() -> anyhow::Result<()> {
    let (world, _) = server("    agent: echo\n").await?;
    let exchange = world.open("other", Mode::Auto).await?;
    let huge = tell(&exchange, "huge").await?;
    assert!(huge.failure()?.contains("event of more than"), "{}", huge.failure()?);
    let endless = tell(&exchange, "endless").await?;
    assert!(endless.failure()?.contains("did not stop talking"), "{}", endless.failure()?);
    Ok(())
}

#[tokio::test]
async fn the_agent_is_found_by_its_name_there() -> anyhow::Result<()> {
    for (more, words) in [
        ("    agent: nobody\n", vec!["404", "no such agent"]),
        ("", vec!["several agents", "echo, second"]),
        ("    agent: locked\n", vec!["401", "no key", "headers"]),
    ] {
        let (world, _) = server(more).await?;
        let exchange = world.open("other", Mode::Auto).await?;
        let seen = tell(&exchange, "whole").await?;
        for word in words {
            assert!(seen.failure()?.contains(word), "{}", seen.failure()?);
        }
    }
    let (world, _) =
        server("    agent: locked\n    headers: {x-key: '${COLOUR}'}\n    envs: {COLOUR: blue}\n").await?;
    let exchange = world.open("other", Mode::Auto).await?;
    assert_eq!(tell(&exchange, "whole").await?.text(), "all at once");
    Ok(())
}

#[tokio::test]
async fn a_server_that_is_not_there_is_left_alone_after_some_failures() -> anyhow::Result<()> {
    let gone = Loopback::answering(|_| HttpAnswer::new(503, "down"))?;
    let world = World::new(&format!("agents:\n  other: {{type: acp_http, url: '{}'}}\n", gone.url()))?;
    let exchange = world.open("other", Mode::Auto).await?;
    for _ in 0..3 {
        assert!(tell(&exchange, "hello").await?.failure()?.contains("503"));
    }
    let begun = Instant::now();
    let seen = tell(&exchange, "hello").await?;
    assert!(seen.failure()?.contains("failed 3 times in a row"), "{}", seen.failure()?);
    assert!(begun.elapsed() < Duration::from_millis(500));
    Ok(())
}
