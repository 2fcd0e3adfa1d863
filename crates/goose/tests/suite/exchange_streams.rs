//! A model that does not answer, or breaks off: asked again, with nothing said twice and nothing run twice.

use std::time::{Duration, Instant};

use goose::{
    agent_manager::OpenOptions,
    config::Profile,
    exchange::{Event, Outcome},
    session::Session,
};
use goose_providers::{
    ModelInfo, Provider, ProviderResult, ReplyEvent, ReplyStream, Request, RetryPolicy, model_info,
};
use goose_test_support::model_server::{ModelServer, Turn, Wire};
use serde_json::json;

use crate::{
    exchange_support::{Stage, WIRES, all, done, lines, outcome, problem, read, until_event},
    support::{World, bounded},
};

/// The text of a stream that breaks off is there once, for the person and in the history.
#[tokio::test]
async fn a_stream_cut_in_the_text_is_retried_with_nothing_twice() -> anyhow::Result<()> {
    for wire in WIRES {
        let whole = || Turn::text("One, ").and_text("two, ").and_text("three.");
        for frames in 0..8 {
            let stage = Stage::over(wire, [whole().cut_after(frames), whole()]).await?;
            let events = stage.say("Count").await?;
            assert_eq!(outcome(&events)?, &done(), "{wire:?} cut after {frames}");
            assert_eq!(read(&events), "One, two, three.", "{wire:?} cut after {frames}: {events:?}");
            let messages = stage.exchange.messages();
            assert_eq!(messages.len(), 2, "{wire:?} cut after {frames}");
            assert_eq!(messages[1].text(), "One, two, three.", "{wire:?} cut after {frames}");
            let restarted = events.iter().any(|event| matches!(event, Event::Restarted));
            assert!(!restarted, "the same text is not shown anew ({wire:?} cut after {frames})");
        }
    }
    Ok(())
}

#[tokio::test]
async fn another_answer_after_a_cut_is_shown_anew() -> anyhow::Result<()> {
    for wire in WIRES {
        let cut = Turn::text("One, ").and_text("two").and_text("!").cut_after(5);
        let stage = Stage::over(wire, [cut, Turn::text("Nobody knows.")]).await?;
        let events = stage.say("Count").await?;
        assert_eq!(read(&events), "Nobody knows.", "{wire:?}: {events:?}");
        assert_eq!(stage.exchange.messages()[1].text(), "Nobody knows.", "{wire:?}");
    }
    Ok(())
}

/// Wherever a stream with a call breaks off, the tool runs once.
#[tokio::test]
async fn a_stream_cut_after_a_call_runs_the_tool_once() -> anyhow::Result<()> {
    for wire in WIRES {
        for frames in 0..8 {
            let call = || Turn::text("Counting.").and_call("server__count", json!({}));
            let turns = [call().cut_after(frames), call(), Turn::text("Counted.")];
            let stage = Stage::over(wire, turns).await?;
            stage.add_server(&[]).await?;
            let events = stage.say("Count").await?;
            let count = |is_it: fn(&Event) -> bool| events.iter().filter(|event| is_it(event)).count();
            let retried = count(|event| matches!(event, Event::Retrying { .. }));
            let started = count(|event| matches!(event, Event::ToolStarted { .. }));
            assert_eq!(outcome(&events)?, &done(), "{wire:?} cut after {frames}");
            // Each complete answer runs the tool once; a stream that breaks off after its end is one.
            assert_eq!(started, 2 - retried, "{wire:?} cut after {frames}: {events:?}");
            let last = stage.results_in(stage.model.asked().len() - 1);
            assert_eq!(last.last(), Some(&started.to_string()), "{wire:?} cut after {frames}");
            assert_eq!(problem(&stage.exchange.messages()), None, "{wire:?} cut after {frames}");
        }
    }
    Ok(())
}

/// A failure on an open socket is noticed at once, and the model asked again.
#[tokio::test]
async fn a_failure_event_on_an_open_socket_is_retried_at_once() -> anyhow::Result<()> {
    for wire in WIRES {
        let failing = Turn::text("One").failing_after(2, "overloaded");
        let stage = Stage::over(wire, [failing, Turn::text("One more.")]).await?;
        let begin = Instant::now();
        let events = stage.say("Count").await?;
        assert_eq!(outcome(&events)?, &done(), "{wire:?}: {events:?}");
        assert_eq!(read(&events), "One more.", "{wire:?}");
        assert!(begin.elapsed() < Duration::from_secs(20), "{wire:?}");
    }
    Ok(())
}

/// What may pass is retried and told, what will not is an end with its reason.
#[tokio::test]
async fn errors_are_retried_by_their_class() -> anyhow::Result<()> {
    for wire in WIRES {
        for status in [500, 502, 503, 529, 429] {
            let stage = Stage::over(wire, [Turn::status(status, "busy"), Turn::text("Here.")]).await?;
            let events = stage.say("Hello").await?;
            assert_eq!(outcome(&events)?, &done(), "{wire:?} {status}: {events:?}");
            assert!(lines(&events).contains(&"retrying 2".to_owned()), "{wire:?} {status}: {events:?}");
        }
        for status in [400, 401, 402, 403, 404] {
            let stage = Stage::over(wire, [Turn::status(status, "no way"), Turn::text("Here.")]).await?;
            let events = stage.say("Hello").await?;
            let Outcome::Failed(failure) = outcome(&events)? else {
                panic!("{wire:?} {status}: {events:?}");
            };
            assert!(failure.message.contains("no way"), "{failure:?}");
            assert_eq!(stage.model.asked().len(), 1, "{wire:?} {status} is not retried");
            // What failed leaves a history that the next message goes on from.
            assert_eq!(outcome(&stage.say("Again").await?)?, &done(), "{wire:?} {status}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn tries_come_to_an_end() -> anyhow::Result<()> {
    let stage =
        Stage::with(Wire::Chat, ModelServer::answering(|_| Turn::status(503, "down for good"))?, |builder| {
            let base = Duration::from_millis(1);
            builder.with_retry(RetryPolicy { retries: 2, base, ..RetryPolicy::default() })
        })
        .await?;
    let events = stage.say("Hello").await?;
    assert!(
        matches!(outcome(&events)?, Outcome::Failed(failure) if failure.message.contains("down for good"))
    );
    assert_eq!(stage.model.asked().len(), 3);
    Ok(())
}

/// Nobody listens there; the reason is shown, and cancelling works while goose waits.
#[tokio::test]
async fn cancel_works_while_waiting_to_try_again() -> anyhow::Result<()> {
    let slow = RetryPolicy { base: Duration::from_secs(3600), ..RetryPolicy::default() };
    let model = ModelServer::answering(|_| Turn::status(429, "later").with_header("retry-after", "30"))?;
    let stage = Stage::with(Wire::Chat, model, |builder| builder.with_retry(slow)).await?;
    let mut reply = stage.exchange.reply_to("Hello");
    until_event(&mut reply, |event| matches!(event, Event::Retrying { .. })).await?;
    let begin = Instant::now();
    reply.cancel();
    let events = bounded(all(reply)).await??;
    assert_eq!(outcome(&events)?, &Outcome::Cancelled);
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    Ok(())
}

#[tokio::test]
async fn thoughts_are_shown_and_kept() -> anyhow::Result<()> {
    for wire in WIRES {
        let thinking = Turn::thinking("Hm, ").and_text("Yes.");
        let stage = Stage::over(wire, [thinking, Turn::text("Sure.")]).await?;
        let events = stage.say("Well?").await?;
        assert!(lines(&events).contains(&"thinking Hm, ".to_owned()), "{wire:?}: {events:?}");
        assert_eq!(stage.exchange.messages()[1].text(), "Yes.", "{wire:?}");
        assert_eq!(outcome(&stage.say("Sure?").await?)?, &done(), "{wire:?}");
    }
    Ok(())
}

/// The shown part of an interrupted answer stays in the conversation.
#[tokio::test]
async fn what_was_read_of_a_failed_answer_is_kept() -> anyhow::Result<()> {
    let cut = || Turn::text("Once upon ").and_text("a time").cut_after(4);
    let model = ModelServer::answering(move |_| cut())?;
    let stage = Stage::with(Wire::Anthropic, model, |builder| {
        let base = Duration::from_millis(1);
        builder.with_retry(RetryPolicy { retries: 1, base, ..RetryPolicy::default() })
    })
    .await?;
    let events = stage.say("A story").await?;
    assert!(matches!(outcome(&events)?, Outcome::Failed(_)), "{events:?}");
    assert!(stage.exchange.messages()[1].text().starts_with("Once upon"), "{:?}", stage.exchange.messages());
    Ok(())
}

/// A model that never comes to an end.
struct Endless(ModelInfo);

#[async_trait::async_trait]
impl Provider for Endless {
    fn name(&self) -> &str {
        "endless"
    }

    fn model(&self) -> &ModelInfo {
        &self.0
    }

    async fn stream(&self, _: Request<'_>) -> ProviderResult<ReplyStream> {
        Ok(Box::pin(futures::stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_secs(60)).await;
            Some((Ok(ReplyEvent::Text("more ".to_owned())), ()))
        })))
    }
}

/// Without a user who can cancel it, an answer has a limit and is not requested again.
#[tokio::test(start_paused = true)]
async fn an_answer_without_end_is_ended_where_nobody_is_there() -> anyhow::Result<()> {
    let world = World::new()?;
    let options = OpenOptions::new(Profile::default())
        .with_provider(std::sync::Arc::new(Endless(model_info("gpt-4o"))))
        .with_session(Session::unsaved())
        .with_working_dir(world.file(""));
    let exchange = world.agents()?.open(options).await?;
    let begun = tokio::time::Instant::now();
    let mut reply = exchange.reply_to("Count");
    let mut events = Vec::new();
    while let Some(event) = futures::StreamExt::next(&mut reply).await {
        events.push(event);
    }
    let Outcome::Failed(failure) = outcome(&events)? else { anyhow::bail!("it did not fail: {events:?}") };
    let failure = format!("{failure:?}");
    anyhow::ensure!(failure.contains("did not end within 120 minutes"), "{failure}");
    anyhow::ensure!(begun.elapsed() < Duration::from_secs(3 * 60 * 60), "{:?}", begun.elapsed());
    Ok(())
}
