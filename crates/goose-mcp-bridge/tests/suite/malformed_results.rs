//! Untrusted results: bounded and valid, and never the end of the connection.

use std::time::Duration;

use goose_extension::{Extension, JsonObject, prelude::*};
use goose_mcp_bridge::ConnectOptions;
use tokio::sync::mpsc;

use crate::faulty_servers::{Server, play, work};

/// Returns a result after it was made safe.
async fn called(result: Value) -> ToolResult<ToolOutput> {
    let script = |mut server: Server| async move {
        let request = server.begin().await.unwrap();
        server.answer(&request, result).await;
        server.next().await;
    };
    let (extension, _playing) = play(ConnectOptions::default(), script).await;
    let extension = extension.unwrap();
    let context = CallContext::new();
    let call = extension.call("work", JsonObject::new(), &context);
    tokio::time::timeout(Duration::from_secs(20), call).await.expect("the call hangs")
}

#[tokio::test(flavor = "multi_thread")]
async fn nul_is_removed_and_empty_results_stay_valid() {
    let output = called(json!({ "content": [{ "type": "text", "text": "a\0b\u{7}" }] })).await.unwrap();
    assert_eq!(output.as_text(), "ab\u{7}");
    let output = called(json!({ "content": [] })).await.unwrap();
    assert_eq!(output, ToolOutput::empty());
    let output = called(json!({ "content": [], "isError": true })).await.unwrap();
    assert!(output.is_error && !output.as_text().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_that_are_too_large_or_broken_become_texts() {
    let picture =
        |data: String| json!({ "content": [{ "type": "image", "data": data, "mimeType": "image/png" }] });
    let output = called(picture("A".repeat(6 << 20))).await.unwrap();
    assert!(!output.is_error && output.as_text().contains("too large"), "{output:?}");
    let output = called(picture("not base64!".to_owned())).await.unwrap();
    assert!(!output.is_error && output.as_text().contains("broken"), "{output:?}");
    let output = called(picture("A".repeat(20 << 20))).await.unwrap();
    assert!(output.is_error && output.as_text().contains("8 MiB"), "{output:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_not_utf8_are_replaced() {
    let script = |mut server: Server| async move {
        let request = server.begin().await.unwrap();
        let head = format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"content":[{{"type":"text","text":"caf"#,
            request["id"]
        );
        server.send_bytes(&[head.as_bytes(), b"\xe9 \xff\xfe", br#""}]}}"#].concat()).await;
        let next = server.next().await.unwrap();
        server.send_bytes(b"\xff\xfe").await;
        server.answer(&next, json!({ "content": [{ "type": "text", "text": "fine" }] })).await;
        server.next().await;
    };
    let (extension, _playing) = play(ConnectOptions::default(), script).await;
    let extension = extension.unwrap();
    assert_eq!(work(&extension).await, Ok(json!("caf\u{fffd} \u{fffd}\u{fffd}")));
    assert_eq!(work(&extension).await, Ok(json!("fine")));
    let faults = extension.line_faults().unwrap();
    assert_eq!((faults.unparsable(), faults.oversized()), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_skips_lines_that_are_not_messages_and_does_not_answer_them() {
    let script = |mut server: Server| async move {
        let first = server.begin().await.unwrap();
        for line in ["Starting server...", "", "{}", "[]", r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#] {
            server.send_bytes(line.as_bytes()).await;
        }
        server.answer(&first, json!({ "content": [{ "type": "text", "text": "one" }] })).await;
        let second = server.next().await.unwrap();
        assert_eq!(second["method"], "tools/call", "{second}");
        server.answer(&second, json!({ "content": [{ "type": "text", "text": "two" }] })).await;
    };
    let (extension, playing) = play(ConnectOptions::default(), script).await;
    let extension = extension.unwrap();
    assert_eq!(work(&extension).await, Ok(json!("one")));
    assert_eq!(work(&extension).await, Ok(json!("two")));
    playing.await.unwrap();
    assert_eq!(extension.line_faults().unwrap().unparsable(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ping_says_when_a_server_does_not_answer_or_is_gone() {
    let (ends, mut ended) = mpsc::channel::<()>(1);
    let script = |mut server: Server| async move {
        server.begin().await;
        let _ = ended.recv().await;
    };
    let (extension, playing) = play(ConnectOptions::default(), script).await;
    let extension = extension.unwrap();
    let result = extension.ping(Duration::from_millis(200)).await;
    assert!(matches!(result, Err(ToolError::Timeout(_))), "{result:?}");
    drop(ends);
    playing.await.unwrap();
    let result = extension.ping(Duration::from_secs(20)).await;
    assert!(matches!(result, Err(ToolError::Disconnected(_))), "{result:?}");
}
