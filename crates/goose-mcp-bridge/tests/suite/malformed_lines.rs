//! Malformed lines to a server on stdio: it answers and counts them, and keeps serving.

use std::process::Stdio;

use goose_extension::prelude::*;
use goose_mcp_bridge::{MAX_LINE_BYTES, serve};
use goose_test_support::{KitchenSink, binary};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

/// A real server process, spoken to line by line.
struct Wire {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Wire {
    async fn open() -> Self {
        let program = tokio::task::spawn_blocking(|| binary("kitchen_sink")).await.unwrap().unwrap();
        let mut child = Command::new(program)
            .env("KITCHEN_SINK_LOG", "warn")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut wire = Self { child, input, output };
        let hello = json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": { "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } },
        });
        assert_eq!(wire.ask(hello).await["result"]["serverInfo"]["name"], "kitchen_sink");
        wire.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        wire
    }

    async fn send(&mut self, line: &[u8]) {
        self.input.write_all(line).await.unwrap();
        self.input.write_all(b"\n").await.unwrap();
        self.input.flush().await.unwrap();
    }

    async fn answer(&mut self) -> Value {
        let line = tokio::time::timeout(std::time::Duration::from_secs(20), self.output.next_line());
        serde_json::from_str(&line.await.expect("no answer").unwrap().expect("the server ended")).unwrap()
    }

    async fn ask(&mut self, request: Value) -> Value {
        self.send(request.to_string().as_bytes()).await;
        self.answer().await
    }

    /// Makes a call that works, to see that the server still serves.
    async fn still_works(&mut self, id: u64) {
        let call = json!({
            "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": { "name": "echo", "arguments": { "message": "on" } },
        });
        let answer = self.ask(call).await;
        assert_eq!(answer["id"], id);
        assert_eq!(answer["result"]["structuredContent"], json!({ "response": "on" }));
    }

    /// Closes the input and returns what the server logged.
    async fn close(self) -> String {
        let Self { mut child, input, .. } = self;
        drop(input);
        let mut log = String::new();
        child.stderr.take().unwrap().read_to_string(&mut log).await.unwrap();
        assert!(child.wait().await.unwrap().success());
        log
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_that_are_not_messages_are_answered_counted_and_logged() {
    let mut wire = Wire::open().await;
    let lines: [(&[u8], i64, Value); 11] = [
        (b"Starting server...", -32700, json!(null)),
        (b"Content-Length: 52", -32700, json!(null)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/li", -32700, json!(null)),
        (b"\xff\xfe\x00", -32700, json!(null)),
        (b"[]", -32600, json!(null)),
        (br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, json!(null)),
        (b"null", -32600, json!(null)),
        (b"{}", -32600, json!(null)),
        (br#"{"jsonrpc":"2.0","id":"a"}"#, -32600, json!("a")),
        (br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, json!(1.5)),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, json!(null)),
    ];
    let count = lines.len();
    for (index, (line, code, id)) in lines.into_iter().enumerate() {
        wire.send(line).await;
        let answer = wire.answer().await;
        let line = String::from_utf8_lossy(line);
        assert_eq!(answer["jsonrpc"], "2.0", "{line}");
        assert_eq!(
            (answer.get("id"), &answer["error"]["code"]),
            (Some(&id), &json!(code)),
            "{line}: {answer}"
        );
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains("one") && message.len() < 500, "{message}");
        wire.still_works(100 + index as u64).await;
    }
    let summary = summary(&wire.close().await);
    assert!(
        summary.contains(&format!("unparsable={count} ")) && summary.contains("oversized=0"),
        "{summary}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn blank_lines_responses_and_notifications_are_not_answered() {
    let mut wire = Wire::open().await;
    let lines: [&[u8]; 7] = [
        b"",
        b"   ",
        br#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
        br#"{"jsonrpc":"2.0","id":7,"error":"not an object"}"#,
        br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}"#,
        br#"{"jsonrpc":"2.0","method":"no/such/notification"}"#,
        br#"{"method":"no/such/notification"}"#,
    ];
    for (index, line) in lines.into_iter().enumerate() {
        wire.send(line).await;
        wire.still_works(100 + index as u64).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_lines_that_are_not_messages_ends_no_server() {
    let mut wire = Wire::open().await;
    for _ in 0..1000 {
        wire.send(&vec![b'y'; 1000]).await;
    }
    wire.send(br#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#).await;
    let mut answer = wire.answer().await;
    while answer["id"] != 5 {
        assert_eq!(answer["error"]["code"], -32700, "{answer}");
        answer = wire.answer().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn oversized_lines_are_skipped_counted_and_logged() {
    let mut wire = Wire::open().await;
    wire.send(&vec![b'x'; MAX_LINE_BYTES + 1]).await;
    wire.still_works(100).await;
    let summary = summary(&wire.close().await);
    assert!(summary.contains("unparsable=0") && summary.contains("oversized=1"), "{summary}");
}

fn summary(log: &str) -> String {
    log.lines().find(|line| line.contains("lines were skipped")).unwrap_or_else(|| panic!("{log}")).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_cannot_be_read_is_answered_with_its_id() {
    let mut wire = Wire::open().await;
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let call = |id: u64, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
    };
    let cases = [
        (1, call(1, r#"{"name":"echo","arguments":[1]}"#), -32602),
        (2, call(2, r#"{"name":"echo","arguments":"text"}"#), -32602),
        (3, call(3, r#"{"name":7}"#), -32602),
        (4, call(4, "{}"), -32602),
        (5, call(5, r#"{"name":"nope","arguments":{}}"#), -32601),
        (6, call(6, r#"{"name":"echo","arguments":{"message":7}}"#), -32602),
        (7, call(7, &format!(r#"{{"name":"whole","arguments":{{"deep":{deep}}}}}"#)), -32600),
        (8, r#"{"jsonrpc":"2.0","id":8,"method":"no/such/method"}"#.to_owned(), -32601),
        (
            9,
            r#"{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{"cursor":"nonsense"}}"#.to_owned(),
            -32602,
        ),
        (10, call(10, r#"{"name":"echo","arguments":null}"#), -32602),
    ];
    for (id, line, code) in cases {
        wire.send(line.as_bytes()).await;
        let answer = wire.answer().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(id), &json!(code)), "{answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.len() > 10, "{message}");
    }
    wire.still_works(50).await;
    assert!(!wire.close().await.contains("panicked"));
}

#[tokio::test(flavor = "multi_thread")]
async fn skipped_lines_are_reported_to_the_program_that_serves() {
    let (client, server) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(server);
    let serving = tokio::spawn(async move { serve(KitchenSink::new()).streams(reader, writer).await });
    let (mut answers, mut input) = tokio::io::split(client);
    let drain = tokio::spawn(async move { tokio::io::copy(&mut answers, &mut tokio::io::sink()).await });
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let flood = "y".repeat(MAX_LINE_BYTES * 2);
    for line in [hello, "one", "two", &flood, "three"] {
        input.write_all(line.as_bytes()).await.unwrap();
        input.write_all(b"\n").await.unwrap();
    }
    input.shutdown().await.unwrap();
    let faults = serving.await.unwrap().unwrap();
    assert_eq!((faults.unparsable(), faults.oversized()), (3, 1));
    drain.abort();
}
