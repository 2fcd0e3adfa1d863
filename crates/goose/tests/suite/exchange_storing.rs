//! Steps that cannot be stored: the user is told, nothing counts as stored that is not, and nothing is lost once the
//! store works again.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use anyhow::ensure;
use goose::{
    exchange::{Event, Outcome},
    session::Step,
};
use goose_extension::prelude::*;
use goose_test_support::model_server::Turn;
use sqlx::Executor as _;

use crate::{
    exchange_support::{Stage, done, lines, outcome, problem},
    session_support::raw,
};

/// A tool that says how often it has run.
#[derive(Default)]
struct Counter(AtomicU32);

#[extension(name = "counter", description = "Counts")]
impl Counter {
    /// Counts.
    #[tool]
    async fn count(&self) -> ToolResult<String> {
        Ok((self.0.fetch_add(1, Ordering::Relaxed) + 1).to_string())
    }
}

/// A stage whose database refuses some steps, as a full disk does: each commit fails as a whole, when it is made.
async fn refusing(
    steps: &str,
    turns: impl IntoIterator<Item = Turn>,
) -> anyhow::Result<(Stage, Arc<Counter>)> {
    let stage = Stage::new(turns).await?;
    let counter = Arc::new(Counter::default());
    stage.exchange.extensions().add_extension(counter.clone())?;
    // The first reply creates the tables.
    assert_eq!(outcome(&stage.say("Hello").await?)?, &done());
    let trigger = format!(
        "CREATE TRIGGER refuse BEFORE INSERT ON steps WHEN {steps} BEGIN SELECT RAISE(ABORT, 'no room'); END"
    );
    raw(&stage.world.file("sessions.db")).await?.execute(sqlx::AssertSqlSafe(trigger)).await?;
    Ok((stage, counter))
}

async fn accept_all(stage: &Stage) -> anyhow::Result<()> {
    raw(&stage.world.file("sessions.db")).await?.execute("DROP TRIGGER refuse").await?;
    Ok(())
}

/// The stored steps in short, without costs.
async fn stored(stage: &Stage) -> anyhow::Result<Vec<String>> {
    let steps = stage.steps().await?;
    let lines = steps.iter().filter_map(|step| match step {
        Step::Message { message } if message.call_ids().count() > 0 => Some("call".to_owned()),
        Step::Message { message } => Some(message.text()),
        Step::ToolResult { output, .. } => Some(format!("result {}", output.as_text().trim())),
        Step::Cost { .. } => None,
        step => Some(step.kind().to_owned()),
    });
    Ok(lines.collect())
}

fn is_told(events: &[Event]) -> anyhow::Result<()> {
    let Outcome::Failed(failure) = outcome(events)? else { anyhow::bail!("{:?}", lines(events)) };
    ensure!(
        failure.message.contains("could not be written") && failure.message.contains("no room"),
        "{failure:?}"
    );
    Ok(())
}

fn count() -> Turn {
    Turn::call("counter__count", json!({}))
}

#[tokio::test]
async fn a_call_whose_answer_cannot_be_stored_does_not_begin() -> anyhow::Result<()> {
    let turns = [Turn::text("Hi."), count(), Turn::text("Then not.")];
    let (stage, counter) =
        refusing("NEW.kind = 'message' AND NEW.body LIKE '%counter__count%'", turns).await?;
    let before = stored(&stage).await?;

    let events = stage.say("Count").await?;
    is_told(&events)?;
    let claims =
        |event: &&Event| matches!(event, Event::Answered(_) | Event::ToolStarted { .. } | Event::Cost(_));
    assert_eq!(events.iter().find(claims), None);
    assert_eq!(counter.0.load(Ordering::Relaxed), 0, "it was run");
    assert_eq!(stored(&stage).await?, [before.clone(), vec!["Count".into()]].concat());

    accept_all(&stage).await?;
    assert_eq!(outcome(&stage.say("Go on").await?)?, &done());
    assert_eq!(counter.0.load(Ordering::Relaxed), 0, "it was run later");
    assert_eq!(problem(&stage.exchange.messages()), None);
    let after = stored(&stage).await?;
    assert_eq!(after[before.len()..before.len() + 2], ["Count", "call"]);
    assert_eq!(after[after.len() - 3..], ["Go on", "Then not.", "reply_ended"]);
    Ok(())
}

/// The model is asked while the result is stored, so the failure is found after its next answer.
#[tokio::test]
async fn a_result_that_cannot_be_stored_is_not_shown_and_not_lost() -> anyhow::Result<()> {
    let turns = [Turn::text("Hi."), count(), Turn::text("It is one."), Turn::text("Still one.")];
    let (stage, counter) = refusing("NEW.kind = 'tool_result'", turns).await?;
    let before = stored(&stage).await?;

    let events = stage.say("Count").await?;
    is_told(&events)?;
    let shown = lines(&events);
    assert!(shown.iter().any(|line| line.starts_with("started counter__count")), "{shown:?}");
    assert!(
        !shown.iter().any(|line| line.starts_with("finished") || line.contains("answered It")),
        "{shown:?}"
    );
    assert_eq!(stored(&stage).await?[before.len()..], ["Count", "call"]);

    accept_all(&stage).await?;
    assert_eq!(outcome(&stage.say("Go on").await?)?, &done());
    let asked = stage.model.asked().len();
    assert_eq!(stage.results_in(asked - 1), ["1"]);
    assert_eq!(counter.0.load(Ordering::Relaxed), 1, "it was run again");
    assert_eq!(problem(&stage.exchange.messages()), None);
    let after = stored(&stage).await?;
    assert_eq!(after[before.len()..before.len() + 3], ["Count", "call", "result 1"]);
    assert_eq!(after[after.len() - 3..], ["Go on", "Still one.", "reply_ended"]);
    Ok(())
}
