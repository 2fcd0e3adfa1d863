//! Calls to servers that break the protocol.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use goose_extension::{Extension, prelude::*};
use goose_mcp_bridge::{ConnectOptions, Lifecycle, MAX_LINE_BYTES, RemoteExtension, connect};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf},
    sync::mpsc,
    task::JoinHandle,
};

/// The server's end of a connection, played line by line.
pub(crate) struct Server {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    output: WriteHalf<DuplexStream>,
}

impl Server {
    pub(crate) fn new(stream: DuplexStream) -> Self {
        let (reader, output) = tokio::io::split(stream);
        Self { lines: BufReader::new(reader).lines(), output }
    }

    pub(crate) async fn next(&mut self) -> Option<Value> {
        let line = self.lines.next_line().await.ok()??;
        Some(serde_json::from_str(&line).unwrap())
    }

    pub(crate) async fn send(&mut self, line: &str) {
        self.send_bytes(line.as_bytes()).await;
    }

    pub(crate) async fn send_bytes(&mut self, line: &[u8]) {
        self.output.write_all(line).await.unwrap();
        self.output.write_all(b"\n").await.unwrap();
    }

    pub(crate) async fn answer(&mut self, request: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }).to_string()).await;
    }

    /// Greets; gives every request after that.
    pub(crate) async fn greet(&mut self) -> Option<Value> {
        loop {
            let request = self.next().await?;
            match request["method"].as_str() {
                Some("initialize") => {
                    let hello = json!({
                        "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                        "serverInfo": { "name": "odd", "version": "1" },
                    });
                    self.answer(&request, hello).await;
                }
                Some("notifications/initialized") => {}
                _ => return Some(request),
            }
        }
    }

    /// Greets and lists one tool; gives the next request after that.
    pub(crate) async fn begin(&mut self) -> Option<Value> {
        let request = self.greet().await?;
        let tool = json!({ "name": "work", "inputSchema": { "type": "object" } });
        self.answer(&request, json!({ "tools": [tool] })).await;
        self.next().await
    }
}

pub(crate) async fn play<F>(
    options: ConnectOptions,
    script: impl FnOnce(Server) -> F,
) -> (ToolResult<Arc<RemoteExtension>>, JoinHandle<()>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let (client, server) = tokio::io::duplex(1 << 16);
    let playing = tokio::spawn(script(Server::new(server)));
    let options = ConnectOptions { lifecycle: Lifecycle::Initialize, ..options };
    (connect(client, options).await, playing)
}

pub(crate) async fn work(extension: &Arc<RemoteExtension>) -> ToolResult<Value> {
    let call = extension.call_tool("work", HashMap::new());
    tokio::time::timeout(Duration::from_secs(20), call).await.expect("the call hangs")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_oversized_line_fails_pending_calls_only() {
    let script = |mut server: Server| async move {
        let request = server.begin().await.unwrap();
        server.send(&"x".repeat(MAX_LINE_BYTES + 1)).await;
        let notice = server.next().await.unwrap();
        assert_eq!(notice["method"], "notifications/cancelled");
        assert_eq!(notice["params"]["requestId"], request["id"]);
        let next = server.next().await.unwrap();
        server.answer(&next, json!({ "content": [{ "type": "text", "text": "fine" }] })).await;
    };
    let (extension, _playing) = play(ConnectOptions::default(), script).await;
    let extension = extension.unwrap();
    let error = work(&extension).await.unwrap_err();
    assert!(matches!(&error, ToolError::ExecutionError(text) if text.contains("8 MiB")), "{error:?}");
    assert_eq!(work(&extension).await, Ok(json!("fine")));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_cannot_be_read_fails_its_call_at_once() {
    let script = |mut server: Server| async move {
        let request = server.begin().await.unwrap();
        server.send("Traceback (most recent call last):").await;
        server.send(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":[1,2]}}"#, request["id"])).await;
        let next = server.next().await.unwrap();
        let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
        server.send(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"deep":{deep}}}}}"#, next["id"])).await;
        server.next().await;
    };
    let (extension, _playing) = play(ConnectOptions::default(), script).await;
    let extension = extension.unwrap();
    for _ in 0..2 {
        let error = work(&extension).await.unwrap_err();
        assert!(matches!(error, ToolError::ExecutionError(_)), "{error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_in_mid_call_is_reported_as_gone() {
    let script = |mut server: Server| async move {
        server.begin().await;
    };
    let (extension, playing) = play(ConnectOptions::default(), script).await;
    let extension = extension.unwrap();
    let error = work(&extension).await.unwrap_err();
    assert!(matches!(error, ToolError::Disconnected(_)), "{error:?}");
    playing.await.unwrap();
    let error = work(&extension).await.unwrap_err();
    assert!(matches!(error, ToolError::Disconnected(_)), "{error:?}");
    assert!(!extension.is_connected());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_takes_too_long_is_cancelled_on_the_server_and_a_late_answer_is_ignored() {
    let (sender, mut cancelled) = mpsc::channel(1);
    let script = |mut server: Server| async move {
        let request = server.begin().await.unwrap();
        let notice = server.next().await.unwrap();
        sender
            .send(
                notice["method"] == "notifications/cancelled"
                    && notice["params"]["requestId"] == request["id"],
            )
            .await
            .unwrap();
        server.answer(&request, json!({ "content": [{ "type": "text", "text": "late" }] })).await;
        let next = server.next().await.unwrap();
        server.answer(&next, json!({ "content": [{ "type": "text", "text": "in time" }] })).await;
        server.next().await;
    };
    let options =
        ConnectOptions { call_timeout: Some(Duration::from_millis(300)), ..ConnectOptions::default() };
    let (extension, _playing) = play(options, script).await;
    let extension = extension.unwrap();
    assert!(matches!(work(&extension).await, Err(ToolError::Timeout(_))));
    assert_eq!(cancelled.recv().await, Some(true));
    assert_eq!(work(&extension).await, Ok(json!("in time")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_reading_does_not_keep_a_call_beyond_its_time() {
    let script = |mut server: Server| async move {
        let list = server.greet().await.unwrap();
        let tool = json!({ "name": "work", "inputSchema": { "type": "object" } });
        server.answer(&list, json!({ "tools": [tool] })).await;
        std::future::pending().await
    };
    let options =
        ConnectOptions { call_timeout: Some(Duration::from_millis(300)), ..ConnectOptions::default() };
    let (extension, playing) = play(options, script).await;
    let extension = extension.unwrap();
    let call = extension.call_tool("work", hashmap! { "data" => json!("x".repeat(1 << 20)) });
    let result = tokio::time::timeout(Duration::from_secs(20), call).await.expect("the call hangs");
    assert!(matches!(result, Err(ToolError::Timeout(_))), "{result:?}");
    playing.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_that_come_back_as_strings_are_recognised() {
    let script = |mut server: Server| async move {
        let request = server.begin().await.unwrap();
        server.send(&format!(r#"{{"jsonrpc":"2.0","id":"{}","result":7}}"#, request["id"])).await;
        let next = server.next().await.unwrap();
        let id = next["id"].to_string();
        server.answer(&json!({ "id": id }), json!({ "content": [{ "type": "text", "text": "fine" }] })).await;
        server.next().await;
    };
    let (extension, _playing) = play(ConnectOptions::default(), script).await;
    let extension = extension.unwrap();
    assert!(matches!(work(&extension).await, Err(ToolError::ExecutionError(_))));
    assert_eq!(work(&extension).await, Ok(json!("fine")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_greets_or_never_lists_is_given_up() {
    let options =
        || ConnectOptions { handshake_timeout: Duration::from_millis(300), ..ConnectOptions::default() };
    let silent = |mut server: Server| async move { while server.next().await.is_some() {} };
    let (extension, _playing) = play(options(), silent).await;
    assert!(matches!(extension, Err(ToolError::Disconnected(_))), "{extension:?}");
    let listless = |mut server: Server| async move { while server.greet().await.is_some() {} };
    let (extension, playing) = play(options(), listless).await;
    assert!(matches!(extension, Err(ToolError::Disconnected(_))), "{extension:?}");
    tokio::time::timeout(Duration::from_secs(10), playing).await.expect("the connection stays open").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_without_end_is_not_read() {
    for cursor in ["same", "growing"] {
        let script = |mut server: Server| async move {
            let mut page = 0;
            while let Some(request) = server.greet().await {
                page += 1;
                let next = if cursor == "same" { "again".to_owned() } else { page.to_string() };
                let tool = json!({ "name": format!("t{page}"), "inputSchema": { "type": "object" } });
                server.answer(&request, json!({ "tools": [tool], "nextCursor": next })).await;
            }
        };
        let (extension, _playing) = play(ConnectOptions::default(), script).await;
        assert!(
            matches!(&extension, Err(ToolError::ExecutionError(text)) if text.contains("does not end")),
            "{extension:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_announces_a_change_at_each_list_is_not_read_without_pause() {
    let (sender, mut times) = mpsc::channel(8);
    let script = |mut server: Server| async move {
        while let Some(request) = server.greet().await {
            if sender.send(Instant::now()).await.is_err() {
                return;
            }
            let tool = json!({ "name": "work", "inputSchema": { "type": "object" } });
            server.answer(&request, json!({ "tools": [tool] })).await;
            server.send(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#).await;
        }
    };
    let (extension, _playing) = play(ConnectOptions::default(), script).await;
    let _extension = extension.unwrap();
    let mut next = async || {
        tokio::time::timeout(Duration::from_secs(20), times.recv())
            .await
            .expect("it is not read again")
            .unwrap()
    };
    // The first list, its first renewal at once, and three with a growing pause.
    let (_, second) = (next().await, next().await);
    let (_, _, last) = (next().await, next().await, next().await);
    assert!(last - second >= Duration::from_millis(200 + 400 + 800), "it took {:?}", last - second);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_hears_of_the_first_watcher_and_the_last_only() {
    let (sender, mut heard) = mpsc::channel(8);
    let script = |mut server: Server| async move {
        let list = server.greet().await.unwrap();
        server.answer(&list, json!({ "tools": [] })).await;
        while let Some(request) = server.next().await {
            sender.send(request["method"].as_str().unwrap_or_default().to_owned()).await.unwrap();
            server.answer(&request, json!({})).await;
        }
    };
    let (extension, _playing) = play(ConnectOptions::default(), script).await;
    let extension = extension.unwrap();
    let mut wire = Vec::new();
    for begins in [true, true, false, false] {
        let told =
            if begins { extension.subscribe("a://b").await } else { extension.unsubscribe("a://b").await };
        told.unwrap();
        wire.push(heard.try_recv().unwrap_or_default());
    }
    assert_eq!(wire, ["resources/subscribe", "", "", "resources/unsubscribe"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reported_name_of_a_server_is_sanitized() {
    for (name, expected) in [
        ("odd\n\u{1b}[31m", "odd__[31m".to_owned()),
        (&"ü".repeat(99), "ü".repeat(64)),
        (" ", "server".to_owned()),
    ] {
        let name = name.to_owned();
        let script = |mut server: Server| async move {
            let hello = server.next().await.unwrap();
            let answer = json!({
                "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                "serverInfo": { "name": name, "version": "1" },
            });
            server.answer(&hello, answer).await;
            while let Some(request) = server.greet().await {
                server.answer(&request, json!({ "tools": [] })).await;
            }
        };
        let (extension, _playing) = play(ConnectOptions::default(), script).await;
        assert_eq!(extension.unwrap().name(), expected);
    }
}

/// The client tries the newer wire first. A server that starts more slowly than the probe's ten seconds
/// answers the probe when `initialize` was already sent.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_starts_slowly_is_reached() {
    let program =
        tokio::task::spawn_blocking(|| goose_test_support::binary("kitchen_sink")).await.unwrap().unwrap();
    let mut command = goose_mcp_bridge::ProcessSpec::new("sh");
    command.args(["-c", "sleep 11; exec \"$0\""]).arg(program);
    let extension = connect(command, ConnectOptions::default()).await.unwrap();
    assert_eq!(extension.name(), "kitchen_sink");
    assert_eq!(extension.lifecycle(), Lifecycle::Initialize);
    assert_eq!(extension.protocol_version().as_deref(), Some("2025-11-25"));
    let answer = extension.call_tool("echo", hashmap! { "message" => json!("at last") }).await;
    assert_eq!(answer, Ok(json!({ "response": "at last" })));
}

/// A server of the newer wire alone whose answer to the probe comes after `initialize` was sent, which it refuses.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_server_that_refuses_initialize_is_reached() {
    const SLOW: &str = r#"
        if [ -e "$0/started" ]; then exec "$1"; fi
        : >"$0/started"
        read -r probe; sleep 11; read -r initialize
        echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no initialize","data":{"supported":["2026-07-28"]}}}'
        cat >/dev/null
    "#;
    let program =
        tokio::task::spawn_blocking(|| goose_test_support::binary("kitchen_sink")).await.unwrap().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut command = goose_mcp_bridge::ProcessSpec::new("sh");
    command.args(["-c", SLOW]).arg(folder.path()).arg(program);
    let extension = connect(command, ConnectOptions::default()).await.unwrap();
    assert_eq!(extension.lifecycle(), Lifecycle::Discover);
    assert_eq!(extension.protocol_version().as_deref(), Some("2026-07-28"));
    let answer = extension.call_tool("echo", hashmap! { "message" => json!("at last") }).await;
    assert_eq!(answer, Ok(json!({ "response": "at last" })));
}

/// Returns whether a process is there and not merely waiting to be reaped.
#[cfg(target_os = "linux")]
fn is_running(pid: &Value) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| ![") Z ", ") X "].iter().any(|dead| stat.contains(dead)))
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_server_ends_with_its_extension_or_is_killed() {
    let program =
        tokio::task::spawn_blocking(|| goose_test_support::binary("kitchen_sink")).await.unwrap().unwrap();
    // The second one goes on after its input was closed.
    for script in ["exec \"$0\"", "\"$0\"; exec sleep 1000"] {
        let mut command = goose_mcp_bridge::ProcessSpec::new("sh");
        command.args(["-c", script]).arg(&program);
        let extension = connect(command, ConnectOptions::default()).await.unwrap();
        let processes = extension.call_tool("processes", HashMap::new()).await.unwrap();
        let started = if script.starts_with("exec") { &processes["own"] } else { &processes["parent"] };
        assert!(is_running(started));
        drop(extension);
        let gone = async {
            while is_running(started) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), gone).await.expect("the server lives on");
    }
}
