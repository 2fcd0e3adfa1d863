//! Servers that are programs: why they ended, their last output, and no process that stays behind.
#![cfg(target_os = "linux")]

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use goose_extension::{Answer, Caller, Extension, JsonObject, Question, QuestionKind, prelude::*};
use goose_mcp_bridge::{ConnectOptions, Lifecycle, ProcessSpec, RemoteExtension, connect};
use goose_test_support::is_alive;
use tempfile::TempDir;

/// Time limit for something that has to happen, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server on the older wire, with one tool that runs the script `$WORK`; `$START` is run before it listens.
const SERVER: &str = r#"
    answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
    note() { echo $$ >>"$NOTES"; }
    eval "$START"
    while read -r line; do
        id=${line##*'"id":'} id=${id%%[,\}]*}
        case $line in
            *'"initialize"'*) answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}' ;;
            *'"tools/list"'*) answer '{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}' ;;
            *'"tools/call"'*) eval "$WORK" ;;
        esac
    done
    eval "$END"
"#;

/// Starts a further process in a session of its own that does not end when asked.
const STUBBORN: &str =
    "setsid sh -c 'trap \"\" TERM; echo $$ >>\"$NOTES\"; while :; do sleep 1; done' </dev/null >/dev/null & ";

const FINE: &str = r#"answer '{"content":[{"type":"text","text":"fine"}]}'"#;

/// A server with a folder in which its processes note their ids.
struct Server {
    folder: TempDir,
    start: String,
    work: String,
    end: String,
}

impl Server {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        Self { folder, start: "note".to_owned(), work: FINE.to_owned(), end: String::new() }
    }

    fn notes(&self) -> PathBuf {
        self.folder.path().join("pids")
    }

    fn command(&self) -> ProcessSpec {
        self.command_of(SERVER)
    }

    fn command_of(&self, script: &str) -> ProcessSpec {
        let mut command = ProcessSpec::new("sh");
        command.args(["-c", script]).env("NOTES", self.notes());
        command.env("START", &self.start).env("WORK", &self.work).env("END", &self.end);
        command
    }

    async fn connect(&self) -> Arc<RemoteExtension> {
        connect(self.command(), options()).await.unwrap()
    }

    fn pids(&self) -> Vec<u32> {
        let text = std::fs::read_to_string(self.notes()).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    async fn wait_for(&self, count: usize) {
        until("everybody has noted its id", || self.pids().len() >= count).await;
        assert!(self.pids().into_iter().all(is_alive));
    }

    fn is_gone(&self) -> bool {
        !self.pids().is_empty() && !self.pids().into_iter().any(is_alive)
    }
}

fn options() -> ConnectOptions {
    ConnectOptions { lifecycle: Lifecycle::Initialize, name: Some("x".into()), ..ConnectOptions::default() }
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENCE, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn work(extension: &RemoteExtension) -> ToolResult<Value> {
    let call = extension.call_tool("work", HashMap::new());
    tokio::time::timeout(PATIENCE, call).await.expect("the call hangs")
}

fn gone(result: ToolResult<Value>) -> String {
    match result {
        Err(ToolError::Disconnected(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_ends_during_the_greeting_says_why_at_once() {
    for lifecycle in [Lifecycle::Auto, Lifecycle::Initialize, Lifecycle::Discover] {
        let server =
            Server { start: "note; printf 'no \\033[31mkey\\n' >&2; exit 3".to_owned(), ..Server::new() };
        let begin = Instant::now();
        let error = connect(server.command(), ConnectOptions { lifecycle, ..options() }).await.unwrap_err();
        assert!(begin.elapsed() < Duration::from_secs(10), "it took {:?}", begin.elapsed());
        let expected = "Could not connect to `x`: it ended with exit code 3 before the handshake. \
                        Check that the server runs and speaks MCP. Last output on standard error:\n  \
                        no \\u{1b}[31mkey";
        assert_eq!(error, ToolError::Disconnected(expected.to_owned()));
        assert!(server.is_gone());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_never_greets_leaves_nothing_when_it_is_given_up() {
    let start =
        format!("note; {STUBBORN} echo waiting for a licence >&2; trap '' TERM; while :; do sleep 1; done");
    let server = Server { start, ..Server::new() };
    let options = ConnectOptions { handshake_timeout: Duration::from_secs(1), ..options() };
    let error = connect(server.command(), options).await.unwrap_err().to_string();
    assert!(error.contains("did not answer within 1s"), "{error}");
    assert!(error.ends_with("Last output on standard error:\n  waiting for a licence"), "{error}");
    assert_eq!(server.pids().len(), 2);
    assert!(server.is_gone());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_ends_while_it_lists_its_tools_says_why() {
    let server = Server { start: "note; trap 'echo bye >&2' EXIT".to_owned(), ..Server::new() };
    let script = SERVER.replace("answer '{\"tools\"", "exit 5; answer '{\"tools\"");
    let broken = server.command_of(&script);
    let error = connect(broken, options()).await.unwrap_err().to_string();
    let expected = "The server `x` is gone: it ended with exit code 5. Try again later, or do without it. \
                    Last output on standard error:\n  bye";
    assert_eq!(error, expected);
    assert!(server.is_gone());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_dies_in_mid_call_says_why_to_this_call_and_all_later_ones() {
    let server = Server {
        work: "echo 'Traceback: boom' >&2; echo 'in line 7' >&2; exit 7".to_owned(),
        ..Server::new()
    };
    let extension = server.connect().await;
    let closed = extension.closed();
    let expected = "The server `x` is gone: it ended with exit code 7. Try again later, or do without it. \
                    Last output on standard error:\n  Traceback: boom\n  in line 7";
    assert_eq!(gone(work(&extension).await), expected);
    tokio::time::timeout(PATIENCE, closed).await.expect("the connection has ended");
    assert_eq!(gone(work(&extension).await), expected);
    assert_eq!(extension.stderr_tail(), "Traceback: boom\nin line 7");
    assert!(server.is_gone());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_killed_says_by_which_signal() {
    let server = Server { work: "kill -s KILL $$".to_owned(), ..Server::new() };
    let extension = server.connect().await;
    let text = gone(work(&extension).await);
    assert!(text.starts_with("The server `x` is gone: it was ended by signal 9."), "{text}");
}

/// Is asked, and never answers.
struct Silent;

#[async_trait]
impl Caller for Silent {
    async fn ask(&self, _key: &str, _question: Question) -> ToolResult<Answer> {
        std::future::pending().await
    }

    fn can_answer(&self, _kind: QuestionKind) -> bool {
        true
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_killed_while_it_asks_fails_its_call_at_once() {
    let question = r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}"#;
    let server = Server { work: format!("echo '{question}'; kill -s KILL $$"), ..Server::new() };
    let extension = server.connect().await;
    let context = CallContext::new().with_caller(Arc::new(Silent));
    let begin = Instant::now();
    let call = extension.call("work", JsonObject::new(), &context);
    let output = tokio::time::timeout(PATIENCE, call).await.expect("the call hangs");
    assert!(begin.elapsed() < Duration::from_secs(3), "it took {:?}", begin.elapsed());
    assert!(format!("{output:?}").contains("it was ended by signal 9"), "{output:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_last_lines_of_standard_error_are_shown() {
    let noise =
        "i=0; while [ $i -lt 50 ]; do echo \"$i 🦀 $(printf '%0900d' 0)\" >&2; i=$((i+1)); done; exit 1";
    let server = Server { work: noise.to_owned(), ..Server::new() };
    let extension = server.connect().await;
    let text = gone(work(&extension).await);
    assert!(text.len() < 2500 && text.contains("  49 🦀 000") && !text.contains(" 40 🦀"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_never_stops_complaining_works_all_the_same() {
    let start = "note; while :; do echo 'a complaint of some length' >&2; done </dev/null >/dev/null &";
    let server = Server { start: start.to_owned(), ..Server::new() };
    let extension = server.connect().await;
    for _ in 0..20 {
        assert_eq!(work(&extension).await, Ok(json!("fine")));
    }
    until("it complains", || extension.stderr_tail().lines().count() > 100).await;
    assert!(extension.stderr_tail().len() <= 64 * 1024);
    extension.stop().await;
    assert!(server.is_gone());
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_leaves_nothing_whoever_else_holds_the_extension() {
    let server = Server {
        start: format!("note; {STUBBORN}"),
        end: "trap '' TERM; while :; do sleep 1; done".to_owned(),
        ..Server::new()
    };
    let extension = server.connect().await;
    server.wait_for(2).await;
    let (other, closed) = (Arc::clone(&extension), extension.closed());
    assert_eq!(work(&other).await, Ok(json!("fine")));
    let stop = async |extension: &RemoteExtension| {
        extension.stop().await;
        assert!(server.is_gone(), "{:?} are still there", server.pids());
    };
    tokio::time::timeout(PATIENCE, async { tokio::join!(stop(&extension), stop(&other)) }).await.unwrap();
    tokio::time::timeout(PATIENCE, closed).await.expect("the connection has ended");
    assert_eq!(
        gone(work(&other).await),
        "The server `x` is gone: it was stopped. Try again later, or do without it."
    );
    assert!(!other.is_connected());
    extension.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_in_flight_ends_when_its_server_is_stopped() {
    let server = Server { work: "echo working >&2; sleep 600".to_owned(), ..Server::new() };
    let extension = server.connect().await;
    let stopping = async {
        until("the call has arrived", || extension.stderr_tail() == "working").await;
        extension.stop().await;
        assert!(server.is_gone());
    };
    let (result, ()) = tokio::join!(work(&extension), stopping);
    assert!(gone(result).contains("it was stopped"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_that_is_dropped_continues() {
    let server = Server { start: format!("note; {STUBBORN}"), ..Server::new() };
    let extension = server.connect().await;
    server.wait_for(2).await;
    let _ = tokio::time::timeout(Duration::from_millis(1), extension.stop()).await;
    until("it is gone", || server.is_gone()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_extension_leaves_nothing() {
    let server = Server { start: format!("note; {STUBBORN}"), ..Server::new() };
    let extension = server.connect().await;
    server.wait_for(2).await;
    drop(extension);
    until("it is gone", || server.is_gone()).await;
}

#[test]
fn an_extension_that_is_dropped_without_a_runtime_leaves_nothing() {
    let server = Server { start: format!("note; {STUBBORN}"), ..Server::new() };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let extension = runtime.block_on(async {
        let extension = server.connect().await;
        server.wait_for(2).await;
        extension
    });
    drop(runtime);
    drop(extension);
    tokio::runtime::Runtime::new().unwrap().block_on(until("it is gone", || server.is_gone()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_way_of_greeting_that_worked_is_known() {
    let program =
        tokio::task::spawn_blocking(|| goose_test_support::binary("kitchen_sink")).await.unwrap().unwrap();
    for lifecycle in [Lifecycle::Auto, Lifecycle::Discover] {
        let options = ConnectOptions { lifecycle, ..ConnectOptions::default() };
        let extension = connect(ProcessSpec::new(&program), options).await.unwrap();
        assert_eq!(extension.lifecycle(), lifecycle);
        assert!(extension.is_program());
        extension.stop().await;
    }
}

#[test]
fn our_own_server_ends_with_its_input_in_spite_of_a_stream_of_news() {
    use std::io::{BufRead as _, Write as _};
    let mut command = std::process::Command::new(goose_test_support::binary("kitchen_sink").unwrap());
    let piped = std::process::Stdio::piped;
    let mut server = command.stdin(piped()).stdout(piped()).spawn().unwrap();
    let (mut input, output) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "_meta": meta, "notifications": { "toolsListChanged": true } });
    let listen = json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params });
    writeln!(input, "{listen}").unwrap();
    let mut line = String::new();
    std::io::BufReader::new(output).read_line(&mut line).unwrap();
    assert!(line.contains("acknowledged"), "{line}");
    drop(input);
    let begin = Instant::now();
    while server.try_wait().unwrap().is_none() && begin.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(10));
    }
    let took = begin.elapsed();
    let _ = server.kill();
    assert!(server.wait().unwrap().success() && took < Duration::from_secs(2), "it took {took:?}");
}

/// An older server that answers `server/discover` with a result of another kind, or only after `initialize` was
/// sent, is not started a second time.
#[tokio::test(flavor = "multi_thread")]
async fn a_strange_answer_to_the_probe_does_not_restart_the_program() {
    let late = "sleep 11; answer '{}'";
    for answer in ["answer '{}'", "answer '{\"tools\":[]}'", late] {
        let server = Server::new();
        let probed = format!("case $line in\n *'\"server/discover\"'*) {answer} ;;");
        let command = server.command_of(&SERVER.replace("case $line in", &probed));
        let options = ConnectOptions { lifecycle: Lifecycle::Auto, ..options() };
        let extension = connect(command, options).await.unwrap();
        assert!(work(&extension).await.is_ok());
        assert_eq!(server.pids().len(), 1, "{answer}");
    }
}
