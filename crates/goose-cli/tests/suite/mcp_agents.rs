//! `goose mcp agents`: the agents as tools, called by a real MCP client in both eras.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, ensure};
use goose::{
    config::Paths,
    session::{ListOptions, SessionStore, Step},
};
use goose_extension::{
    Answer, CallContext, Caller, ElicitAction, Elicited, Extension as _, JsonObject, Progress, Question,
    QuestionKind, ToolResult, prelude::async_trait,
};
use goose_mcp_bridge::{ConnectOptions, Lifecycle, ProcessSpec, RemoteExtension, connect};
use goose_test_support::{ModelServer, Turn};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::Home;

const ERAS: [Lifecycle; 2] = [Lifecycle::Initialize, Lifecycle::Discover];

/// The time that a call may take.
const LIMIT: Duration = Duration::from_secs(60);

/// A person who answers every question with the same word, and remembers what was asked and reported.
struct Person {
    word: &'static str,
    asked: Mutex<Vec<String>>,
    reports: Mutex<Vec<String>>,
}

impl Person {
    fn saying(word: &'static str) -> Arc<Self> {
        Arc::new(Self { word, asked: Mutex::default(), reports: Mutex::default() })
    }
}

#[async_trait]
impl Caller for Person {
    async fn ask(&self, _: &str, question: Question) -> ToolResult<Answer> {
        let Question::Elicit(question) = question else { return Ok(Answer::Roots(Vec::new())) };
        self.asked.lock().push(serde_json::to_string(&question)?);
        let content = json!({"decision": self.word});
        Ok(Answer::Elicited(Elicited::new(ElicitAction::Accept).with_content(content)))
    }

    fn can_answer(&self, kind: QuestionKind) -> bool {
        kind == QuestionKind::ElicitForm
    }

    fn progress(&self, progress: Progress) {
        self.reports.lock().extend(progress.message);
    }
}

/// The server, in a permission mode.
async fn agents(
    home: &Home,
    model: &ModelServer,
    mode: &str,
    era: Lifecycle,
) -> anyhow::Result<Arc<RemoteExtension>> {
    let command = home.goose(&["mcp", "agents"]);
    let mut spec = ProcessSpec::new(command.get_program());
    spec.args(command.get_args()).current_dir(home.path());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => spec.env(name, value),
            None => spec.env_remove(name),
        };
    }
    spec.env("OPENAI_HOST", model.url()).env("OPENAI_API_KEY", "test").env("GOOSE_DISABLE_KEYRING", "1");
    spec.env("GOOSE_PROVIDER", "openai").env("GOOSE_MODEL", "gpt-4").env("GOOSE_MODE", mode);
    Ok(connect(spec, ConnectOptions { lifecycle: era, ..ConnectOptions::default() }).await?)
}

/// Waits until something holds, and lets the call under way go on.
async fn until(what: &str, mut holds: impl FnMut() -> bool) -> anyhow::Result<()> {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(LIMIT, waiting).await.with_context(|| format!("{what}: not in time"))
}

fn task(words: &str) -> JsonObject {
    JsonObject::from_iter([("task".to_owned(), Value::from(words))])
}

fn touch(file: &std::path::Path) -> Turn {
    Turn::call("developer__shell", json!({"command": format!("touch {}", file.display())}))
}

#[tokio::test]
async fn each_mode_of_each_agent_is_a_tool() -> anyhow::Result<()> {
    let home = Home::with_config("agents:\n  other: {type: acp, command: cat, description: Not ours}\n")?;
    let model = ModelServer::scripted([])?;
    for era in ERAS {
        let server = agents(&home, &model, "auto", era).await?;
        let names: Vec<&str> = server.tools().iter().map(|tool| tool.name()).collect();
        for name in
            ["goose-agent__assistant", "coding-agent__backend", "coding-agent__security", "other__main"]
        {
            ensure!(names.contains(&name), "{name} is not among {names:?}");
        }
        let tool = &server.tools()[0];
        assert_eq!(tool.input_schema()["required"], json!(["task"]));
        server.stop().await;
    }
    Ok(())
}

#[tokio::test]
async fn a_call_does_the_task_in_a_normal_session_and_reports_progress() -> anyhow::Result<()> {
    for era in ERAS {
        let home = Home::new()?;
        let file = home.path().join("made");
        let model = ModelServer::scripted([touch(&file), Turn::text("It is there.")])?;
        let server = agents(&home, &model, "auto", era).await?;
        let person = Person::saying("deny");
        let context = CallContext::new().with_caller(Arc::clone(&person) as _);
        let call = server.call("coding-agent__backend", task("Make the file."), &context);
        let output = tokio::time::timeout(LIMIT, call).await??;
        assert_eq!((output.as_text().as_str(), output.is_error), ("It is there.", false));
        ensure!(file.exists());
        ensure!(person.asked.lock().is_empty());
        ensure!(
            person.reports.lock().contains(&"developer__shell".to_owned()),
            "{:?}",
            person.reports.lock()
        );
        server.stop().await;
        let store = SessionStore::open(&SessionStore::file(&Paths::under(home.path()))).await?;
        let sessions = store.list(ListOptions::newest(10)).await?;
        assert_eq!(sessions.len(), 1, "{sessions:?}");
        assert_eq!(sessions[0].agent.as_deref(), Some("coding-agent/backend"));
    }
    Ok(())
}

#[tokio::test]
async fn approvals_are_elicited_and_the_answer_counts() -> anyhow::Result<()> {
    for (era, word, is_made) in [
        (Lifecycle::Initialize, "allow", true),
        (Lifecycle::Initialize, "deny", false),
        (Lifecycle::Discover, "allow", true),
        (Lifecycle::Discover, "deny", false),
    ] {
        let home = Home::new()?;
        let (one, two) = (home.path().join("one"), home.path().join("two"));
        // Two questions, one after the other: in the newer era the call is made three times.
        let model = ModelServer::scripted([touch(&one), touch(&two), Turn::text("I tried.")])?;
        let server = agents(&home, &model, "approve", era).await?;
        let person = Person::saying(word);
        let context = CallContext::new().with_caller(Arc::clone(&person) as _);
        let call = server.call("coding-agent__backend", task("Make the files."), &context);
        let output = tokio::time::timeout(LIMIT, call).await??;
        assert_eq!(output.as_text(), "I tried.", "{word}");
        assert_eq!((one.exists(), two.exists()), (is_made, is_made), "{word}");
        let asked = person.asked.lock().clone();
        assert_eq!(asked.len(), 2, "{asked:?}");
        ensure!(asked[0].contains("developer__shell") && asked[0].contains("touch"), "{asked:?}");
        assert_eq!(model.asked().len(), 3, "nothing ran twice");
        server.stop().await;
    }
    Ok(())
}

#[tokio::test]
async fn an_answer_outside_of_the_schema_is_named_as_such() -> anyhow::Result<()> {
    let home = Home::new()?;
    let file = home.path().join("made");
    let model = ModelServer::scripted([touch(&file), Turn::text("I could not.")])?;
    let server = agents(&home, &model, "approve", Lifecycle::Initialize).await?;
    let context = CallContext::new().with_caller(Person::saying("perhaps") as _);
    let call = server.call("coding-agent__backend", task("Make the file."), &context);
    tokio::time::timeout(LIMIT, call).await??;
    ensure!(!file.exists());
    let (_, result) = model.asked()[1].tool_results().pop().context("there is a result")?;
    ensure!(result.contains("its answer cannot be used") && !result.contains("does not support"), "{result}");
    server.stop().await;
    Ok(())
}

#[tokio::test]
async fn without_elicitation_what_needs_approval_is_refused_with_the_reason() -> anyhow::Result<()> {
    for era in ERAS {
        let home = Home::new()?;
        let file = home.path().join("made");
        let model = ModelServer::scripted([touch(&file), Turn::text("I could not.")])?;
        let server = agents(&home, &model, "approve", era).await?;
        let context = CallContext::new();
        let call = server.call("coding-agent__backend", task("Make the file."), &context);
        let output = tokio::time::timeout(LIMIT, call).await??;
        assert_eq!(output.as_text(), "I could not.");
        ensure!(!file.exists());
        let asked = model.asked();
        let (_, result) = asked[1].tool_results().pop().context("there is a result")?;
        ensure!(result.contains("cannot ask its user"), "{result}");
        server.stop().await;
    }
    Ok(())
}

#[tokio::test]
async fn cancelling_a_call_cancels_the_task_and_the_server_goes_on() -> anyhow::Result<()> {
    for era in ERAS {
        let home = Home::new()?;
        let pid = home.path().join("pid");
        let sleep = format!("echo $$ > {} && exec sleep 1000", pid.display());
        let model = ModelServer::scripted([
            Turn::call("developer__shell", json!({"command": sleep})),
            Turn::text("Hello."),
        ])?;
        let server = agents(&home, &model, "auto", era).await?;
        let cancellation = CancellationToken::new();
        let context = CallContext::new().with_cancellation(cancellation.clone());
        let calling = Arc::clone(&server);
        let call =
            tokio::spawn(async move { calling.call("coding-agent__backend", task("Wait."), &context).await });
        until("the command runs", || std::fs::read_to_string(&pid).is_ok_and(|it| !it.is_empty())).await?;
        let pid: u32 = std::fs::read_to_string(&pid)?.trim().parse()?;
        cancellation.cancel();
        let ended = tokio::time::timeout(LIMIT, call).await??;
        ensure!(ended.is_err(), "{ended:?}");
        until("the command has ended", || !goose_test_support::is_alive(pid)).await?;
        let output = server.call("goose-agent__assistant", task("Say hello."), &CallContext::new()).await?;
        assert_eq!(output.as_text(), "Hello.");
        server.stop().await;
        let store = SessionStore::open(&SessionStore::file(&Paths::under(home.path()))).await?;
        let mut interrupted = 0;
        for session in store.list(ListOptions::newest(10)).await? {
            let steps = store.steps(&session.id).await?.steps;
            interrupted +=
                steps.iter().filter(|stored| matches!(stored.step, Step::Interrupted { .. })).count();
        }
        assert_eq!(interrupted, 1);
    }
    Ok(())
}
