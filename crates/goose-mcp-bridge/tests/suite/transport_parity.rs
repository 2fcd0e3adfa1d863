//! The same answers, errors included, on every path: direct, duplex, stdio and HTTP, on both eras of MCP.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use goose_extension::{
    Answer, ArgumentInfo, CallContext, Caller, CompleteRequestParams, Extension, JsonObject, LogLevel,
    Question, QuestionKind, Reference, prelude::*,
};
use goose_mcp_bridge::{ConnectOptions, HttpOptions, Lifecycle, Serve, connect, serve};
use goose_test_support::{KitchenSink, RecordingCaller};
use tokio_util::sync::CancellationToken;

use crate::{
    transports::TransportKind,
    web::{Asked, Web, json_answer, status},
};

fn object(value: Value) -> JsonObject {
    value.as_object().cloned().unwrap()
}

/// Every call that ends by itself and needs no caller.
fn calls() -> Vec<(&'static str, Value)> {
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    vec![
        ("echo", json!({ "message": "hello" })),
        ("echo", json!({ "message": "ünï \u{0} \u{1F980} \"\\\n" })),
        ("echo", json!({})),
        ("echo", json!({ "message": null })),
        ("echo", json!({ "message": 7 })),
        ("echo", json!({ "message": "hello", "mesage": "typo" })),
        ("echo", json!({ "message": "x".repeat(5 << 20) })),
        ("add", json!({ "a": 2, "b": 3 })),
        ("add", json!({ "a": 2.0 })),
        ("add", json!({ "a": 2.5 })),
        ("add", json!({ "a": 3_000_000_000_u64 })),
        ("add", json!({ "a": "2" })),
        ("numbers", json!({ "to": 3 })),
        ("numbers", json!({ "to": 11 })),
        ("numbers", json!({ "to": -1 })),
        ("numbers", json!({ "to": 0 })),
        ("text", json!({})),
        ("nothing", json!({})),
        ("nothing", json!({ "extra": 1 })),
        ("picture", json!({})),
        ("sound", json!({})),
        ("mixed", json!({})),
        ("assemble", json!({ "parts": [{ "name": "a", "size": "small" }], "quality": 1 })),
        (
            "assemble",
            json!({ "parts": [{ "name": "a", "count": 3, "size": "large" }], "label": "x", "quality": 0.5 }),
        ),
        ("assemble", json!({ "parts": [{ "name": "a", "size": "huge" }], "quality": 2 })),
        ("assemble", json!({ "parts": [{ "nam": "a", "size": "small" }], "label": "X1", "quality": 0 })),
        ("assemble", json!({ "parts": [], "quality": 0 })),
        ("whole", json!({ "any": ["thing", 1, null, { "goes": true }] })),
        ("whole", json!({ "deep": deep })),
        ("fail", json!({ "reason": "because" })),
        ("read_missing", json!({})),
        ("refuse", json!({ "code": -32600 })),
        ("refuse", json!({ "code": -32602 })),
        ("refuse", json!({ "code": -32603 })),
        ("refuse", json!({ "code": -32000 })),
        ("panic_now", json!({})),
        ("sleep", json!({ "millis": 1 })),
        ("sleep", json!({ "millis": 60_000 })),
        ("flood", json!({ "bytes": 10 })),
        ("flood", json!({ "bytes": 8 << 20 })),
        ("ask_name", json!({})),
        ("ask_everything", json!({})),
        ("no_such_tool", json!({})),
        ("", json!({})),
    ]
}

/// Everything an extension says about itself and answers, as one text.
async fn transcript(extension: &Arc<dyn Extension>) -> String {
    let mut text = String::new();
    let nobody = CallContext::new();
    let _ = writeln!(text, "{} / {} / {}", extension.name(), extension.description(), extension.prompt());
    let _ = writeln!(text, "{:?}", extension.features());
    for tool in extension.tools() {
        let _ = writeln!(text, "tool {}", serde_json::to_string(&tool.to_mcp()).unwrap());
        let _ = writeln!(text, "  groups {:?}", tool.groups());
    }
    for (tool, arguments) in calls() {
        let output = extension.call(tool, object(arguments.clone()), &nobody).await;
        let value = extension.call_tool(tool, object(arguments).into_iter().collect()).await;
        let shorten = |text: String| text.chars().take(2000).collect::<String>();
        let _ = writeln!(text, "call {tool}: {}", shorten(format!("{output:?}")));
        let _ = writeln!(text, "value {tool}: {}", shorten(format!("{value:?}")));
    }
    let _ = writeln!(text, "{:?}", extension.list_resources().await);
    let _ = writeln!(text, "{:?}", extension.list_resource_templates().await);
    for uri in ["note://1", "note://9", "nonsense", "note://secret"] {
        let _ = writeln!(text, "read {uri}: {:?}", extension.read_resource(uri, &nobody).await);
    }
    let _ = writeln!(text, "{:?}", extension.list_prompts().await);
    for (name, arguments) in [
        ("greet", json!({ "name": "Ada" })),
        ("greet", json!({})),
        ("greet_me", json!({})),
        ("no", json!({})),
    ] {
        let prompt = extension.get_prompt(name, object(arguments), &nobody).await;
        let _ = writeln!(text, "prompt {name}: {:?}", prompt.map(|it| (it.description, it.messages)));
    }
    let request = CompleteRequestParams::new(Reference::for_prompt("greet"), ArgumentInfo::new("name", "A"));
    let _ = writeln!(text, "{:?}", extension.complete(request).await);
    text
}

/// The first line in which two texts differ.
fn difference(expected: &str, actual: &str) -> Option<String> {
    let (mut expected, mut actual) = (expected.lines(), actual.lines());
    loop {
        match (expected.next(), actual.next()) {
            (None, None) => return None,
            (left, right) if left == right => {}
            (left, right) => return Some(format!("expected {left:#?}\n     got {right:#?}")),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_path_gives_the_same_answers_and_errors() {
    let direct = TransportKind::Direct.open().await;
    let expected = transcript(&direct.extension).await;
    for kind in TransportKind::WIRES {
        let opened = kind.open().await;
        let actual = transcript(&opened.extension).await;
        if let Some(difference) = difference(&expected, &actual) {
            panic!("{kind:?} differs from the direct path:\n{difference}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_direct_path_answers_is_right() {
    let bench = TransportKind::Direct.open().await.extension;
    let call = async |tool: &str, arguments: Value| {
        bench.call_tool(tool, object(arguments).into_iter().collect()).await
    };
    assert_eq!(call("echo", json!({ "message": "hello" })).await, Ok(json!({ "response": "hello" })));
    assert_eq!(call("add", json!({ "a": 2.0 })).await, Ok(json!(3)));
    assert_eq!(call("numbers", json!({ "to": 3 })).await, Ok(json!([0, 1, 2])));
    assert_eq!(call("nothing", json!({})).await, Ok(Value::Null));
    assert_eq!(
        call("fail", json!({ "reason": "because" })).await,
        Err(ToolError::ExecutionError("because".into()))
    );
    assert!(matches!(call("sleep", json!({ "millis": 60_000 })).await, Err(ToolError::Timeout(_))));
    assert!(matches!(call("no_such_tool", json!({})).await, Err(ToolError::NotFound(_))));
    assert!(matches!(call("echo", json!({})).await, Err(ToolError::InvalidParameters(_))));
    assert!(matches!(call("panic_now", json!({})).await, Err(ToolError::ExecutionError(_))));
    let many = vec![json!([]); 1_500_000];
    assert!(matches!(call("whole", json!({ "many": many })).await, Err(ToolError::InvalidParameters(_))));
    assert!(matches!(call("read_missing", json!({})).await, Err(ToolError::ExecutionError(_))));
    assert!(matches!(call("flood", json!({ "bytes": 8 << 20 })).await, Err(ToolError::ExecutionError(_))));
}

/// Returns what the caller recorded and what came back, for calls that talk to their caller.
async fn conversation(extension: &Arc<dyn Extension>) -> String {
    let mut text = String::new();
    for (declines, tool) in [
        (false, "report"),
        (false, "ask_name"),
        (true, "ask_name"),
        (false, "ask_everything"),
        (false, "ask_twice"),
    ] {
        let recorder = if declines { RecordingCaller::declining() } else { RecordingCaller::new() };
        let output = extension.call(tool, JsonObject::new(), &recorder.context()).await;
        let mut seen = recorder.seen();
        if tool == "ask_everything" {
            seen.sort();
        }
        let _ = writeln!(text, "{tool}: {output:?} {seen:#?}");
    }
    let recorder = RecordingCaller::new();
    let read = extension.read_resource("note://secret", &recorder.context()).await;
    let prompt = extension.get_prompt("greet_me", JsonObject::new(), &recorder.context()).await;
    let _ = writeln!(text, "{read:?} {:?} {:?}", prompt.map(|it| it.messages), recorder.seen());
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_logs_and_questions_reach_the_caller_on_every_path() {
    let expected = conversation(&TransportKind::Direct.open().await.extension).await;
    assert!(expected.contains("Hello, Ada!") && expected.contains("You did not say."), "{expected}");
    for kind in TransportKind::WIRES {
        if kind == TransportKind::Http(Lifecycle::Initialize) {
            // There, log messages travel on a stream of their own; see the next test.
            continue;
        }
        let opened = kind
            .open_with(ConnectOptions { log_level: Some(LogLevel::Debug), ..ConnectOptions::default() })
            .await;
        let actual = conversation(&opened.extension).await;
        if let Some(difference) = difference(&expected, &actual) {
            panic!("{kind:?} differs from the direct path:\n{difference}\n{actual}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn over_http_before_2026_log_messages_may_come_late_but_are_never_lost_or_misattributed() {
    let direct = RecordingCaller::new();
    TransportKind::Direct
        .open()
        .await
        .extension
        .call("report", JsonObject::new(), &direct.context())
        .await
        .unwrap();
    let surroundings = RecordingCaller::new();
    let options = ConnectOptions {
        log_level: Some(LogLevel::Debug),
        surroundings: surroundings.context(),
        ..ConnectOptions::default()
    };
    let opened = TransportKind::Http(Lifecycle::Initialize).open_with(options).await;
    settle(TransportKind::Http(Lifecycle::Initialize)).await;
    let (first, second) = (RecordingCaller::new(), RecordingCaller::new());
    opened.extension.call("report", JsonObject::new(), &first.context()).await.unwrap();
    opened.extension.call("echo", object(json!({ "message": "" })), &second.context()).await.unwrap();
    let all = || {
        let mut seen = [first.seen(), surroundings.seen()].concat();
        seen.sort();
        seen
    };
    let mut expected = direct.seen();
    expected.sort();
    until(|| all().len() >= expected.len()).await;
    assert_eq!(all(), expected);
    assert_eq!(second.seen(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_ends_at_once_and_the_tool_is_told() {
    for kind in [TransportKind::Direct].into_iter().chain(TransportKind::WIRES) {
        let opened = kind.open().await;
        let token = CancellationToken::new();
        let recorder = RecordingCaller::new();
        let context = recorder.context().with_cancellation(token.clone());
        let extension = Arc::clone(&opened.extension);
        let call =
            tokio::spawn(async move { extension.call("wait_for_ever", JsonObject::new(), &context).await });
        until(|| !recorder.seen().is_empty()).await;
        token.cancel();
        let result = tokio::time::timeout(Duration::from_secs(10), call).await.unwrap().unwrap();
        assert_eq!(
            result,
            Err(ToolError::Cancelled("The call of `wait_for_ever` was cancelled.".into())),
            "{kind:?}"
        );
        let extension = &opened.extension;
        until_async(async || extension.call_tool("was_cancelled", HashMap::new()).await == Ok(json!(true)))
            .await;
        // The server goes on.
        let answer = opened.extension.call_tool("echo", hashmap! { "message" => json!("still here") }).await;
        assert_eq!(answer, Ok(json!({ "response": "still here" })), "{kind:?}");
    }
}

/// A caller who never answers.
struct Silent(tokio::sync::Notify);

#[async_trait]
impl Caller for Silent {
    async fn ask(&self, _key: &str, _question: Question) -> ToolResult<Answer> {
        self.0.notify_one();
        std::future::pending().await
    }

    fn can_answer(&self, _kind: QuestionKind) -> bool {
        true
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_for_an_answer_can_be_cancelled() {
    for kind in [TransportKind::Direct].into_iter().chain(TransportKind::WIRES) {
        let opened = kind.open().await;
        let (token, silent) = (CancellationToken::new(), Arc::new(Silent(tokio::sync::Notify::new())));
        let context = CallContext::new().with_caller(silent.clone()).with_cancellation(token.clone());
        let extension = Arc::clone(&opened.extension);
        let call = tokio::spawn(async move { extension.call("ask_name", JsonObject::new(), &context).await });
        silent.0.notified().await;
        token.cancel();
        let result = tokio::time::timeout(Duration::from_secs(10), call).await.expect("it hangs").unwrap();
        assert!(matches!(result, Err(ToolError::Cancelled(_))), "{kind:?}: {result:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_side_by_side_ask_their_own_callers() {
    for kind in [TransportKind::Direct].into_iter().chain(TransportKind::WIRES) {
        let opened = kind.open().await;
        let recorders = [RecordingCaller::new(), RecordingCaller::declining(), RecordingCaller::new()];
        let calls = recorders.iter().map(|recorder| {
            let (extension, context) = (Arc::clone(&opened.extension), recorder.context());
            async move { extension.call("ask_name", JsonObject::new(), &context).await.unwrap().as_text() }
        });
        let answers = futures::future::join_all(calls).await;
        assert_eq!(answers, ["Hello, Ada!", "You did not say.", "Hello, Ada!"], "{kind:?}");
        for recorder in &recorders {
            assert_eq!(recorder.seen(), ["asked: ElicitForm"], "{kind:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_pass_through_a_server_that_stands_in_between() {
    for (near, far) in [
        (Lifecycle::Discover, Lifecycle::Discover),
        (Lifecycle::Discover, Lifecycle::Initialize),
        (Lifecycle::Initialize, Lifecycle::Discover),
        (Lifecycle::Initialize, Lifecycle::Initialize),
    ] {
        let options = |lifecycle| ConnectOptions { lifecycle, ..ConnectOptions::default() };
        let between = connect(serve(KitchenSink::new()).duplex(), options(far)).await.unwrap();
        let extension = connect(Serve::shared(between).duplex(), options(near)).await.unwrap();
        let recorder = RecordingCaller::new();
        let twice = extension.call("ask_twice", JsonObject::new(), &recorder.context()).await.unwrap();
        assert_eq!(twice.as_text(), "You said: two after You said: one", "{near:?} {far:?}");
        let name = extension.call("ask_name", JsonObject::new(), &recorder.context()).await.unwrap();
        assert_eq!(name.as_text(), "Hello, Ada!", "{near:?} {far:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn resources_and_prompts_are_guarded_on_the_wire_too() {
    for kind in TransportKind::WIRES {
        let opened = kind.open().await;
        let nobody = CallContext::new();
        let prompt = opened.extension.get_prompt("broken", JsonObject::new(), &nobody);
        let prompt = tokio::time::timeout(Duration::from_secs(10), prompt).await.expect("no answer");
        assert!(
            matches!(&prompt, Err(ToolError::ExecutionError(text)) if text.contains("bug")),
            "{kind:?}: {prompt:?}"
        );
        let huge = opened.extension.read_resource("note://huge", &nobody);
        let huge = tokio::time::timeout(Duration::from_secs(30), huge).await.expect("no answer");
        assert!(huge.is_err(), "{kind:?}");
        let after = opened.extension.read_resource("note://1", &CallContext::new()).await;
        assert!(after.is_ok(), "{kind:?}: {after:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_tool_reports_too_fast_is_counted_not_lost_silently() {
    const TIMES: usize = 5000;
    for kind in [TransportKind::Duplex(Lifecycle::Discover), TransportKind::Duplex(Lifecycle::Initialize)] {
        let opened = kind.open().await;
        let recorder = RecordingCaller::new();
        opened
            .extension
            .call("chatter", object(json!({ "times": TIMES })), &recorder.context())
            .await
            .unwrap();
        let seen = recorder.seen();
        let told = seen.iter().filter(|line| line.starts_with("log: Text")).count();
        let dropped = seen.iter().find_map(|line| {
            line.strip_prefix("entry: Warning None \"")?.split(' ').next()?.parse::<usize>().ok()
        });
        assert_eq!(told + dropped.unwrap_or_default(), TIMES, "{kind:?}: {:?}", seen.last());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_session_and_folder_reach_local_servers_only() {
    for kind in [TransportKind::Direct].into_iter().chain(TransportKind::WIRES) {
        let opened = kind.open().await;
        let context = CallContext::new().with_session_id("s-1").with_working_dir("/some/where");
        let answer = opened.extension.call("surroundings", JsonObject::new(), &context).await.unwrap();
        let expected = match kind {
            TransportKind::Http(_) => json!({ "dir": ".", "session": null }),
            _ => json!({ "dir": "/some/where", "session": "s-1" }),
        };
        assert_eq!(answer.into_value(), Ok(expected), "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_tool_list_comes_as_a_new_snapshot() {
    for kind in [TransportKind::Direct].into_iter().chain(TransportKind::WIRES) {
        let opened = kind.open().await;
        let before = opened.extension.tools().len();
        let feed = opened.extension.changes().unwrap();
        settle(kind).await;
        opened.extension.call_tool("grow", HashMap::new()).await.unwrap();
        until(|| feed.latest().is_some()).await;
        let grown = feed.latest().unwrap();
        assert_eq!(opened.extension.tools().len(), before, "{kind:?}: the old snapshot stays as it was");
        assert_eq!(grown.tools().len(), before + 1, "{kind:?}");
        assert_eq!(grown.call_tool("late_arrival", HashMap::new()).await, Ok(json!("I am late")), "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_ends_with_its_last_snapshot() {
    for grows in [false, true] {
        let (client, server) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(server);
        let serving = tokio::spawn(serve(KitchenSink::new()).streams(reader, writer));
        let extension = connect(client, ConnectOptions::default()).await.unwrap();
        settle(TransportKind::Duplex(Lifecycle::Auto)).await;
        if grows {
            extension.call_tool("grow", HashMap::new()).await.unwrap();
            let feed = extension.changes().unwrap();
            until(|| feed.latest().is_some()).await;
        }
        drop(extension);
        tokio::time::timeout(Duration::from_secs(10), serving)
            .await
            .expect("the server goes on")
            .unwrap()
            .unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn subscribers_hear_of_changed_resources() {
    use goose_extension::Change;
    for kind in TransportKind::WIRES {
        let opened = kind.open().await;
        let mut events = opened.extension.changes().unwrap().subscribe();
        opened.extension.subscribe("note://1").await.unwrap();
        settle(kind).await;
        for uri in ["note://2", "note://1"] {
            opened.extension.call_tool("touch", hashmap! { "uri" => json!(uri) }).await.unwrap();
        }
        let event = tokio::time::timeout(Duration::from_secs(10), events.recv()).await;
        let event = event.unwrap_or_else(|_| panic!("{kind:?}: no event"));
        assert_eq!(event, Ok(Change::ResourceUpdated("note://1".into())), "{kind:?}");
        opened.extension.unsubscribe("note://1").await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_client_that_leaves_does_not_end_the_watch_of_another() {
    use goose_extension::Change;
    for far in [Lifecycle::Discover, Lifecycle::Initialize] {
        for near in [Lifecycle::Discover, Lifecycle::Initialize] {
            let options = |lifecycle| ConnectOptions { lifecycle, ..ConnectOptions::default() };
            // The server in between really subscribes to, and leaves, the one behind it.
            let between = connect(serve(KitchenSink::new()).duplex(), options(far)).await.unwrap();
            let server = Serve::shared(between).http(HttpOptions::default()).await.unwrap();
            let leaver = connect(server.url(), options(near)).await.unwrap();
            let stayer = connect(server.url(), options(near)).await.unwrap();
            let mut events = stayer.changes().unwrap().subscribe();
            leaver.subscribe("note://1").await.unwrap();
            stayer.subscribe("note://1").await.unwrap();
            settle(TransportKind::Http(near)).await;
            leaver.unsubscribe("note://1").await.unwrap();
            drop(leaver);
            settle(TransportKind::Http(near)).await;
            stayer.call_tool("touch", hashmap! { "uri" => json!("note://1") }).await.unwrap();
            let event = tokio::time::timeout(Duration::from_secs(10), events.recv()).await;
            let event = event.unwrap_or_else(|_| panic!("{near:?} {far:?}: no event"));
            assert_eq!(event, Ok(Change::ResourceUpdated("note://1".into())), "{near:?} {far:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_connections_to_a_server_may_close() {
    use goose_extension::Change;
    for kind in TransportKind::WIRES {
        let opened = kind.open().await;
        let mut events = opened.extension.changes().unwrap().subscribe();
        opened.extension.subscribe("note://1").await.unwrap();
        opened.extension.subscribe("note://1").await.unwrap();
        opened.extension.unsubscribe("note://1").await.unwrap();
        settle(kind).await;
        opened.extension.call_tool("touch", hashmap! { "uri" => json!("note://1") }).await.unwrap();
        let event = tokio::time::timeout(Duration::from_secs(10), events.recv()).await;
        let event = event.unwrap_or_else(|_| panic!("{kind:?}: no event"));
        assert_eq!(event, Ok(Change::ResourceUpdated("note://1".into())), "{kind:?}");
        opened.extension.unsubscribe("note://1").await.unwrap();
    }
}

/// A server by URL on the newer wire; it does not even begin to answer a call.
async fn mute(arrived: Arc<tokio::sync::Notify>) -> Web {
    Web::serve(move |asked: Asked| {
        let arrived = Arc::clone(&arrived);
        async move {
            let mut result = json!({ "resultType": "complete", "ttlMs": 0, "cacheScope": "private" });
            match asked.rpc().as_str() {
                "server/discover" => {
                    result["supportedVersions"] = json!(["2026-07-28"]);
                    result["capabilities"] = json!({ "tools": {} });
                }
                "tools/list" => {
                    result["tools"] = json!([{ "name": "work", "inputSchema": { "type": "object" } }]);
                }
                "tools/call" => {
                    arrived.notify_one();
                    std::future::pending::<()>().await;
                }
                _ => return status(202),
            }
            json_answer(&json!({ "jsonrpc": "2.0", "id": asked.message()["id"], "result": result }))
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ping_does_not_wait_for_calls() {
    let arrived = Arc::new(tokio::sync::Notify::new());
    let web = mute(Arc::clone(&arrived)).await;
    let options = ConnectOptions { lifecycle: Lifecycle::Discover, ..ConnectOptions::default() };
    let extension = connect(web.url("/mcp"), options).await.unwrap();
    assert!(!extension.is_program());
    let calling = Arc::clone(&extension);
    let call = tokio::spawn(async move { calling.call_tool("work", HashMap::new()).await });
    tokio::time::timeout(Duration::from_secs(20), arrived.notified()).await.expect("the call arrives");
    extension.ping(Duration::from_secs(5)).await.unwrap();
    assert!(!call.is_finished());
    call.abort();
}

/// Streams that a client opens in the background (listen, GET) take a moment to stand.
async fn settle(kind: TransportKind) {
    if kind != TransportKind::Direct {
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

async fn until_async(condition: impl AsyncFn() -> bool) {
    let waiting = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), waiting)
        .await
        .expect("it did not happen within ten seconds");
}

async fn until(condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), waiting)
        .await
        .expect("it did not happen within ten seconds");
}
