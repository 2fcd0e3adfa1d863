//! An external agent as one task of several, and the check of what it wrote.

use std::sync::Arc;

use anyhow::Context as _;
use goose::{
    exchange::{Event, EventRecord},
    permission::Mode,
    session::{NewSession, Step, TaskFinished},
};
use goose_extension::Message;
use goose_test_support::{ModelServer, Turn, model_server::Asked};
use serde_json::json;

use crate::support::{World, bounded, done, program, tell};

const CHECKED: &str = "orchestrator:\n  check: true\n";

fn text(asked: &Asked) -> String {
    asked.last_user_text().unwrap_or_default()
}

fn is_judge(asked: &Asked) -> bool {
    text(asked).contains("<criteria>")
}

/// A model that does its own task in steps, joins and judges.
fn model(steps: impl Fn(usize) -> Turn + Send + 'static) -> anyhow::Result<ModelServer> {
    ModelServer::answering(move |asked| match text(asked) {
        text if text.contains("<criteria>") => Turn::text(r#"{"pass": true, "reasons": []}"#),
        text if text.contains("The request was split into tasks") => Turn::text("Joined."),
        _ => steps(asked.tool_results().len()),
    })
}

fn shell(command: &str) -> Turn {
    Turn::call("developer__shell", json!({ "command": command }))
}

/// A task of the external agent, and one of our own beside it, in a session that was ended once they were planned.
async fn both(world: &World, foreign: &str) -> anyhow::Result<Vec<Arc<EventRecord>>> {
    let plan = json!({"step": "task_plan", "tasks": [
        {"id": "1", "agent": "other", "mode": "main", "text": foreign},
        {"id": "2", "agent": "goose-agent", "mode": "specialist", "text": "Do your part"},
    ]});
    let message = Step::Message { message: Message::user("Do all of it") };
    let store = world.manager.store();
    let session = store.create(NewSession::in_folder(world.folder())).await?;
    session.append_all(&[message, serde_json::from_value(plan)?]).await?;
    let session = store.open_session(session.id()).await?;
    let exchange = world.open_session(session, "goose-agent", Mode::Auto).await?;
    let mut reply = exchange.reply();
    let mut records = Vec::new();
    while let Some(record) = bounded(reply.next_record()).await? {
        records.push(record);
    }
    exchange.close().await;
    Ok(records)
}

fn result<'a>(records: &'a [Arc<EventRecord>], id: &str) -> anyhow::Result<&'a str> {
    let result = records.iter().find_map(|record| match &record.event {
        Event::TaskFinished(TaskFinished { task, result, .. }) if task == id => Some(result.as_str()),
        _ => None,
    });
    result.with_context(|| format!("task {id} is not over: {records:?}"))
}

fn is_checked<'a>(mut events: impl Iterator<Item = &'a Event>) -> bool {
    events.any(|event| matches!(event, Event::Checked(_)))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_its_task_has_changed_is_not_written_by_another() -> anyhow::Result<()> {
    let write = || Turn::call("developer__write", json!({"path": "shared.txt", "content": "ours"}));
    let model = model(move |step| match step {
        0 => shell("until [ -e written ]; do sleep 0.01; done"),
        1 => write(),
        2 => shell("touch go"),
        _ => Turn::text("Done."),
    })?;
    let world = World::with_model(&(program(&[])? + CHECKED), model)?;
    let at = |name: &str| world.folder().join(name).display().to_string();
    let foreign =
        format!("change {} theirs ;; touch {} ;; await {}", at("shared.txt"), at("written"), at("go"));
    let records = both(&world, &foreign).await?;
    assert_eq!(std::fs::read_to_string(at("shared.txt"))?, "theirs");
    let asked = world.model.asked();
    let results: Vec<String> = asked.iter().flat_map(|asked| asked.tool_results()).map(|it| it.1).collect();
    let refused = "task 1, which is still running, has changed";
    assert!(results.iter().any(|result| result.contains(refused)), "{results:?}");
    // It said nothing, and its work is not given to it again.
    assert_eq!(result(&records, "1")?, "(no text)");
    assert!(!records.iter().any(|record| matches!(&record.event, Event::TaskRetried { .. })));
    assert!(is_checked(records.iter().map(|record| &record.event)));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn it_does_not_get_permission_for_a_file_that_another_task_has_changed() -> anyhow::Result<()> {
    let model = model(move |step| match step {
        0 => Turn::call("developer__write", json!({"path": "shared.txt", "content": "ours"})),
        1 => shell("touch written; until [ -e go ]; do sleep 0.01; done"),
        _ => Turn::text("Done."),
    })?;
    let world = World::with_model(&program(&[])?, model)?;
    let at = |name: &str| world.folder().join(name).display().to_string();
    let foreign =
        format!("await {} ;; change {} theirs ;; touch {}", at("written"), at("shared.txt"), at("go"));
    let records = both(&world, &foreign).await?;
    assert!(std::fs::read_to_string(at("shared.txt"))?.contains("ours"));
    assert_eq!(result(&records, "1")?, "refused");
    Ok(())
}

#[tokio::test]
async fn a_reply_is_checked_if_it_was_permitted_to_write() -> anyhow::Result<()> {
    let model = model(|_| Turn::text("Done."))?;
    let world = World::with_model(&(program(&[])? + CHECKED), model)?;
    let exchange = world.open("other", Mode::Auto).await?;
    let file = world.folder().join("a.txt");
    for (task, is_due) in [("say hello".to_owned(), false), (format!("change {} x", file.display()), true)] {
        let seen = tell(&exchange, &task).await?;
        assert_eq!((seen.outcome()?, is_checked(seen.events.iter())), (&done(), is_due), "{task}");
    }
    assert_eq!(world.model.asked().iter().filter(|asked| is_judge(asked)).count(), 1);
    Ok(())
}
