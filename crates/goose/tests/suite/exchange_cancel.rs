//! Stopping in the middle of anything, and going on afterwards.

use std::time::{Duration, Instant};

use futures::StreamExt as _;
use goose::{
    exchange::{Event, Outcome, Reply},
    session::{Conversation, Step},
};
use goose_test_support::model_server::{ModelServer, Turn, Wire};
use serde_json::json;

use crate::{
    exchange_support::{Stage, WIRES, all, done, exchange, lines, outcome, problem, reopened, until_event},
    support::bounded,
};

/// Time limit for a cancellation on a busy machine.
const A_MOMENT: Duration = Duration::from_secs(5);

async fn cancelled(reply: Reply) -> anyhow::Result<Vec<Event>> {
    let begin = Instant::now();
    reply.cancel();
    let events = bounded(all(reply)).await??;
    assert_eq!(outcome(&events)?, &Outcome::Cancelled);
    assert!(begin.elapsed() < A_MOMENT, "{:?}", begin.elapsed());
    Ok(events)
}

/// Cancelled in the middle of a text. What was read stays, and the next message goes on from it.
#[tokio::test]
async fn a_cancel_while_the_model_speaks_keeps_what_was_read() -> anyhow::Result<()> {
    for wire in WIRES {
        let silent = Turn::text("Once upon ").and_text("a time").silent_after(4);
        let stage = Stage::over(wire, [silent, Turn::text("The end.")]).await?;
        let mut reply = stage.exchange.reply_to("Tell me a story");
        until_event(&mut reply, |event| matches!(event, Event::Text(_))).await?;
        cancelled(reply).await?;
        assert!(stage.exchange.messages()[1].text().starts_with("Once upon"), "{wire:?}");
        assert!(matches!(stage.steps().await?.last(), Some(Step::Interrupted { .. })), "{wire:?}");
        let events = stage.say("Go on").await?;
        assert_eq!(outcome(&events)?, &done(), "{wire:?}");
        assert_eq!(problem(&stage.exchange.messages()), None, "{wire:?}");
    }
    Ok(())
}

/// Cancelled while tools run. Each call has a result, stored and told.
#[tokio::test]
async fn a_cancel_while_tools_run_gives_every_call_a_result() -> anyhow::Result<()> {
    for wire in WIRES {
        let calls = Turn::call("server__stuck", json!({}))
            .and_call("server__echo", json!({"text": "quick"}))
            .and_call("server__sleep", json!({"seconds": 600}));
        let stage = Stage::over(wire, [calls, Turn::text("Fine.")]).await?;
        stage.add_server(&["--hang", "stuck"]).await?;
        let mut reply = stage.exchange.reply_to("Work");
        let is_quick =
            |event: &Event| matches!(event, Event::ToolFinished { name, .. } if name == "server__echo");
        until_event(&mut reply, is_quick).await?;
        let events = cancelled(reply).await?;
        let ended: Vec<String> = lines(&events)
            .into_iter()
            .filter(|line| line.contains("Cancelled: Cancelled by the user"))
            .collect();
        assert_eq!(ended.len(), 2, "{wire:?}: {events:?}");
        let results =
            stage.steps().await?.iter().filter(|step| matches!(step, Step::ToolResult { .. })).count();
        assert_eq!(results, 3, "{wire:?}");
        assert_eq!(outcome(&stage.say("Go on").await?)?, &done(), "{wire:?}");
        let results = stage.results_in(1);
        assert!(
            results[0].contains("Cancelled by the user") && results[1] == "quick",
            "{wire:?}: {results:?}"
        );
        assert_eq!(problem(&stage.exchange.messages()), None, "{wire:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_cancelled_reply_may_be_dropped_and_the_next_one_waits_for_its_end() -> anyhow::Result<()> {
    let calls = Turn::call("server__stuck", json!({}));
    let stage = Stage::new([calls, Turn::text("Fine.")]).await?;
    stage.add_server(&["--hang", "stuck"]).await?;
    let mut reply = stage.exchange.reply_to("Work");
    until_event(&mut reply, |event| matches!(event, Event::ToolStarted { .. })).await?;
    stage.exchange.cancel();
    drop(reply);
    let events = stage.say("Never mind").await?;
    assert_eq!(outcome(&events)?, &done());
    assert_eq!(problem(&stage.exchange.messages()), None);
    Ok(())
}

/// A reader that goes away neither stops nor cancels the run: it goes on to its end and is stored.
#[tokio::test]
async fn a_reply_outlives_its_reader() -> anyhow::Result<()> {
    let turn = Turn::text("One ").and_call("server__echo", json!({"text": "quick"}));
    let stage = Stage::new([turn, Turn::text("two.")]).await?;
    stage.add_server(&[]).await?;
    let mut reply = stage.exchange.reply_to("Count");
    until_event(&mut reply, |event| matches!(event, Event::Text(_))).await?;
    let mut rest = stage.exchange.subscribe(None);
    drop(reply);
    let mut last = None;
    while !matches!(last, Some(Event::Finished(_))) {
        last = bounded(rest.next()).await?.map(|record| record.event.clone());
    }
    assert_eq!(last, Some(Event::Finished(done())));
    assert!(matches!(stage.steps().await?.last(), Some(Step::ReplyEnded { .. })));
    assert_eq!(stage.results_in(1), ["quick"]);
    Ok(())
}

/// Several readers see the same records, and one that comes in the middle of an answer finds its text joined.
#[tokio::test]
async fn a_second_reader_follows_the_same_reply() -> anyhow::Result<()> {
    let silent = Turn::text("Once ").and_text("upon ").and_text("a time").silent_after(5);
    let stage = Stage::new([silent]).await?;
    let mut reply = stage.exchange.reply_to("Tell me a story");
    let mut first = Vec::new();
    while !matches!(first.last(), Some(Event::Text(text)) if text.contains("upon")) {
        first.extend(bounded(reply.next()).await?);
    }
    let mut second = stage.exchange.subscribe(None);
    let begun = bounded(second.next()).await?.map(|record| record.event.clone());
    assert_eq!(begun, Some(Event::Asking { turn: 1 }));
    let record = bounded(second.next()).await?;
    let text = record.as_ref().map(|record| record.event.clone());
    assert!(matches!(&text, Some(Event::Text(text)) if text.starts_with("Once upon ")), "{text:?}");
    assert_eq!(record.map(|record| record.session.clone()).as_ref(), Some(stage.exchange.session_id()));
    stage.exchange.cancel();
    let rest = all(reply).await?;
    let mut seen = Vec::new();
    while !matches!(seen.last(), Some(Event::Finished(_))) {
        seen.extend(bounded(second.next()).await?.map(|record| record.event.clone()));
    }
    assert_eq!(rest.last(), seen.last());
    Ok(())
}

#[tokio::test]
async fn a_cancel_before_anything_happened_is_one() -> anyhow::Result<()> {
    let stage = Stage::new([Turn::text("Hello.")]).await?;
    let reply = stage.exchange.reply_to("Hi");
    cancelled(reply).await?;
    assert_eq!(outcome(&stage.say("Hi again").await?)?, &done());
    Ok(())
}

/// A reader that does not read holds nothing up, and finds everything later, in few pieces.
#[tokio::test]
async fn a_slow_reader_stalls_nothing_and_misses_nothing() -> anyhow::Result<()> {
    let text = (0..1000).fold(Turn::empty(), |turn, n| turn.and_text(format!("{n} ")));
    let stage = Stage::new([text]).await?;
    let mut reply = stage.exchange.reply_to("Count");
    bounded(reply.next()).await?;
    let mut other = stage.exchange.subscribe(None);
    while !matches!(bounded(other.next()).await?.map(|record| record.event.clone()), Some(Event::Finished(_)))
    {
    }
    let is_stored = stage.steps().await?.iter().any(|step| matches!(step, Step::ReplyEnded { .. }));
    assert!(is_stored, "the reply went to its end unread");
    let events = all(reply).await?;
    assert_eq!(outcome(&events)?, &done());
    let texts: Vec<&str> = events
        .iter()
        .filter_map(|event| if let Event::Text(text) = event { Some(text.as_str()) } else { None })
        .collect();
    assert_eq!(texts.concat(), (0..1000).map(|n| format!("{n} ")).collect::<String>());
    assert!(texts.len() < 1000, "they are joined");
    Ok(())
}

/// Whoever leaves need not read on; everything is stored all the same.
#[tokio::test]
async fn an_exchange_closes_while_nobody_reads() -> anyhow::Result<()> {
    let text = (0..1000).fold(Turn::empty(), |turn, n| turn.and_text(format!("{n} ")));
    let stage = Stage::new([text.silent_after(500)]).await?;
    let mut reply = stage.exchange.reply_to("Count");
    until_event(&mut reply, |event| matches!(event, Event::Text(_))).await?;
    let begin = Instant::now();
    bounded(stage.exchange.close()).await?;
    assert!(begin.elapsed() < A_MOMENT, "{:?}", begin.elapsed());
    assert!(matches!(stage.steps().await?.last(), Some(Step::Interrupted { .. })));
    let events = all(reply).await?;
    assert_eq!(outcome(&events)?, &Outcome::Cancelled);
    Ok(())
}

/// Wherever the log ends, the session opens again with a valid history, is marked, and goes on.
#[tokio::test]
async fn wherever_the_log_ends_the_session_goes_on() -> anyhow::Result<()> {
    let calls = Turn::text("I look.")
        .and_call("server__echo", json!({"text": "one"}))
        .and_call("server__echo", json!({"text": "two"}));
    let stage = Stage::new([calls, Turn::text("Done.")]).await?;
    stage.add_server(&[]).await?;
    stage.say("Work").await?;
    let whole = stage.steps().await?.len() as u64;
    assert!(whole >= 7, "a message, a cost, an answer, two results, a cost, an answer, an end");
    for end in 1..=whole {
        let forked = stage.store.fork(stage.exchange.session_id(), Some(end)).await?;
        let id = forked.id().clone();
        drop(forked);
        let opened = stage.store.open_session(&id).await?;
        let steps: Vec<Step> = opened.steps.iter().map(|stored| stored.step.clone()).collect();
        let model = ModelServer::scripted([Turn::text("I go on.")])?;
        let resumed = exchange(&stage.world, &model, Wire::Anthropic, opened, |builder| builder).await?;
        let events = all(resumed.reply_to("Go on")).await?;
        assert_eq!(outcome(&events)?, &done(), "after {end} steps");
        assert_eq!(problem(&resumed.messages()), None, "after {end} steps");
        let after: Vec<Step> =
            stage.store.steps(&id).await?.steps.into_iter().map(|stored| stored.step).collect();
        assert_eq!(after[..steps.len()], steps[..], "nothing is rewritten");
        let is_marked = after.iter().any(|step| matches!(step, Step::Interrupted { .. }));
        assert_eq!(is_marked, end < whole, "after {end} steps: {after:?}");
        // What was going on is what a restart would make of it.
        assert_eq!(Conversation::from_steps(after).messages(), resumed.messages(), "after {end} steps");
    }
    Ok(())
}

/// Two exchanges on one session: the second writer is refused, and says why.
#[tokio::test]
async fn a_session_that_somebody_else_writes_is_not_written() -> anyhow::Result<()> {
    let stage = Stage::new([Turn::text("One."), Turn::text("Three.")]).await?;
    stage.say("first").await?;
    let model = ModelServer::scripted([Turn::text("Two.")])?;
    let opened = reopened(&stage).await?;
    let other = exchange(&stage.world, &model, Wire::Chat, opened, |builder| builder).await?;
    assert_eq!(outcome(&all(other.reply_to("second")).await?)?, &done());
    let events = stage.say("third").await?;
    assert!(
        matches!(outcome(&events)?, Outcome::Failed(failure) if failure.message.contains("another goose")),
        "{events:?}"
    );
    Ok(())
}
