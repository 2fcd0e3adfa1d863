//! Calls over a faulty network.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use axum::{
    body::{Body, Bytes},
    http::{Response, header},
};
use futures::StreamExt as _;
use goose_extension::{Extension, prelude::*};
use goose_mcp_bridge::{ConnectOptions, Lifecycle, RemoteExtension, connect};

use crate::web::{Asked, Web, mcp, status, with_header};

fn options() -> ConnectOptions {
    ConnectOptions { lifecycle: Lifecycle::Initialize, ..ConnectOptions::default() }
}

async fn open(web: &Web) -> Arc<RemoteExtension> {
    connect(web.url("/mcp"), options()).await.unwrap()
}

async fn work(server: &RemoteExtension) -> ToolResult<Value> {
    server.call_tool("work", HashMap::new()).await
}

/// A server that answers `rpc` with `answer(n)` the nth time, where that is something.
async fn odd(
    rpc: &'static str,
    answer: impl Fn(usize) -> Option<Response<Body>> + Clone + Send + Sync + 'static,
) -> (Web, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&count);
    let web = Web::serve(move |asked: Asked| {
        let odd = (asked.rpc() == rpc).then(|| counting.fetch_add(1, Ordering::SeqCst));
        let answer = odd.and_then(&answer).unwrap_or_else(|| mcp(&asked));
        async move { answer }
    });
    (web.await, count)
}

#[tokio::test]
async fn a_busy_server_is_asked_again_where_that_is_safe() {
    let refused = |code| with_header(status(code), "retry-after", "0");
    // What the server did not do is sent again, though it may have an effect.
    for code in [503, 429] {
        let (web, count) = odd("tools/call", move |nth| (nth < 2).then(|| refused(code))).await;
        assert_eq!(work(&*open(&web).await).await, Ok(json!("done")));
        assert_eq!(count.load(Ordering::SeqCst), 3, "{code}");
    }
    // What it may have done is not.
    for code in [502, 503, 504] {
        let (web, count) = odd("tools/call", move |_| Some(status(code))).await;
        let error = work(&*open(&web).await).await.unwrap_err().to_string();
        assert!(error.contains(&code.to_string()) && error.contains("may have been carried out"), "{error}");
        assert_eq!(count.load(Ordering::SeqCst), 1, "{code}");
    }
    // A list has no effect.
    let (web, count) = odd("tools/list", |nth| (nth < 2).then(|| status(502))).await;
    assert_eq!(work(&*open(&web).await).await, Ok(json!("done")));
    assert_eq!(count.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_server_that_stays_busy_is_given_up_after_three_tries() {
    let (web, count) = odd("tools/call", |_| Some(with_header(status(503), "retry-after", "0"))).await;
    let error = work(&*open(&web).await).await.unwrap_err();
    assert!(matches!(&error, ToolError::Disconnected(text) if text.contains("503")), "{error:?}");
    assert_eq!(count.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn error_statuses_become_error_texts() {
    let text = || {
        let response = Response::builder().status(403).body(Body::from("not for you"));
        response.unwrap()
    };
    let (web, count) = odd("tools/call", move |_| Some(text())).await;
    let error = work(&*open(&web).await).await.unwrap_err();
    assert!(matches!(&error, ToolError::Denied(text) if text.contains("not for you")), "{error:?}");
    assert_eq!(count.load(Ordering::SeqCst), 1);
    let scope = "Bearer error=\"insufficient_scope\", scope=\"files:write\"";
    let (web, _) = odd("tools/call", |_| Some(with_header(status(403), "www-authenticate", scope))).await;
    let error = work(&*open(&web).await).await.unwrap_err();
    assert!(matches!(&error, ToolError::Denied(text) if text.contains("files:write")), "{error:?}");
    let (web, _) = odd("initialize", |_| Some(status(401))).await;
    let error = connect(web.url("/mcp"), options()).await.unwrap_err().to_string();
    assert!(error.contains("401") && error.contains("`Authorization` header"), "{error}");
    let (web, _) = odd("tools/call", |_| Some(status(500))).await;
    let error = work(&*open(&web).await).await.unwrap_err().to_string();
    assert!(error.contains("500"), "{error}");
}

/// A server with sessions; `keeps(n)` says whether it still knows the nth.
async fn forgetful(keeps: impl Fn(usize) -> bool + Clone + Send + Sync + 'static) -> (Web, Arc<AtomicUsize>) {
    let sessions = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&sessions);
    let web = Web::serve(move |asked: Asked| {
        let answer = if asked.rpc() == "initialize" {
            let session = counting.fetch_add(1, Ordering::SeqCst) + 1;
            with_header(mcp(&asked), "mcp-session-id", &session.to_string())
        } else {
            let session = asked.header("mcp-session-id").and_then(|id| id.parse().ok()).unwrap_or_default();
            if asked.rpc() == "tools/call" && !keeps(session) { status(404) } else { mcp(&asked) }
        };
        async move { answer }
    });
    (web.await, sessions)
}

#[tokio::test]
async fn a_session_that_has_ended_is_restarted_once() {
    let (web, sessions) = forgetful(|session| session > 1).await;
    let server = open(&web).await;
    assert_eq!(work(&server).await, Ok(json!("done")));
    assert_eq!(sessions.load(Ordering::SeqCst), 2);
    let (web, sessions) = forgetful(|_| false).await;
    let server = open(&web).await;
    assert!(work(&server).await.is_err());
    assert_eq!(sessions.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn redirects_are_not_followed_and_take_no_header_along() {
    for code in [301, 302, 303, 307, 308] {
        let hits = Arc::new(AtomicUsize::new(0));
        let counting = Arc::clone(&hits);
        let other = Web::serve(move |asked: Asked| {
            counting.fetch_add(1, Ordering::SeqCst);
            async move { mcp(&asked) }
        });
        let other = other.await;
        let location = other.url("/mcp?key=hidden");
        let moved = move |_| Some(with_header(status(code), "location", &location));
        let (web, _) = odd("tools/call", moved).await;
        let server = connect(
            web.url("/mcp"),
            ConnectOptions { headers: vec![("Authorization".into(), "Bearer canary".into())], ..options() },
        )
        .await
        .unwrap();
        let error = work(&server).await.unwrap_err().to_string();
        assert!(error.contains(&other.url("/mcp")) && !error.contains("hidden"), "{error}");
        assert!(!error.contains("canary"), "{error}");
        assert_eq!(hits.load(Ordering::SeqCst), 0, "{code}");
    }
}

/// A body of 100 MB, and how much of it was taken.
fn huge(kind: &str, taken: &Arc<AtomicUsize>) -> Response<Body> {
    const PART: usize = 1 << 20;
    let taken = Arc::clone(taken);
    let parts = futures::stream::iter((0..100).map(move |nth| {
        taken.fetch_add(PART, Ordering::SeqCst);
        let start: &[u8] = if nth == 0 { b"data: \"" } else { b"" };
        Ok::<_, std::convert::Infallible>(Bytes::from([start, &[b'x'; PART]].concat()))
    }));
    Response::builder().header(header::CONTENT_TYPE, kind).body(Body::from_stream(parts)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_measure_is_cut_off() {
    for kind in ["application/json", "text/event-stream"] {
        let taken = Arc::new(AtomicUsize::new(0));
        let counting = Arc::clone(&taken);
        let (web, _) = odd("tools/call", move |nth| (nth == 0).then(|| huge(kind, &counting))).await;
        let server = open(&web).await;
        let error = work(&server).await.unwrap_err();
        assert!(matches!(&error, ToolError::ExecutionError(text) if text.contains("8 MiB")), "{error:?}");
        // What is on the way between the two is theirs, not ours.
        let taken = taken.load(Ordering::SeqCst);
        assert!(taken < 40 << 20, "{kind}: {taken}");
        assert_eq!(work(&server).await, Ok(json!("done")), "{kind}");
    }
}

/// An answer and what to call it.
type Named = (&'static str, fn() -> Response<Body>);

/// An answer that ends in the middle of its body, and how it begins.
fn torn(kind: &str, start: &'static str) -> Response<Body> {
    let torn = || std::io::Error::other("torn");
    let parts = [Ok(Bytes::from_static(start.as_bytes())), Err(torn())];
    // The beginning travels before the end is seen.
    let parts = futures::stream::iter(parts).then(async |part| {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        part
    });
    Response::builder().header(header::CONTENT_TYPE, kind).body(Body::from_stream(parts)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_answer_got_lost_may_have_been_carried_out() {
    const JSON: &str = "application/json";
    const EVENTS: &str = "text/event-stream";
    let whole = |kind: &'static str, text: &'static str| {
        Response::builder().header(header::CONTENT_TYPE, kind).body(Body::from(text)).unwrap()
    };
    let answers: [Named; 5] = [
        // The connection breaks without an answer; a real panic would only be louder.
        ("nothing", || std::panic::resume_unwind(Box::new("gone"))),
        ("a torn body", || torn(JSON, "{ \"jsonrpc\": ")),
        ("torn events", || torn(EVENTS, "data: {")),
        ("torn events that could be resumed", || torn(EVENTS, "id: 1\nretry: 10\ndata:\n\n")),
        ("no events", || torn(EVENTS, "\n")),
    ];
    for (what, answer) in answers {
        let (web, count) = odd("tools/call", move |_| Some(answer())).await;
        let error = work(&*open(&web).await).await.unwrap_err();
        let ToolError::ExecutionError(text) = &error else { panic!("{what}: {error:?}") };
        assert!(text.contains("may have been carried out"), "{what}: {error}");
        assert_eq!(count.load(Ordering::SeqCst), 1, "{what}");
    }
    for (kind, text) in [(JSON, "{ \"jsonrpc\": "), (EVENTS, "")] {
        let (web, _) = odd("tools/call", move |_| Some(whole(kind, text))).await;
        let error = work(&*open(&web).await).await.unwrap_err().to_string();
        assert!(error.contains("may have been carried out"), "{kind}: {error}");
    }
    // A list can be asked for again.
    let (web, count) = odd("tools/list", |nth| (nth == 0).then(|| torn(JSON, "{"))).await;
    assert_eq!(work(&*open(&web).await).await, Ok(json!("done")));
    assert_eq!(count.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_secrets() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let url = format!("http://user:canary@{free}/mcp?key=canary");
    let error = connect(url, options()).await.unwrap_err().to_string();
    assert!(error.contains(&format!("http://{free}/mcp")) && error.contains("refused"), "{error}");
    assert!(!error.contains("canary"), "{error}");
}
