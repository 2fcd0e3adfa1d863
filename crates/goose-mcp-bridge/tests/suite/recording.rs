//! Record and replay: the same answers without the server, and a clear error if a test and its recording
//! differ.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use goose_extension::{
    ArgumentInfo, CallContext, Change, CompleteRequestParams, Extension, JsonObject, Reference, prelude::*,
};
use goose_mcp_bridge::{ConnectOptions, Lifecycle, ProcessSpec, connect, serve};
use goose_test_support::{KitchenSink, RecordingCaller, Tape, binary};
use tempfile::TempDir;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use crate::transports::TransportKind;

const BOTH: [Lifecycle; 2] = [Lifecycle::Discover, Lifecycle::Initialize];

fn object(value: Value) -> JsonObject {
    value.as_object().cloned().unwrap()
}

fn options(lifecycle: Lifecycle, tape: &Tape) -> ConnectOptions {
    ConnectOptions { lifecycle, interceptor: Some(Arc::new(tape.clone())), ..ConnectOptions::default() }
}

async fn replayed(tape: &Tape, lifecycle: Lifecycle) -> Arc<dyn Extension> {
    connect(
        tape.transport().unwrap(),
        ConnectOptions { lifecycle, trust_groups: true, ..ConnectOptions::default() },
    )
    .await
    .unwrap()
}

/// A duplex server whose traffic is recorded.
async fn recorded(tape: &Tape, lifecycle: Lifecycle) -> Arc<dyn Extension> {
    connect(serve(KitchenSink::new()).duplex(), options(lifecycle, tape)).await.unwrap()
}

async fn kitchen_sink() -> ProcessSpec {
    ProcessSpec::new(tokio::task::spawn_blocking(|| binary("kitchen_sink")).await.unwrap().unwrap())
}

async fn echo(extension: &Arc<dyn Extension>, message: &str) -> ToolResult<Value> {
    extension.call_tool("echo", hashmap! { "message" => json!(message) }).await
}

/// A folder with the recording of one `echo` of each message.
async fn echoes(lifecycle: Lifecycle, messages: &[&str]) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("echo.json");
    let tape = Tape::record(&file);
    let extension = recorded(&tape, lifecycle).await;
    for message in messages {
        echo(&extension, message).await.unwrap();
    }
    tape.finish().unwrap();
    (folder, file)
}

/// Calls of every kind; what they gave, and what was heard of them.
async fn calls(extension: &Arc<dyn Extension>) -> Vec<String> {
    let mut told = vec![format!("{} {} {}", extension.name(), extension.version(), extension.prompt())];
    told.extend(extension.tools().iter().map(|tool| serde_json::to_string(&tool.to_mcp()).unwrap()));
    for (tool, arguments) in [
        ("echo", json!({ "message": "ünï \u{1F980} {{NAME}}" })),
        ("echo", json!({ "message": 7 })),
        ("add", json!({ "a": 2 })),
        ("mixed", json!({})),
        ("picture", json!({})),
        ("fail", json!({ "reason": "because" })),
        ("refuse", json!({ "code": -32000 })),
        ("ask_name", json!({})),
    ] {
        told.push(format!("{:?}", extension.call(tool, object(arguments), &CallContext::new()).await));
    }
    told.push(format!("{:?}", extension.list_resources().await));
    told.push(format!("{:?}", extension.read_resource("note://1", &CallContext::new()).await));
    told.push(format!("{:?}", extension.read_resource("note://9", &CallContext::new()).await));
    told.push(format!("{:?}", extension.list_prompts().await));
    let request = CompleteRequestParams::new(Reference::for_prompt("greet"), ArgumentInfo::new("name", "A"));
    told.push(format!("{:?}", extension.complete(request).await));
    told
}

/// Calls that report and ask.
async fn conversations(extension: &Arc<dyn Extension>) -> Vec<String> {
    let mut told = Vec::new();
    for (tool, recorder) in [
        ("report", RecordingCaller::new()),
        ("ask_name", RecordingCaller::new()),
        ("ask_name", RecordingCaller::declining()),
        ("ask_twice", RecordingCaller::new()),
    ] {
        let output = extension.call(tool, JsonObject::new(), &recorder.context()).await;
        told.push(format!("{tool} {output:?} {:?}", recorder.seen()));
    }
    let (one, two) = (RecordingCaller::declining(), RecordingCaller::new());
    let (first, second) = (one.context(), two.context());
    let both = tokio::join!(
        extension.call("ask_name", JsonObject::new(), &first),
        extension.call("ask_twice", JsonObject::new(), &second)
    );
    told.push(format!("side by side {both:?} {:?} {:?}", one.seen(), two.seen()));
    let recorder = RecordingCaller::new();
    let output = extension.call("ask_everything", JsonObject::new(), &recorder.context()).await;
    let mut seen = recorder.seen();
    seen.sort();
    told.push(format!("everything {output:?} {seen:?}"));
    told
}

/// The announcements of a server.
async fn news(extension: &Arc<dyn Extension>) -> Vec<String> {
    let feed = extension.changes().unwrap();
    let mut events = feed.subscribe();
    extension.subscribe("note://1").await.unwrap();
    extension.call_tool("touch", hashmap! { "uri" => json!("note://1") }).await.unwrap();
    let event = within(events.recv()).await.unwrap();
    assert_eq!(event, Change::ResourceUpdated("note://1".into()));
    let before = extension.tools().len();
    let answer = extension.call_tool("grow", HashMap::new()).await;
    until(|| feed.latest().is_some()).await;
    let grown = feed.latest().unwrap();
    let late = grown.call_tool("late_arrival", HashMap::new()).await;
    vec![format!("{event:?} {answer:?} {before} {} {late:?}", grown.tools().len())]
}

async fn session(extension: &Arc<dyn Extension>, kind: TransportKind) -> Vec<String> {
    let mut told = calls(extension).await;
    // There log messages may come late, and the stream of news opens at some time.
    if kind != TransportKind::Http(Lifecycle::Initialize) {
        told.extend(conversations(extension).await);
        told.extend(news(extension).await);
    }
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_gives_the_same_answers_as_the_server() {
    for kind in TransportKind::WIRES {
        let (TransportKind::Duplex(lifecycle)
        | TransportKind::Stdio(lifecycle)
        | TransportKind::Http(lifecycle)) = kind
        else {
            continue;
        };
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("new").join("tape.json");
        let tape = Tape::record(&file);
        assert!(!tape.is_replay());
        let opened = kind
            .open_with(ConnectOptions {
                interceptor: Some(Arc::new(tape.clone())),
                ..ConnectOptions::default()
            })
            .await;
        let real = session(&opened.extension, kind).await;
        drop(opened);
        tape.finish().unwrap();

        let tape = Tape::replay(&file).unwrap();
        assert!(tape.is_replay());
        let extension = replayed(&tape, lifecycle).await;
        let again = within(session(&extension, kind)).await;
        assert_eq!(again, real, "{kind:?}");
        tape.finish().unwrap_or_else(|error| panic!("{kind:?}: {error}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_started_for_a_replay() {
    let (_folder, file) = echoes(Lifecycle::Auto, &["hello"]).await;
    let tape = Tape::replay(&file).unwrap();
    let options = options(Lifecycle::Auto, &tape);
    let extension: Arc<dyn Extension> = connect(ProcessSpec::new("/no/such/program"), options).await.unwrap();
    assert_eq!(echo(&extension, "hello").await, Ok(json!({ "response": "hello" })));
    tape.finish().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tape_that_records_needs_a_server() {
    let tape = Tape::record("never-written.json");
    let Err(error) = tape.transport() else { panic!("there is nothing to replay") };
    assert!(error.to_string().contains("is a tape that records"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_request_fails_with_a_diff() {
    for lifecycle in BOTH {
        let (_folder, file) = echoes(lifecycle, &["goodbye", "hello"]).await;
        let tape = Tape::replay(&file).unwrap();
        let extension = replayed(&tape, lifecycle).await;
        echo(&extension, "goodbye").await.unwrap();
        let arguments = object(json!({ "message": "hello!" }));
        let error =
            within(extension.call("echo", arguments, &CallContext::new())).await.unwrap_err().to_string();
        for part in [
            "does not know this `tools/call`",
            "--- recorded",
            "+++ made",
            "-    \"message\": \"hello\"",
            "+    \"message\": \"hello!\"",
            "GOOSE_RECORD_MCP=1",
        ] {
            assert!(error.contains(part), "{lifecycle:?}, {part}: {error}");
        }
        let verdict = tape.finish().unwrap_err().to_string();
        assert!(verdict.contains("+    \"message\": \"hello!\""), "{verdict}");
        assert!(verdict.contains("1 recorded requests were not made:\n- tools/call {"), "{verdict}");
        assert!(verdict.contains("{\"message\":\"hello\"}"), "{verdict}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_made_too_often_is_unknown() {
    let (_folder, file) = echoes(Lifecycle::Initialize, &["hello", "hello"]).await;
    let tape = Tape::replay(&file).unwrap();
    let extension = replayed(&tape, Lifecycle::Initialize).await;
    for _ in 0..2 {
        echo(&extension, "hello").await.unwrap();
    }
    tape.finish().unwrap();
    let error = echo(&extension, "hello").await.unwrap_err().to_string();
    assert!(error.contains("once more than recorded; it was recorded 2 times"), "{error}");
    let error = extension.list_prompts().await.unwrap_err().to_string();
    assert!(error.contains("has no `prompts/list`. It has: initialize, tools/call, tools/list."), "{error}");
    let verdict = tape.finish().unwrap_err().to_string();
    assert!(verdict.contains("once more") && verdict.contains("prompts/list"), "{verdict}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_not_the_recorded_one_fails_the_call_with_a_diff() {
    for lifecycle in BOTH {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("ask.json");
        let tape = Tape::record(&file);
        let extension = recorded(&tape, lifecycle).await;
        extension.call("ask_name", JsonObject::new(), &RecordingCaller::new().context()).await.unwrap();
        tape.finish().unwrap();

        let tape = Tape::replay(&file).unwrap();
        let extension = replayed(&tape, lifecycle).await;
        let context = RecordingCaller::declining().context();
        let call = extension.call("ask_name", JsonObject::new(), &context);
        let error = within(call).await.unwrap_err().to_string();
        assert!(
            error.contains("\"action\": \"accept\"") && error.contains("\"action\": \"decline\""),
            "{error}"
        );
        assert!(tape.finish().unwrap_err().to_string().contains("\"action\": \"decline\""));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_side_by_side_may_come_in_another_order() {
    for lifecycle in BOTH {
        let (_folder, file) = echoes(lifecycle, &["one", "two", "three"]).await;
        let tape = Tape::replay(&file).unwrap();
        let extension = replayed(&tape, lifecycle).await;
        let answers =
            tokio::join!(echo(&extension, "three"), echo(&extension, "one"), echo(&extension, "two"));
        let said = |word: &str| Ok(json!({ "response": word }));
        assert_eq!(answers, (said("three"), said("one"), said("two")));
        tape.finish().unwrap();
    }
}

/// Records the same short session with a real child.
async fn record_child(file: &Path, lifecycle: Lifecycle) -> String {
    let tape = Tape::record(file);
    let extension: Arc<dyn Extension> =
        connect(kitchen_sink().await, options(lifecycle, &tape)).await.unwrap();
    for tool in ["report", "ask_name", "ask_twice", "mixed", "surroundings"] {
        let context = RecordingCaller::new().context().with_session_id(file.display().to_string());
        let _ = extension.call(tool, JsonObject::new(), &context).await;
    }
    extension.subscribe("note://1").await.unwrap();
    extension.unsubscribe("note://1").await.unwrap();
    echo(&extension, "last").await.unwrap();
    drop(extension);
    // The connection's end writes the file.
    until(|| file.exists()).await;
    std::fs::read_to_string(file).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_traffic_makes_the_same_file() {
    for lifecycle in BOTH {
        let folder = TempDir::new().unwrap();
        let first = record_child(&folder.path().join("one.json"), lifecycle).await;
        let second = record_child(&folder.path().join("two.json"), lifecycle).await;
        let hide = |text: String, name: &str| text.replace(folder.path().join(name).to_str().unwrap(), "");
        assert_eq!(hide(first.clone(), "one.json"), hide(second, "two.json"));
        assert!(first.contains("\"server\": \"program kitchen_sink\""), "{first}");
        let program = kitchen_sink().await;
        let program = Path::new(&program.program).parent().unwrap().to_str().unwrap().to_owned();
        assert!(!first.contains(&program), "{first}");
        // A new version of the client does not make recordings worthless.
        assert!(first.contains("\"version\": \"*\""), "{first}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn placeholders_stand_for_what_is_different_in_each_run() {
    for lifecycle in BOTH {
        let (one, two) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let file = one.path().join("tape.json");
        let ask = async |tape: &Tape, extension: Arc<dyn Extension>, folder: &TempDir| {
            let folder = folder.path().to_str().unwrap();
            let deep =
                json!({ "any": [{ (format!("{folder}/key")): format!("in {folder}/sub/x and {folder}") }] });
            let answer = extension.call_tool("whole", object(deep.clone()).into_iter().collect()).await;
            assert_eq!(answer, Ok(json!({ "got": deep })));
            tape.finish().unwrap();
        };
        let folders = |tape: Tape, folder: &TempDir| {
            let sub = folder.path().join("sub").to_str().unwrap().to_owned();
            tape.with_placeholder(folder.path().to_str().unwrap(), "FOLDER").with_placeholder(sub, "SUB")
        };
        let tape = folders(Tape::record(&file), &one);
        ask(&tape, recorded(&tape, lifecycle).await, &one).await;
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains(one.path().to_str().unwrap()), "{text}");
        assert!(
            text.contains("in {{SUB}}/x and {{FOLDER}}") && text.contains("\"{{FOLDER}}/key\""),
            "{text}"
        );
        let tape = folders(Tape::replay(&file).unwrap(), &two);
        ask(&tape, replayed(&tape, lifecycle).await, &two).await;
    }
}

#[test]
fn a_recording_that_cannot_be_used_says_how_to_make_one() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("tape.json");
    let complaint = || Tape::replay(&file).unwrap_err().to_string();
    let missing = complaint();
    assert!(missing.contains("tape.json") && missing.contains("GOOSE_RECORD_MCP=1"), "{missing}");
    std::fs::write(&file, "{ not JSON").unwrap();
    assert!(complaint().contains("cannot be replayed"), "{}", complaint());
    std::fs::write(&file, r#"{ "format": 99, "server": "", "messages": [] }"#).unwrap();
    assert!(complaint().contains("its format is 99"), "{}", complaint());
    std::fs::File::create(&file).unwrap().set_len((64 << 20) + 1).unwrap();
    assert!(complaint().contains("larger than 64 MiB"), "{}", complaint());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_that_grows_too_large_is_an_error_and_no_file() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("tape.json");
    let tape = Tape::record(&file);
    let extension = recorded(&tape, Lifecycle::Initialize).await;
    for _ in 0..10 {
        let flood = extension.call_tool("flood", hashmap! { "bytes" => json!(7_000_000) }).await.unwrap();
        assert_eq!(flood.as_str().map(str::len), Some(7_000_000));
    }
    let error = tape.finish().unwrap_err().to_string();
    assert!(error.contains("larger than 64 MiB"), "{error}");
    assert!(!file.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_is_cancelled_again() {
    for lifecycle in BOTH {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("tape.json");
        let session = async |extension: Arc<dyn Extension>| {
            let (recorder, token) = (RecordingCaller::new(), CancellationToken::new());
            let context = recorder.context().with_cancellation(token.clone());
            let call = extension.call("wait_for_ever", JsonObject::new(), &context);
            let (result, ()) = tokio::join!(call, async {
                until(|| !recorder.seen().is_empty()).await;
                token.cancel();
            });
            assert!(matches!(result, Err(ToolError::Cancelled(_))), "{lifecycle:?}: {result:?}");
            echo(&extension, "still here").await.unwrap();
        };
        let tape = Tape::record(&file);
        session(recorded(&tape, lifecycle).await).await;
        tape.finish().unwrap();
        let tape = Tape::replay(&file).unwrap();
        within(session(replayed(&tape, lifecycle).await)).await;
        tape.finish().unwrap();
    }
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_died_dies_again_at_the_same_place() {
    for lifecycle in BOTH {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("tape.json");
        let tape = Tape::record(&file);
        let extension = connect(kitchen_sink().await, options(lifecycle, &tape)).await.unwrap();
        let processes = extension.call_tool("processes", HashMap::new()).await.unwrap();
        let recorder = RecordingCaller::new();
        let context = recorder.context();
        let call = extension.call("wait_for_ever", JsonObject::new(), &context);
        let (result, ()) = tokio::join!(call, async {
            until(|| !recorder.seen().is_empty()).await;
            let killed = Command::new("kill").arg("-9").arg(processes["own"].to_string()).status().await;
            assert!(killed.unwrap().success());
        });
        until(|| !extension.is_connected()).await;
        tape.finish().unwrap();

        let tape = Tape::replay(&file).unwrap();
        let extension =
            connect(tape.transport().unwrap(), ConnectOptions { lifecycle, ..ConnectOptions::default() })
                .await
                .unwrap();
        extension.call_tool("processes", HashMap::new()).await.unwrap();
        let context = RecordingCaller::new().context();
        let again = within(extension.call("wait_for_ever", JsonObject::new(), &context)).await;
        // The program's own exit code is not on the wire, and so not on the tape.
        let kind = |result: ToolResult<ToolOutput>| result.unwrap().meta;
        assert_eq!(kind(again), kind(result));
        until(|| !extension.is_connected()).await;
        tape.finish().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_connection_continues_the_recording() {
    for lifecycle in BOTH {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("tape.json");
        let tape = Tape::record(&file);
        for message in ["first", "second"] {
            echo(&recorded(&tape, lifecycle).await, message).await.unwrap();
        }
        tape.finish().unwrap();
        let tape = Tape::replay(&file).unwrap();
        for message in ["first", "second"] {
            let answer = echo(&replayed(&tape, lifecycle).await, message).await;
            assert_eq!(answer, Ok(json!({ "response": message })));
        }
        tape.finish().unwrap();
    }
}

fn read(file: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_probe_that_an_old_server_left_unanswered_costs_no_time() {
    let (_modern, modern) = echoes(Lifecycle::Auto, &[]).await;
    let (_old, old) = echoes(Lifecycle::Initialize, &["hello"]).await;
    let mut probe = read(&modern)["messages"][0].clone();
    assert_eq!(probe["client"]["method"], "server/discover");
    probe["client"]["id"] = json!(1000);
    let mut recording = read(&old);
    recording["messages"].as_array_mut().unwrap().insert(0, probe);
    std::fs::write(&old, recording.to_string()).unwrap();

    let tape = Tape::replay(&old).unwrap();
    // Less than a real server would be waited for.
    let options = ConnectOptions { handshake_timeout: Duration::from_secs(9), ..ConnectOptions::default() };
    let extension: Arc<dyn Extension> = connect(tape.transport().unwrap(), options).await.unwrap();
    assert_eq!(echo(&extension, "hello").await, Ok(json!({ "response": "hello" })));
    tape.finish().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_could_not_be_sent_cannot_be_sent_again() {
    let (_folder, file) = echoes(Lifecycle::Initialize, &["hello"]).await;
    let mut recording = read(&file);
    let last = recording["messages"].as_array_mut().unwrap().last_mut().unwrap();
    *last = json!({ "unsent": last["server"]["id"] });
    std::fs::write(&file, recording.to_string()).unwrap();

    let tape = Tape::replay(&file).unwrap();
    let extension = replayed(&tape, Lifecycle::Initialize).await;
    let error = within(echo(&extension, "hello")).await.unwrap_err();
    assert!(matches!(error, ToolError::Disconnected(_)), "{error:?}");
    tape.finish().unwrap();
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future).await.expect("it took too long")
}

async fn until(condition: impl Fn() -> bool) {
    within(async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}
