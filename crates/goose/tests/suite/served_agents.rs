//! Our agents as tools: calls that wait for an answer, and calls that end in another way than with a result.
#![cfg(target_os = "linux")]

use std::sync::Arc;

use goose::{
    agent_manager::AgentManager,
    config::{Settings, SettingsSource},
    session::{ListOptions, Step},
};
use goose_extension::{
    Answer, Caller, ElicitAction, Elicited, JsonObject, Question, QuestionKind, prelude::*,
};
use goose_test_support::model_server::{ModelServer, Turn};

use crate::support::{World, bounded};

const TOOL: &str = "goose-agent__assistant";

/// The calls that wait at once.
const MAX_WAITING: usize = 32;

/// A caller whose user has not answered yet, has gone away, or says yes.
#[derive(Clone, Copy)]
enum User {
    Later,
    Gone,
    Yes,
}

#[async_trait]
impl Caller for User {
    async fn ask(&self, _: &str, _: Question) -> ToolResult<Answer> {
        match self {
            Self::Later => Err(ToolError::InputRequired("later".to_owned())),
            Self::Gone => Err(ToolError::Cancelled("gone".to_owned())),
            Self::Yes => {
                let yes = Elicited::new(ElicitAction::Accept).with_content(json!({"decision": "allow"}));
                Ok(Answer::Elicited(yes))
            }
        }
    }

    fn can_answer(&self, kind: QuestionKind) -> bool {
        kind == QuestionKind::ElicitForm
    }
}

/// Each task asks for approval of one command.
fn manager(world: &World, model: &ModelServer) -> anyhow::Result<AgentManager> {
    let environment = [
        ("OPENAI_HOST", model.url()),
        ("OPENAI_API_KEY", "key".to_owned()),
        ("GOOSE_PROVIDER", "openai".to_owned()),
        ("GOOSE_MODEL", "gpt-4o".to_owned()),
        ("GOOSE_MODE", "approve".to_owned()),
        ("PATH", std::env::var("PATH")?),
    ];
    let settings = Settings::load(
        SettingsSource::new(world.paths()).with_builtins(goose_mcp::BUILTINS).with_environment(environment),
    )?;
    Ok(AgentManager::new(settings).with_pool(Arc::clone(&world.pool)))
}

/// Calls with the task as the id of the call.
async fn call(served: &dyn Extension, task: &str, user: User) -> anyhow::Result<ToolResult<String>> {
    call_as(task, served, task, user).await
}

async fn call_as(
    id: &str,
    served: &dyn Extension,
    task: &str,
    user: User,
) -> anyhow::Result<ToolResult<String>> {
    let context = CallContext::new().with_caller(Arc::new(user)).with_call_id(id);
    let arguments = JsonObject::from_iter([("task".to_owned(), task.into())]);
    let output = bounded(served.call(TOOL, arguments, &context)).await?;
    Ok(output.map(|output| output.as_text()))
}

/// The number of sessions whose task was interrupted.
async fn interrupted(manager: &AgentManager) -> anyhow::Result<usize> {
    let mut found = 0;
    for session in manager.store().list(ListOptions::newest(100)).await? {
        let steps = manager.store().steps(&session.id).await?.steps;
        found += usize::from(steps.iter().any(|it| matches!(it.step, Step::Interrupted { .. })));
    }
    Ok(found)
}

async fn until_interrupted(manager: &AgentManager, count: usize) -> anyhow::Result<()> {
    bounded(async {
        while interrupted(manager).await? < count {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        anyhow::Ok(())
    })
    .await?
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_that_nobody_answers_make_room_for_others() -> anyhow::Result<()> {
    let world = World::new()?;
    let model = ModelServer::answering(|asked| match asked.tool_results().len() {
        0 => Turn::call("developer__shell", json!({"command": "touch made"})),
        _ => Turn::text("It is there."),
    })?;
    let manager = manager(&world, &model)?;
    let served = manager.served_agents(manager.settings().profile(None)?, world.file(""));
    for number in 0..=MAX_WAITING {
        let waits = call(&served, &format!("Task {number}"), User::Later).await?;
        assert!(matches!(&waits, Err(ToolError::InputRequired(_))), "{number}: {waits:?}");
    }
    let waiting = async || anyhow::Ok(served.status().await?["waiting_for_answers"].clone());
    assert_eq!(waiting().await?, json!(MAX_WAITING));
    // The first one has ended, and the last one goes on where it was.
    until_interrupted(&manager, 1).await?;
    let requests = model.asked().len();
    let last = call(&served, &format!("Task {MAX_WAITING}"), User::Yes).await?;
    assert_eq!(last.as_deref(), Ok("It is there."));
    assert_eq!((model.asked().len(), waiting().await?), (requests + 1, json!(MAX_WAITING - 1)));
    assert_eq!(interrupted(&manager).await?, 1);

    // The sessions that wait end with the server.
    drop(served);
    until_interrupted(&manager, MAX_WAITING).await
}

/// Two callers with the same words have two sessions, and each answers its own question.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_belongs_to_its_call_whatever_the_task_says() -> anyhow::Result<()> {
    let world = World::new()?;
    let model = ModelServer::answering(|asked| match asked.tool_results().len() {
        0 => Turn::call("developer__shell", json!({"command": "touch made"})),
        _ => Turn::text("It is there."),
    })?;
    let manager = manager(&world, &model)?;
    let served = manager.served_agents(manager.settings().profile(None)?, world.file(""));
    for id in ["one", "two"] {
        let waits = call_as(id, &served, "The same task", User::Later).await?;
        assert!(matches!(&waits, Err(ToolError::InputRequired(_))), "{id}: {waits:?}");
    }
    assert_eq!(served.status().await?["waiting_for_answers"], json!(2));
    // A third caller with these words begins a task of its own.
    let third = call_as("three", &served, "The same task", User::Later).await?;
    assert!(matches!(&third, Err(ToolError::InputRequired(_))), "{third:?}");
    assert_eq!(served.status().await?["waiting_for_answers"], json!(3));
    let second = call_as("two", &served, "The same task", User::Yes).await?;
    assert_eq!(second.as_deref(), Ok("It is there."));
    assert_eq!(served.status().await?["waiting_for_answers"], json!(2));
    drop(served);
    until_interrupted(&manager, 2).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_fails_ends_its_session() -> anyhow::Result<()> {
    let world = World::new()?;
    let model = ModelServer::scripted([Turn::call("developer__shell", json!({"command": "touch made"}))])?;
    let manager = manager(&world, &model)?;
    let served = manager.served_agents(manager.settings().profile(None)?, world.file(""));
    let failed = call(&served, "Make it", User::Gone).await?;
    assert!(matches!(&failed, Err(ToolError::Cancelled(_))), "{failed:?}");
    until_interrupted(&manager, 1).await?;
    assert!(!world.file("made").exists());
    Ok(())
}
