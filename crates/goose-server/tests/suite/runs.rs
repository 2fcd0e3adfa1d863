//! The Agent Communication Protocol: sync, async and stream runs, questions, cancel, events and sessions.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use goose_test_support::{ModelServer, Turn};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{TestServer, events, message, run_body, text};

/// A session that the client named.
const SESSION: &str = "3f2b1c4e-8a51-4d0e-9a35-5f0d6c9b7e21";

fn kinds(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().filter_map(|(_, event)| event["type"].as_str()).filter(|kind| *kind != "generic").collect()
}

fn shell(command: &str) -> Turn {
    Turn::call("developer__shell", json!({"command": command}))
}

fn answer(text: &str) -> Value {
    json!({"await_resume": {"type": "message", "message": message(text)}, "mode": "sync"})
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_and_their_modes_are_listed() -> anyhow::Result<()> {
    let server = TestServer::new([]).await?;
    let listed = server.get("/agents?limit=1000").await?;
    let names: Vec<&str> =
        listed["agents"].as_array().context("a list")?.iter().filter_map(|it| it["name"].as_str()).collect();
    for name in ["goose-agent", "goose-agent-assistant", "goose-agent-app-maker", "coding-agent-backend"] {
        ensure!(names.contains(&name), "{name} is missing: {names:?}");
    }
    ensure!(
        !names.iter().any(|name| name.contains("orchestrator") || name.contains(['_', '.'])),
        "{names:?}"
    );
    let page = server.get("/agents?limit=2&offset=1").await?;
    ensure!(page["agents"][0]["name"] == names[1] && page["agents"].as_array().map(Vec::len) == Some(2));
    let one = server.get("/agents/coding-agent-backend").await?;
    ensure!(one["metadata"]["framework"] == "goose", "{one}");
    ensure!(
        server.post("/runs", json!({"agent_name": "nobody", "input": [message("Hi")]}), 404).await?["code"]
            == "not_found"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_sync_async_and_streamed_in_one_session() -> anyhow::Result<()> {
    let server = TestServer::new(["One.", "Two.", "Three."].map(Turn::text)).await?;
    let first = server.run("sync", "Begin", Some(SESSION)).await?;
    ensure!(first["status"] == "completed" && first["session_id"] == SESSION, "{first}");
    ensure!(first["output"][0]["parts"][0]["content"] == "One.", "{first}");

    let second = server.run("async", "Go on", Some(SESSION)).await?;
    ensure!(second["status"] == "in-progress", "{second}");
    let second = server.until(&second, "completed").await?;
    ensure!(second["output"][0]["parts"][0]["content"] == "Two.", "{second}");

    let request =
        server.request(Method::POST, "/runs").body(run_body("stream", "Finish", Some(SESSION)).to_string());
    let streamed = events(request).await?;
    let expected = [
        "run.created",
        "run.in-progress",
        "message.created",
        "message.part",
        "message.completed",
        "run.completed",
    ];
    let mut seen = kinds(&streamed);
    seen.dedup();
    ensure!(seen == expected, "{seen:?}");

    let run = &streamed.last().context("events")?.1["run"];
    let listed = server.get(&format!("/runs/{}/events", text(run, "run_id")?)).await?;
    let all: Vec<&Value> = streamed.iter().map(|(_, event)| event).collect();
    ensure!(listed["events"].as_array().context("a list")?.iter().collect::<Vec<_>>() == all, "{listed}");
    // From any number, as a list and as a stream, by number and by id.
    let path = format!("/runs/{}/events", text(run, "run_id")?);
    let rest = events(server.request(Method::GET, &format!("{path}?after=2"))).await?;
    ensure!(rest == streamed[2..], "{rest:?}");
    let resumed = server.request(Method::GET, &path).header("last-event-id", &streamed[3].0);
    ensure!(events(resumed).await? == streamed[4..]);

    let session = server.get(&format!("/session/{SESSION}")).await?;
    let history = session["history"].as_array().context("a list")?;
    ensure!(history.len() == 6 && server.get(&format!("/sessions/{SESSION}")).await? == session, "{session}");
    let last =
        history[5].as_str().and_then(|url| url.strip_prefix(&server.url)).context("an address of ours")?;
    ensure!(server.get(last).await?["parts"][0]["content"] == "Three.");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn approvals_are_awaited_and_answered() -> anyhow::Result<()> {
    let turns = [shell("echo one > made.txt"), shell("echo two"), Turn::text("Done.")];
    let server = TestServer::with(ModelServer::scripted(turns)?, "approve", |_| {}).await?;
    let asked = server.run("sync", "Make a file", None).await?;
    ensure!(asked["status"] == "awaiting", "{asked}");
    let question = &asked["await_request"]["message"]["parts"];
    ensure!(
        question[0]["content"].as_str().is_some_and(|text| text.contains("echo one > made.txt")),
        "{question}"
    );
    let path = format!("/runs/{}", text(&asked, "run_id")?);
    let unclear = server.post(&path, answer("perhaps"), 400).await?;
    ensure!(unclear["code"] == "invalid_input", "{unclear}");

    // A program answers with id and digest; those of another question count for nothing.
    let details: Value = serde_json::from_str(text(&question[1], "content")?)?;
    let by_program = |digest: &Value| {
        let answer = json!({
            "id": details["id"], "digest": digest,
            "answer": {"answer": "decision", "value": {"decision": "allow"}},
        });
        let part =
            json!({"name": "answer", "content_type": "application/json", "content": answer.to_string()});
        json!({"await_resume": {"type": "message", "message": {"role": "user", "parts": [part]}}, "mode": "sync"})
    };
    server.post(&path, by_program(&"0".into()), 409).await?;
    let second = server.post(&path, by_program(&details["digest"]), 200).await?;
    ensure!(second["status"] == "awaiting", "{second}");
    ensure!(second["await_request"] != asked["await_request"]);
    ensure!(server.folder.path().join("work/made.txt").exists());

    let done = server.post(&path, answer("deny: say it instead"), 200).await?;
    ensure!(done["status"] == "completed" && done["await_request"].is_null(), "{done}");
    ensure!(server.post(&path, answer("allow"), 409).await?["data"]["reason"] == "not_awaiting");
    let listed = server.get(&format!("{path}/events")).await?;
    let stops =
        listed["events"].as_array().context("a list")?.iter().filter(|it| it["type"] == "run.awaiting");
    ensure!(stops.count() == 2, "{listed}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_a_run_changes_are_artifacts() -> anyhow::Result<()> {
    let write = Turn::call("developer__write", json!({"path": "notes.md", "content": "Hello\n"}));
    let server = TestServer::new([write, Turn::text("Written.")]).await?;
    let run = server.run("sync", "Write notes", None).await?;
    let parts: Vec<&Value> = run["output"]
        .as_array()
        .context("a list")?
        .iter()
        .filter_map(|it| it["parts"].as_array())
        .flatten()
        .collect();
    let artifact = parts.iter().find(|part| part["name"] == "notes.md").with_context(|| format!("{run}"))?;
    ensure!(artifact["content"] == "Hello\n", "{artifact}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_cancelled_and_its_session_goes_on() -> anyhow::Result<()> {
    let turns = [shell("sleep 60"), Turn::text("Again.")];
    let server = TestServer::new(turns).await?;
    let run = server.run("async", "Wait", Some(SESSION)).await?;
    let path = format!("/runs/{}", text(&run, "run_id")?);
    let busy = server.post("/runs", run_body("sync", "Hurry", Some(SESSION)), 409).await?;
    ensure!(busy["data"]["reason"] == "session_busy", "{busy}");
    tokio::time::sleep(Duration::from_millis(100)).await;
    let cancelling = server.post(&format!("{path}/cancel"), json!({}), 202).await?;
    ensure!(["cancelling", "cancelled"].contains(&text(&cancelling, "status")?), "{cancelling}");
    server.until(&run, "cancelled").await?;
    server.post(&format!("{path}/cancel"), json!({}), 409).await?;
    let again = server.run("sync", "Again", Some(SESSION)).await?;
    ensure!(again["status"] == "completed", "{again}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_survive_the_server() -> anyhow::Result<()> {
    let server = TestServer::new([Turn::text("One."), Turn::text("Two.")]).await?;
    let key = |body: Value| {
        server.request(Method::POST, "/runs").header("idempotency-key", "k1").body(body.to_string())
    };
    let first =
        crate::support::answered(key(run_body("sync", "Begin", Some(SESSION))), reqwest::StatusCode::OK)
            .await?;
    let before =
        events(server.request(Method::GET, &format!("/runs/{}/events", text(&first, "run_id")?))).await?;
    let server = server.restarted().await?;

    let path = format!("/runs/{}", text(&first, "run_id")?);
    let read = server.get(&path).await?;
    ensure!(read["status"] == "completed" && read["session_id"] == SESSION, "{read}");
    ensure!(read["output"][0]["parts"] == first["output"][0]["parts"], "{read}");
    // Numbers of the earlier process mean nothing here, so everything comes again.
    let last = &before.last().context("events")?.0;
    let again =
        events(server.request(Method::GET, &format!("{path}/events")).header("last-event-id", last)).await?;
    ensure!(kinds(&again).first() == Some(&"run.created") && kinds(&again).last() == Some(&"run.completed"));
    // A repeated request does not start a second run, also after a restart.
    let repeated = server.request(Method::POST, "/runs").header("idempotency-key", "k1");
    let repeated = repeated.body(run_body("sync", "Begin", Some(SESSION)).to_string());
    let repeated = crate::support::answered(repeated, reqwest::StatusCode::OK).await?;
    ensure!(repeated["run_id"] == first["run_id"] && server.model.asked().len() == 1, "{repeated}");
    let next = server.run("sync", "Go on", Some(SESSION)).await?;
    ensure!(next["output"][0]["parts"][0]["content"] == "Two.", "{next}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_model_fails_the_run() -> anyhow::Result<()> {
    let server = TestServer::new([Turn::status(401, "wrong key")]).await?;
    let run = server.run("sync", "Begin", None).await?;
    ensure!(run["status"] == "failed" && run["error"]["code"] == "server_error", "{run}");
    ensure!(run["error"]["message"].as_str().is_some_and(|text| text.contains("wrong key")), "{run}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_requests_are_refused() -> anyhow::Result<()> {
    let server = TestServer::new([]).await?;
    let part =
        |part: Value| json!({"agent_name": "goose-agent", "input": [{"role": "user", "parts": [part]}]});
    for body in [
        json!({}),
        json!({"agent_name": "goose-agent", "input": []}),
        json!({"agent_name": "goose-agent", "input": [message(" ")]}),
        json!({"agent_name": "goose-agent", "input": [message("Hi")], "session_id": "1"}),
        part(json!({"content_type": "video/mp4", "content": "x", "content_encoding": "base64"})),
        part(json!({"content_type": "image/png", "content": "?", "content_encoding": "base64"})),
        part(json!({"content_url": "http://127.0.0.1/secret"})),
    ] {
        let error = server.post("/runs", body, 400).await?;
        ensure!(error["code"] == "invalid_input" && error["message"].is_string(), "{error}");
    }
    for path in
        ["/runs/1", "/runs/3f2b1c4e-8a51-4d0e-9a35-5f0d6c9b7e21", "/session/x", "/agents/x", "/nothing"]
    {
        let request = server.request(Method::GET, path);
        let error = crate::support::answered(request, reqwest::StatusCode::NOT_FOUND).await?;
        ensure!(error["code"] == "not_found", "{error}");
    }
    Ok(())
}
