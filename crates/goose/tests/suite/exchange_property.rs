//! Whatever a model, its service, the tools and the person do: the history stays valid, in memory, in the store after
//! every step, and in every request.

use std::{sync::Arc, time::Duration};

use futures::StreamExt as _;
use goose::{
    exchange::{Event, Reply},
    session::{Conversation, Step},
};
use goose_extension::prelude::*;
use goose_providers::RetryPolicy;
use goose_test_support::model_server::{Asked, ModelServer, Turn, Wire};
use proptest::{prelude::*, test_runner::Config};

use crate::{
    exchange_support::{Stage, problem},
    support::bounded,
};

/// A tool for everything that can become of a call.
struct Fates;

#[extension(name = "fates", description = "Ends in many ways")]
impl Fates {
    /// Ends in the way that is asked for.
    #[tool]
    async fn meet(&self, fate: String, context: &CallContext) -> ToolResult<String> {
        match fate.as_str() {
            "fail" => Err(ToolError::execution("It failed.")),
            "panic" => Ok(["it panicked"][std::hint::black_box(1)].to_owned()),
            "hang" => {
                context.cancelled().await;
                std::future::pending().await
            }
            other => Ok(format!("It went {other}.")),
        }
    }
}

/// A turn of the model.
#[derive(Debug, Clone)]
enum Move {
    Say,
    Nothing,
    Call(Vec<&'static str>),
    Unknown,
    Malformed,
    SameIds,
    Cut(usize),
    Status(u16),
    Length,
    Silence,
}

fn any_move() -> impl Strategy<Value = Move> {
    let fates = prop::sample::select(vec!["well", "fail", "panic", "hang", "well"]);
    prop_oneof![
        2 => Just(Move::Say),
        1 => Just(Move::Nothing),
        4 => prop::collection::vec(fates, 1..4).prop_map(Move::Call),
        1 => Just(Move::Unknown),
        1 => Just(Move::Malformed),
        1 => Just(Move::SameIds),
        2 => (0_usize..8).prop_map(Move::Cut),
        1 => prop::sample::select(vec![500_u16, 429, 400]).prop_map(Move::Status),
        1 => Just(Move::Length),
        1 => Just(Move::Silence),
    ]
}

fn meet(turn: Turn, fate: &str) -> Turn {
    turn.and_call("fates__meet", json!({ "fate": fate }))
}

fn turn(it: &Move) -> Turn {
    match it {
        Move::Say => Turn::text("Said. ").and_text("Done."),
        Move::Nothing => Turn::empty(),
        Move::Call(fates) => fates.iter().fold(Turn::text("I call. "), |turn, fate| meet(turn, fate)),
        Move::Unknown => Turn::call("nobody__knows", json!({})),
        Move::Malformed => Turn::empty().and_raw_call("fates__meet", r#"{"fate": "#),
        Move::SameIds => (0..2).fold(Turn::empty(), |turn, _| {
            turn.and_call_with_id("same", "fates__meet", r#"{"fate": "well"}"#)
        }),
        Move::Cut(frames) => meet(Turn::text("I call. "), "well").cut_after(*frames),
        Move::Status(status) => Turn::status(*status, "trouble"),
        Move::Length => Turn::text("And so").stopping_with("length"),
        Move::Silence => Turn::text("Wait. ").silent_after(2),
    }
}

/// Reads a reply, cancels it after so many events, or as soon as nothing more comes by itself.
async fn watch(mut reply: Reply, cancel_after: usize) -> anyhow::Result<()> {
    let mut seen = 0;
    loop {
        let next = tokio::time::timeout(Duration::from_millis(400), reply.next()).await;
        match next {
            Ok(None) => return Ok(()),
            Ok(Some(_)) => seen += 1,
            Err(_) => reply.cancel(),
        }
        if seen == cancel_after {
            reply.cancel();
        }
    }
}

/// Each call of a request has exactly one result, right after it.
fn request_problem(asked: &Asked) -> Option<String> {
    let messages = asked.body["messages"].as_array().cloned().unwrap_or_default();
    let ids = |list: &Value| -> Vec<String> {
        let items = list.as_array().cloned().unwrap_or_default();
        items.iter().map(|item| item["id"].as_str().unwrap_or_default().to_owned()).collect()
    };
    for (index, message) in messages.iter().enumerate() {
        let called = ids(&message["tool_calls"]);
        let answered: Vec<String> = messages[index + 1..]
            .iter()
            .take_while(|message| message["role"] == "tool")
            .map(|message| message["tool_call_id"].as_str().unwrap_or_default().to_owned())
            .collect();
        if message["role"] == "assistant" && called != answered {
            return Some(format!("message {index} calls {called:?}, answered is {answered:?}"));
        }
    }
    None
}

async fn play(moves: Vec<Vec<Move>>, cancels: Vec<usize>) -> anyhow::Result<()> {
    let script: Vec<Turn> = moves.iter().flatten().map(turn).collect();
    let mut script = script.into_iter();
    let model = ModelServer::answering(move |_| script.next().unwrap_or_else(|| Turn::text("The end.")))?;
    let retry = RetryPolicy { retries: 2, base: Duration::from_millis(1), ..RetryPolicy::default() };
    let stage = Stage::with(Wire::Chat, model, |builder| builder.with_retry(retry).with_max_turns(6)).await?;
    stage.exchange.extensions().add_extension(Arc::new(Fates))?;
    for (round, cancel_after) in cancels.iter().enumerate() {
        bounded(watch(stage.exchange.reply_to(format!("round {round}")), *cancel_after)).await??;
        anyhow::ensure!(problem(&stage.exchange.messages()).is_none(), "{:?}", stage.exchange.messages());
    }
    let steps = stage.steps().await?;
    for end in 0..=steps.len() {
        let mut conversation = Conversation::from_steps(steps[..end].iter().cloned());
        conversation.apply(Step::Interrupted { reason: "killed".to_owned() });
        let found = problem(conversation.messages());
        anyhow::ensure!(found.is_none(), "after {end} steps: {found:?} {steps:?}");
    }
    let whole = Conversation::from_steps(steps);
    anyhow::ensure!(whole.messages() == stage.exchange.messages(), "what is stored is what is there");
    for asked in stage.model.asked() {
        let found = request_problem(&asked);
        anyhow::ensure!(found.is_none(), "{found:?} in {}", asked.body);
    }
    Ok(())
}

proptest! {
    #![proptest_config(Config { cases: 24, max_shrink_iters: 40, ..Config::default() })]

    /// Histories stay valid under any mixture of broken streams, malformed calls, crashes and cancels.
    #[test]
    fn the_history_is_valid_whatever_happens(
        moves in prop::collection::vec(prop::collection::vec(any_move(), 1..4), 1..4),
        cancels in prop::collection::vec(0_usize..24, 1..4),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let played = runtime.block_on(play(moves, cancels));
        prop_assert!(played.is_ok(), "{:?}", played);
    }
}

/// A reply that nobody cancels ends by itself, whatever the tools do.
#[tokio::test]
async fn every_event_is_told_even_to_a_late_reader() -> anyhow::Result<()> {
    let stage = Stage::new([meet(meet(Turn::empty(), "panic"), "fail"), Turn::text("Done.")]).await?;
    stage.exchange.extensions().add_extension(Arc::new(Fates))?;
    let mut reply = stage.exchange.reply_to("Go");
    let mut finished = 0;
    while let Some(event) = bounded(reply.next()).await? {
        finished += usize::from(matches!(event, Event::ToolFinished { .. }));
    }
    assert_eq!(finished, 2);
    Ok(())
}
