//! The loop, as a UX sees it: over every wire, with real tools, stored before shown.

use std::sync::Arc;

use anyhow::{Context as _, ensure};
use futures::StreamExt as _;
use goose::{
    exchange::{Event, Outcome},
    session::Step,
};
use goose_extension::prelude::*;
use goose_providers::model_info;
use goose_test_support::model_server::{ModelServer, Turn};
use tokio::sync::Barrier;

use crate::{
    exchange_support::{Stage, WIRES, all, done, lines, outcome, problem},
    support::bounded,
};

#[tokio::test]
async fn a_text_is_streamed_stored_and_told() -> anyhow::Result<()> {
    for wire in WIRES {
        let stage = Stage::over(wire, [Turn::text("Hello, ").and_text("Ada.")]).await?;
        let events = stage.say("Hi").await?;
        assert_eq!(
            lines(&events),
            [
                "asking 1",
                "text Hello, ",
                "text Ada.",
                "answered Hello, Ada.",
                "end Done { structured: None }"
            ],
            "{wire:?}"
        );
        let kinds: Vec<&str> = stage.steps().await?.iter().map(Step::kind).collect();
        assert_eq!(kinds, ["message", "cost", "message", "reply_ended"], "{wire:?}");
        let cost = events.iter().find_map(|event| match event {
            Event::Cost(cost) => Some(*cost),
            _ => None,
        });
        let cost = cost.context("the cost is told")?;
        assert_eq!((cost.last.input, cost.last.output), (100, 10), "{wire:?}");
        let prices = model_info("gpt-4o").prices.context("this model has a price")?;
        assert_eq!(cost.dollars, Some(cost.session.cost(&prices)), "{wire:?}");
        assert_eq!((cost.context_used, cost.context_limit), (110, 100_000), "{wire:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_tool_runs_and_the_model_reads_its_result() -> anyhow::Result<()> {
    for wire in WIRES {
        let call = Turn::call("server__echo", json!({"text": "quack"}));
        let stage = Stage::over(wire, [call, Turn::text("It said quack.")]).await?;
        stage.add_server(&[]).await?;
        let events = stage.say("Quack").await?;
        assert_eq!(
            lines(&events),
            [
                "asking 1",
                "answered [server__echo]",
                "started server__echo",
                "finished server__echo Ran: quack",
                "asking 2",
                "text It said quack.",
                "answered It said quack.",
                "end Done { structured: None }"
            ],
            "{wire:?}"
        );
        assert_eq!(stage.results_in(1), ["quack"], "{wire:?}");
        assert_eq!(problem(&stage.exchange.messages()), None);
    }
    Ok(())
}

#[tokio::test]
async fn twenty_turns_and_an_answer() -> anyhow::Result<()> {
    for wire in WIRES {
        let calls = (0..20).map(|n| Turn::call("server__echo", json!({"text": format!("quack {n}")})));
        let stage = Stage::over(wire, calls.chain([Turn::text("Done.")])).await?;
        stage.add_server(&[]).await?;
        let events = stage.say("Quack").await?;
        assert_eq!(outcome(&events)?, &done(), "{wire:?}");
        let results = stage.results_in(20);
        assert_eq!(results.len(), 20, "{wire:?}");
        assert_eq!(results.last().map(String::as_str), Some("quack 19"), "{wire:?}");
        // The ids of the script are all alike; in the conversation they are not.
        let ids: std::collections::HashSet<String> =
            stage.model.asked()[20].tool_results().into_iter().map(|(id, _)| id).collect();
        assert_eq!(ids.len(), 20, "{wire:?}");
    }
    Ok(())
}

/// A tool that ends only when several of it run at once.
struct Meeting(Arc<Barrier>);

#[extension(name = "meeting", description = "Waits for the others")]
impl Meeting {
    /// Ends when all have come.
    #[tool]
    async fn join(&self, name: String) -> ToolResult<String> {
        self.0.wait().await;
        Ok(format!("{name} met the others"))
    }
}

#[tokio::test]
async fn the_calls_of_one_turn_run_side_by_side() -> anyhow::Result<()> {
    for wire in WIRES {
        let calls = ["a", "b", "c"]
            .iter()
            .fold(Turn::empty(), |turn, name| turn.and_call("meeting__join", json!({ "name": name })));
        let stage = Stage::over(wire, [calls, Turn::text("All met.")]).await?;
        stage.exchange.extensions().add_extension(Arc::new(Meeting(Arc::new(Barrier::new(3)))))?;
        let events = stage.say("Meet").await?;
        assert_eq!(outcome(&events)?, &done(), "{wire:?}");
        assert_eq!(
            stage.results_in(1),
            ["a met the others", "b met the others", "c met the others"],
            "the results stand in the order of the calls ({wire:?})"
        );
    }
    Ok(())
}

#[tokio::test]
async fn what_is_told_is_stored_before() -> anyhow::Result<()> {
    let call = Turn::text("I will look.").and_call("server__echo", json!({"text": "quack"}));
    let stage = Stage::new([call, Turn::text("Done.")]).await?;
    stage.add_server(&[]).await?;
    let mut reply = stage.exchange.reply_to("Look");
    while let Some(event) = bounded(reply.next()).await? {
        // A session is stored with its first step, and a slow server is reported before that.
        let steps = stage.steps().await.unwrap_or_default();
        let is_stored = match &event {
            Event::Asking { turn: 1 } => matches!(&steps[..], [Step::Message { .. }, ..]),
            Event::Answered(message) => steps
                .iter()
                .any(|step| matches!(step, Step::Message { message: stored } if stored == message.as_ref())),
            Event::ToolFinished { id, output, end, .. } => steps.iter().any(
                |step| matches!(step, Step::ToolResult { id: of, output: stored, end: how } if (of, stored, how) == (id, output, end)),
            ),
            Event::Cost(_) => steps.iter().any(|step| matches!(step, Step::Cost { .. })),
            Event::Finished(_) => matches!(steps.last(), Some(Step::ReplyEnded { .. })),
            _ => true,
        };
        ensure!(is_stored, "{event:?} is told but not stored: {steps:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_second_message_goes_on_from_the_first() -> anyhow::Result<()> {
    for wire in WIRES {
        let stage = Stage::over(wire, [Turn::text("One."), Turn::text("Two.")]).await?;
        stage.say("first").await?;
        stage.say("second").await?;
        assert_eq!(stage.exchange.messages().len(), 4);
        let asked = stage.model.asked();
        assert_eq!(asked[1].last_user_text().as_deref(), Some("second"), "{wire:?}");
        assert!(asked[1].body.to_string().contains("One."), "{wire:?}");
    }
    Ok(())
}

#[tokio::test]
async fn one_reply_at_a_time() -> anyhow::Result<()> {
    let stage = Stage::new([Turn::text("slow").silent_after(2)]).await?;
    let mut first = stage.exchange.reply_to("one");
    bounded(first.next()).await?;
    let second = all(stage.exchange.reply_to("two")).await?;
    assert!(matches!(outcome(&second)?, Outcome::Failed(failure) if failure.message.contains("already")));
    Ok(())
}

/// A tool that looks at the conversation, says what it does, and asks the model.
struct Curious;

#[extension(name = "curious", description = "Looks around")]
impl Curious {
    /// Looks.
    #[tool]
    async fn look(&self, context: &CallContext) -> ToolResult<String> {
        let last = context.exchange_view().processor.messages.last();
        let calls = last.map(|message| message.call_ids().count()).unwrap_or_default();
        context.log("looking");
        context.progress(1.0, None, "half way");
        let answer = context.ask_model("weather", "How is the weather?").await?;
        Ok(format!("{calls} call, {} and {answer}", context.session_id().unwrap_or("no session")))
    }
}

#[tokio::test]
async fn tools_see_the_conversation_and_are_heard() -> anyhow::Result<()> {
    let model = ModelServer::answering(|asked| match asked.tool_results().len() {
        _ if asked.tool_names().is_empty() => Turn::text("fine weather").costing(7, 3),
        0 => Turn::call("curious__look", json!({})),
        _ => Turn::text("Done."),
    })?;
    let stage = Stage::with(goose_test_support::model_server::Wire::Chat, model, |builder| builder).await?;
    stage.exchange.extensions().add_extension(Arc::new(Curious))?;
    let events = stage.say("Look").await?;
    let expected = format!("1 call, {} and fine weather", stage.exchange.session_id());
    assert!(lines(&events).contains(&"log looking".to_owned()), "{events:?}");
    assert!(lines(&events).contains(&"progress half way".to_owned()), "{events:?}");
    assert_eq!(stage.results_in(2), [expected]);
    // What the tool spent is in the books.
    let spent: u64 = stage
        .steps()
        .await?
        .iter()
        .filter_map(|step| match step {
            Step::Cost { usage, .. } => Some(usage.input),
            _ => None,
        })
        .sum();
    assert_eq!(spent, 207);
    Ok(())
}
