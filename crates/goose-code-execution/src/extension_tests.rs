//! Programs whose calls a test double of the agent answers.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use goose_extension::{JsonObject, ToolCaller};
use goose_test_support::RecordingCaller;
use tokio_util::sync::CancellationToken;

use super::*;

/// Agent that answers calls and counts how many run at once.
#[derive(Default)]
struct TestAgent {
    running: AtomicUsize,
    most: AtomicUsize,
    calls: Mutex<Vec<String>>,
    was_dropped: Arc<AtomicBool>,
}

/// Records that a call was dropped.
struct RecordDrop(Arc<AtomicBool>);

impl Drop for RecordDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[async_trait]
impl ToolCaller for TestAgent {
    async fn call_tool(&self, name: &str, arguments: JsonObject) -> ToolResult<ToolOutput> {
        self.calls.lock().unwrap().push(name.to_owned());
        let now = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        let result = match name {
            "demo__echo" => Ok(ToolOutput::text(arguments["text"].as_str().unwrap_or_default())),
            "demo__add" => {
                let sum =
                    arguments["a"].as_i64().unwrap_or_default() + arguments["b"].as_i64().unwrap_or_default();
                Ok(ToolOutput::value(json!({ "sum": sum })))
            }
            "demo__nap" => {
                tokio::time::sleep(Duration::from_millis(20)).await;
                Ok(ToolOutput::text("rested"))
            }
            "demo__forever" => {
                let _record = RecordDrop(Arc::clone(&self.was_dropped));
                std::future::pending().await
            }
            "demo__denied" => Err(ToolError::Denied("Not run: a rule forbids it.".to_owned())),
            "demo__broken" => Ok(ToolOutput::error("It broke.")),
            "demo__picture" => Ok(ToolOutput::content([Image::png(vec![1; 2048]).into()])),
            _ => Err(ToolError::NotFound(format!("There is no tool `{name}`."))),
        };
        self.running.fetch_sub(1, Ordering::SeqCst);
        result
    }
}

fn extension() -> CodeExecution {
    let object = |value: Value| value.as_object().cloned().unwrap_or_default();
    let text = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    let numbers =
        json!({"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]});
    let sum = json!({"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]});
    let plain = ["demo__nap", "demo__forever", "demo__denied", "demo__broken", "demo__picture"];
    let mut tools: Vec<Tool> =
        plain.into_iter().map(|name| Tool::new(name, "Does it.", JsonObject::new())).collect();
    tools.push(Tool::new("demo__echo", "Gives the text back.", object(text)));
    tools.push(Tool::new("demo__add", "Adds.", object(numbers)).with_output_schema(object(sum)));
    tools.push(Tool::new("code_execution__execute_typescript", "Itself.", JsonObject::new()));
    let tools: Arc<[Tool]> = tools.into();
    CodeExecution::new(move || Arc::clone(&tools))
}

async fn run_in(context: &CallContext, code: &str) -> ToolResult<ToolOutput> {
    let arguments = JsonObject::from_iter([("code".to_owned(), json!(code))]);
    extension().call("execute_typescript", arguments, context).await
}

/// Returns the output of a program that succeeds.
async fn output(code: &str) -> String {
    let context = CallContext::new().with_tool_caller(Arc::new(TestAgent::default()));
    let output = run_in(&context, code).await.unwrap();
    assert!(!output.is_error, "{code}: {}", output.as_text());
    output.as_text()
}

/// Returns the error of a program that fails.
async fn error(code: &str) -> String {
    let context = CallContext::new().with_tool_caller(Arc::new(TestAgent::default()));
    let output = run_in(&context, code).await.unwrap();
    assert!(output.is_error, "{code}: {}", output.as_text());
    output.as_text()
}

#[tokio::test]
async fn program_calls_tools_and_prints() {
    let code = r#"
        interface Sum { sum: number }
        const texts: string[] = [];
        for (const text of ["a", "b"] as const) texts.push(await demo.echo({ text }));
        const sums: Sum[] = await Promise.all([1, 2, 3].map((a) => demo.add({ a, b: 10 })));
        console.log(texts.join("+"), sums.map((it) => it.sum), { total: sums.length });
    "#;
    assert_eq!(output(code).await, "a+b [11,12,13] {\"total\":3}\n");
}

#[tokio::test]
async fn last_value_is_returned() {
    for (code, expected) in [
        ("await demo.echo({ text: 'x' })", "x"),
        ("demo.echo({ text: 'not awaited' })", "not awaited"),
        ("const a = 1;\nif (a) { return { a }; }", "{\"a\":1}"),
        ("return await demo.add({ a: 1, b: 2 }) as object;", "{\"sum\":3}"),
        ("export async function run(): Promise<number> { return 7; }", "7"),
        ("console.log('only this')\nfor (const x of [1]) x", "only this\n"),
        ("let unused = 3", "The program ended and printed nothing."),
        ("console.log('a'); undefined", "a\n"),
    ] {
        assert_eq!(output(code).await, expected, "{code}");
    }
}

#[tokio::test]
async fn values_of_all_types_are_printed() {
    for (code, expected) in [
        ("console.log('a', 1, true, null, undefined, 10n)", "a 1 true null undefined 10n\n"),
        (
            "console.log([undefined, () => 1], new Map([[1, 'a']]), new Set([2]))",
            "[null,\"[function ]\"] [[1,\"a\"]] [2]\n",
        ),
        ("const a: any = { b: 1 }; a.self = a; console.error(a)", "{\"b\":1,\"self\":\"[circular]\"}\n"),
        ("console.log(demo.echo({ text: '' }))", "[a promise: use await]\n"),
        ("console.log('\\ud800x', 'zero\\0byte')", "\u{fffd}x zero\0byte\n"),
        ("console.log(await demo.picture())", "[image: image/png, 2 KB; call the tool directly to see it]\n"),
        (
            "console.log(typeof fetch, typeof require, typeof process, typeof std)",
            "undefined undefined undefined undefined\n",
        ),
    ] {
        assert_eq!(output(code).await, expected, "{code}");
    }
}

#[tokio::test]
async fn errors_have_positions_in_the_program() {
    let mut wrong = Vec::new();
    for (code, expected) in [
        ("\nthrow new Error('no')", "Error: no\n  at line 2, column 11"),
        ("const a: any = null;\n\na.b", "TypeError: cannot read property 'b' of null\n  at line 3, column 1"),
        (
            "type A = string;\nfunction f(a: A) {\n  throw new RangeError(a);\n}\nf('x')",
            "RangeError: x\n  at line 3, column 24 in f",
        ),
        ("return nothing", "ReferenceError: nothing is not defined\n  at line 1, column 8"),
        ("let x: number = 1;\nlet y = ;\n", "at line 2, column 9"),
        ("throw 'text'", "The program threw a value that is not an Error: text\nOnly an Error has a line"),
        ("throw null", "threw a value that is not an Error: null\n"),
        ("const a = 1;\nconsole.log(a", "Line 2, column 1: syntax error near `console.log(a`"),
        ("await demo.broken()", "ToolError: demo.broken: It broke.\n  at line 1, column 11"),
        (
            "await demo.denied({})",
            "ToolError: demo.denied: Not run: a rule forbids it.\n  at line 1, column 11",
        ),
        ("await Promise.all([demo.echo({text: ''}),\n  demo.broken()])", "It broke.\n  at line 2, column 8"),
        (
            "Promise.reject(new Error('lost'))\n1",
            "A promise was rejected and not awaited. Error: lost\n  at line 1",
        ),
        ("enum A { B }", "Line 1: enums"),
        ("demo.ecko({})", "TypeError: There is no function `demo.ecko`. Did you mean demo.echo"),
        ("dema.echo({})", "Did you mean demo"),
        ("demo__echo({})", "Did you mean demo.echo"),
        ("await demo.echo('x')", "takes its arguments as one object: demo.echo({name: value})"),
        ("await new Promise(() => {})", "waits for a promise that is never settled"),
        ("console.log('before'); throw new Error('after')", "before\nError: after"),
    ] {
        let error = error(code).await;
        if !error.contains(expected) || error.contains("prelude") {
            wrong.push(format!("{code}\n{error}\nexpected: {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[tokio::test]
async fn failed_calls_can_be_caught() {
    let code = "try { await demo.denied() } catch (error) { console.log((error as Error).message) }";
    assert_eq!(output(code).await, "demo.denied: Not run: a rule forbids it.\n");
    let code = "const calls = [demo.broken(), demo.echo({text: 'ok'})];\n\
                (await Promise.allSettled(calls)).map(it => it.status)";
    assert_eq!(output(code).await, "[\"rejected\",\"fulfilled\"]");
}

#[tokio::test]
async fn timers_fire_in_order() {
    let code = "
        setTimeout(() => console.log('late'), 30);
        setTimeout((text: string) => console.log(text), 1, 'early');
        const never = setTimeout(() => console.log('never'), 10);
        clearTimeout(never);
        await new Promise((resolve) => setTimeout(resolve, 5));
        console.log('end');";
    assert_eq!(output(code).await, "early\nend\nlate\n");
}

#[tokio::test]
async fn concurrent_calls_are_limited() {
    let agent = Arc::new(TestAgent::default());
    let context = CallContext::new().with_tool_caller(agent.clone());
    let code = "(await Promise.all(Array.from({ length: 50 }, () => demo.nap()))).length";
    assert_eq!(run_in(&context, code).await.unwrap().as_text(), "50");
    let most = agent.most.load(Ordering::SeqCst);
    assert!((2..=crate::limits::MAX_CALLS_AT_ONCE).contains(&most), "{most}");
}

/// All programs together have one budget of memory: some wait for their turn, and none is refused.
#[tokio::test]
async fn concurrent_programs_wait_for_their_turn() {
    let agent = Arc::new(TestAgent::default());
    let context = CallContext::new().with_tool_caller(agent.clone());
    let ended = futures::future::join_all((0..20).map(|_| run_in(&context, "await demo.nap()"))).await;
    assert!(ended.iter().all(|ended| ended.as_ref().is_ok_and(|output| !output.is_error)), "{ended:?}");
    let most = agent.most.load(Ordering::SeqCst);
    assert!((1..=crate::limits::MAX_ENGINES).contains(&most), "{most}");
}

#[tokio::test]
async fn waiting_program_can_be_cancelled() {
    let agent = Arc::new(TestAgent::default());
    let token = CancellationToken::new();
    let busy = CallContext::new().with_tool_caller(agent.clone()).with_cancellation(token.clone());
    let stop = CancellationToken::new();
    let waiting = busy.clone().with_cancellation(stop.clone());
    let running = futures::future::join_all(
        (0..crate::limits::MAX_ENGINES).map(|_| run_in(&busy, "await demo.forever()")),
    );
    let cancel = async {
        while agent.running.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let soon = async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            stop.cancel();
        };
        let began = Instant::now();
        let (ended, ()) = tokio::join!(run_in(&waiting, "await demo.forever()"), soon);
        assert!(matches!(ended, Err(ToolError::Cancelled(_))), "{ended:?}");
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
        token.cancel();
    };
    tokio::join!(running, cancel);
    assert_eq!(output("'still works'").await, "still works");
}

#[tokio::test]
async fn hostile_programs_are_stopped_by_limits() {
    let programs = [
        ("while (true) {}", "computed for 10 s without waiting for a call"),
        ("while (true) await null", "computed for 10 s without waiting for a call"),
        ("const f = (): any => f() + 1; f()", "call stack"),
        ("const all: string[] = []; while (true) all.push('x'.repeat(1e6) + all.length)", "64 MB of memory"),
        ("let s = 'x'; while (true) s += s", "string too long"),
        ("while (true) console.log('x'.repeat(10_000))", "printed more than 16 MB"),
        ("while (true) await demo.echo({ text: '' })", "at most 1000 calls"),
        ("/(a+)+$/.test('a'.repeat(40) + 'b')", "computed for 10 s"),
        ("while (true) { try { while (true) {} } catch {} }", "computed for 10 s"),
        // A built-in function that takes minutes: its thread is abandoned.
        ("'a'.repeat(2e6).indexOf('a'.repeat(1e6) + 'b')", "computed for 10 s"),
    ];
    let began = Instant::now();
    let ended = futures::future::join_all(programs.map(|(code, _)| async move {
        let context = CallContext::new().with_tool_caller(Arc::new(TestAgent::default()));
        run_in(&context, code).await.unwrap().as_text()
    }))
    .await;
    for ((code, expected), ended) in programs.iter().zip(&ended) {
        assert!(ended.contains(expected), "{code}: {}", goose_fs::head_chars(ended, 500));
        assert!(ended.len() < 80_000, "{code}: {}", ended.len());
    }
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert_eq!(output("'still works'").await, "still works", "other programs run");
    #[cfg(target_os = "linux")]
    assert!(nice_values("code-execution").contains(&19), "the abandoned engine has the lowest priority");
}

/// Returns the nice values of this process's threads with a name.
#[cfg(target_os = "linux")]
fn nice_values(name: &str) -> Vec<i32> {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let stats = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("stat")).ok());
    let nice = |stat: String| {
        let (before, after) = stat.rsplit_once(") ")?;
        // The first field after the name is the third of all.
        before.ends_with(name).then(|| after.split(' ').nth(16)?.parse().ok())?
    };
    stats.filter_map(nice).collect()
}

#[tokio::test]
async fn large_output_is_cut_in_the_middle() {
    let text = output("for (let i = 0; i < 50_000; i++) console.log('line', i)").await;
    assert!(
        text.starts_with("line 0\n")
            && text.ends_with("line 49999\n")
            && text.contains("bytes are not shown")
    );
    assert!(text.len() < 70_000, "{}", text.len());
}

#[tokio::test]
async fn cancellation_ends_the_program_and_its_calls() {
    for code in ["await demo.forever()", "demo.forever(); await null; while (true) {}"] {
        let agent = Arc::new(TestAgent::default());
        let token = CancellationToken::new();
        let context = CallContext::new().with_tool_caller(agent.clone()).with_cancellation(token.clone());
        let cancel = async {
            while agent.running.load(Ordering::SeqCst) == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            token.cancel();
            Instant::now()
        };
        let (ended, cancelled_at) = tokio::join!(run_in(&context, code), cancel);
        assert!(matches!(ended, Err(ToolError::Cancelled(_))), "{ended:?}");
        assert!(cancelled_at.elapsed() < Duration::from_secs(2), "{:?}", cancelled_at.elapsed());
        assert!(agent.was_dropped.load(Ordering::SeqCst), "the call was dropped");
    }
}

#[tokio::test]
async fn programs_do_not_share_state() {
    assert_eq!(output("(globalThis as any).left = 1; Array.prototype.map = null as any; 1").await, "1");
    assert_eq!(output("[typeof (globalThis as any).left].map(it => it)").await, "[\"undefined\"]");
}

#[tokio::test]
async fn without_an_agent_calls_are_refused() {
    let output = run_in(&CallContext::new(), "await demo.echo({ text: '' })").await.unwrap();
    assert!(output.as_text().contains("was not made by an agent"), "{}", output.as_text());
}

#[tokio::test]
async fn functions_are_listed_and_declared() {
    let extension = extension();
    let context = CallContext::new();
    let list = extension.call("list_functions", JsonObject::new(), &context).await.unwrap().as_text();
    assert!(
        list.contains("demo.echo(args: {text: string}): Promise<string> // Gives the text back\n"),
        "{list}"
    );
    assert!(
        list.contains("demo.add(args: {a: number; b: number}): Promise<{sum: number}> // Adds\n"),
        "{list}"
    );
    assert!(!list.contains("execute_typescript"), "{list}");
    let details = async |names: Value| {
        let arguments = JsonObject::from_iter([("functions".to_owned(), names)]);
        extension.call("get_function_details", arguments, &context).await.unwrap()
    };
    let shown = details(json!(["demo.echo", "demo__echo", "demo.ech"])).await.as_text();
    assert_eq!(shown.matches("function echo").count(), 1, "{shown}");
    assert!(shown.contains("// There is no function `demo.ech`. Did you mean demo.echo"), "{shown}");
    assert_eq!(details(json!(["demo"])).await.as_text().matches("  function ").count(), 7);
    let unknown = details(json!(["nothing"])).await;
    assert!(unknown.is_error && unknown.as_text().contains("list_functions"), "{}", unknown.as_text());
}

#[tokio::test]
async fn tool_graph_is_logged() {
    let recorder = RecordingCaller::new();
    let graph = json!([
        {"tool": "demo.echo", "description": "first"},
        {"tool": "demo.add", "description": "then", "depends_on": [0]},
        3
    ]);
    let arguments =
        JsonObject::from_iter([("code".to_owned(), json!("1")), ("tool_graph".to_owned(), graph)]);
    extension().call("execute_typescript", arguments, &recorder.context()).await.unwrap();
    let seen = recorder.seen().join("\n");
    assert!(
        seen.contains("1. demo.echo: first")
            && seen.contains("2. demo.add: then (after 1)")
            && !seen.contains("3."),
        "{seen}"
    );
}

/// The descriptions of the tools are part of every request.
#[test]
fn descriptions_of_the_tools_are_short() {
    let extension = extension();
    let bytes: usize = extension
        .tools()
        .iter()
        .map(|tool| tool.description().len() + serde_json::to_string(tool.input_schema()).unwrap().len())
        .sum();
    assert!(bytes + extension.instructions().len() < 1500, "{bytes}");
}
