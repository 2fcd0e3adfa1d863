//! An agent of another maker as one task of several, and the check of what it wrote.

use std::sync::Arc;

use anyhow::Context as _;
use goose::{
    agents::router::RoutedTask,
    exchange::{Event, EventRecord, Exchange},
    permission::Mode,
    session::TaskFinished,
};
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

/// A task of the agent of another maker, and one of our own beside it.
async fn both(exchange: &Exchange, foreign: &str) -> anyhow::Result<Vec<Arc<EventRecord>>> {
    let task = |id: &str, agent: &str, mode: &str, text: &str| RoutedTask {
        id: id.to_owned(),
        agent: agent.to_owned(),
        mode: mode.to_owned(),
        text: text.to_owned(),
        needs: Vec::new(),
    };
    let tasks =
        vec![task("1", "other", "main", foreign), task("2", "goose-agent", "specialist", "Do your part")];
    let mut reply = exchange.reply_to_tasks("Do all of it", tasks);
    let mut records = Vec::new();
    while let Some(record) = bounded(reply.next_record()).await? {
        records.push(record);
    }
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
    let exchange = world.open("goose-agent", Mode::Auto).await?;
    let at = |name: &str| world.folder().join(name).display().to_string();
    let foreign =
        format!("change {} theirs ;; touch {} ;; await {}", at("shared.txt"), at("written"), at("go"));
    let records = both(&exchange, &foreign).await?;
    assert_eq!(std::fs::read_to_string(at("shared.txt"))?, "theirs");
    let asked = world.model.asked();
    let results: Vec<String> = asked.iter().flat_map(|asked| asked.tool_results()).map(|it| it.1).collect();
    let refused = "task 1, which is still running, has changed";
    assert!(results.iter().any(|result| result.contains(refused)), "{results:?}");
    // It said nothing, and its work is not given to it again.
    assert_eq!(result(&records, "1")?, "(no text)");
    assert!(!records.iter().any(|record| matches!(&record.event, Event::TaskRetried { .. })));
    assert!(is_checked(records.iter().map(|record| &record.event)));
    exchange.close().await;
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
    let exchange = world.open("goose-agent", Mode::Auto).await?;
    let at = |name: &str| world.folder().join(name).display().to_string();
    let foreign =
        format!("await {} ;; change {} theirs ;; touch {}", at("written"), at("shared.txt"), at("go"));
    let records = both(&exchange, &foreign).await?;
    assert!(std::fs::read_to_string(at("shared.txt"))?.contains("ours"));
    assert_eq!(result(&records, "1")?, "refused");
    exchange.close().await;
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
