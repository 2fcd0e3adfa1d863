//! Outcomes of replies: every outcome is defined and visible.

use std::sync::Arc;

use goose::{
    agent_manager::OpenOptions,
    config::{Moderator, Profile, ProfileExtension},
    exchange::{Event, Exchange, Outcome},
    permission::{Mode, PermissionOptions, Permissions},
    session::{Session, Step},
};
use goose_extension::{Requirements, prelude::*};
use goose_test_support::model_server::{Asked, ModelServer, Turn, Wire};

use crate::{
    exchange_support::{Stage, WIRES, all, done, lines, outcome, problem, provider},
    support::World,
};

/// An empty reply, or one of thoughts alone, is asked for again, and in the end it is said.
#[tokio::test]
async fn nothing_is_asked_for_again_and_then_said() -> anyhow::Result<()> {
    for wire in WIRES {
        let turns = [Turn::empty(), Turn::thinking("hm"), Turn::text("Here.")];
        let stage = Stage::over(wire, turns).await?;
        let events = stage.say("Well?").await?;
        assert_eq!(outcome(&events)?, &done(), "{wire:?}: {events:?}");
        assert!(stage.model.asked()[1].last_user_text().is_some_and(|text| text.contains("empty")));

        let stage = Stage::over(wire, [Turn::empty(), Turn::empty(), Turn::empty()]).await?;
        let events = stage.say("Well?").await?;
        assert_eq!(outcome(&events)?, &Outcome::Empty, "{wire:?}: {events:?}");
        assert_eq!(stage.model.asked().len(), 3, "{wire:?}");
        assert_eq!(problem(&stage.exchange.messages()), None, "{wire:?}");
    }
    Ok(())
}

fn reasons(wire: Wire) -> (&'static str, &'static str) {
    match wire {
        Wire::Chat => ("length", "content_filter"),
        Wire::Responses => ("max_output_tokens", "content_filter"),
        Wire::Anthropic => ("max_tokens", "refusal"),
    }
}

/// Stopped by length or by a filter.
#[tokio::test]
async fn length_and_filter_are_ends_of_their_own() -> anyhow::Result<()> {
    for wire in WIRES {
        let (length, filter) = reasons(wire);
        let stage = Stage::over(wire, [Turn::text("It was a dark and").stopping_with(length)]).await?;
        let events = stage.say("A novel, please").await?;
        assert_eq!(outcome(&events)?, &Outcome::MaxTokens, "{wire:?}: {events:?}");
        assert_eq!(stage.exchange.messages()[1].text(), "It was a dark and", "{wire:?}");

        let stage = Stage::over(wire, [Turn::text("I").stopping_with(filter)]).await?;
        let events = stage.say("Something bad").await?;
        assert_eq!(outcome(&events)?, &Outcome::Refused, "{wire:?}: {events:?}");
    }
    Ok(())
}

/// A call that was cut by the length is not run; the model is told why.
#[tokio::test]
async fn a_call_cut_by_the_length_comes_back() -> anyhow::Result<()> {
    for wire in WIRES {
        let (length, _) = reasons(wire);
        let cut = Turn::empty().and_raw_call("server__echo", r#"{"text": "long lo"#).stopping_with(length);
        let stage = Stage::over(wire, [cut, Turn::text("Then not.")]).await?;
        stage.add_server(&[]).await?;
        let events = stage.say("Write").await?;
        assert_eq!(outcome(&events)?, &done(), "{wire:?}: {events:?}");
        assert!(stage.results_in(1)[0].contains("Not run"), "{wire:?}: {:?}", stage.results_in(1));
    }
    Ok(())
}

#[tokio::test]
async fn a_reply_has_so_many_turns() -> anyhow::Result<()> {
    let mut number = 0;
    let model = ModelServer::answering(move |_| {
        number += 1;
        Turn::call("server__echo", json!({"text": number.to_string()}))
    })?;
    let stage = Stage::with(Wire::Chat, model, |builder| builder.with_max_turns(4)).await?;
    stage.add_server(&[]).await?;
    let events = stage.say("Go").await?;
    assert_eq!(outcome(&events)?, &Outcome::MaxTurns(4));
    assert_eq!(stage.model.asked().len(), 4);
    assert_eq!(problem(&stage.exchange.messages()), None);
    Ok(())
}

fn too_long(wire: Wire) -> Turn {
    let message = match wire {
        Wire::Anthropic => "prompt is too long: 200001 tokens > 200000 maximum",
        _ => "This model's maximum context length is 100000 tokens.",
    };
    let body = json!({"type": "error", "error": {
        "type": "invalid_request_error", "code": "context_length_exceeded", "message": message,
    }});
    Turn::raw(400, "application/json", body.to_string())
}

/// Returns true if the model is asked for a summary, which has no tools.
fn is_summary(asked: &Asked) -> bool {
    asked.tool_names().is_empty()
}

/// The events, each cut to a glance.
fn short(events: &[Event]) -> String {
    let lines = lines(events).into_iter().map(|line| line.chars().take(160).collect::<String>());
    lines.collect::<Vec<_>>().join("\n")
}

/// The first prompt is too long: nothing can be left out, and it is said.
#[tokio::test]
async fn overflow_at_the_first_prompt_is_an_honest_error() -> anyhow::Result<()> {
    for wire in WIRES {
        let model = ModelServer::answering(move |_| too_long(wire))?;
        let stage = Stage::with(wire, model, |builder| builder).await?;
        let events = stage.say("x").await?;
        let Outcome::Failed(failure) = outcome(&events)? else { panic!("{wire:?}: {events:?}") };
        assert!(failure.message.contains("too long"), "{wire:?}: {failure:?}");
        assert_eq!(stage.model.asked().len(), 1, "{wire:?}");
    }
    Ok(())
}

/// In mid-loop older messages make room between steps, and the work goes on; the originals are kept.
#[tokio::test]
async fn overflow_in_mid_loop_makes_room_and_goes_on() -> anyhow::Result<()> {
    for wire in WIRES {
        let (mut calls, mut refused) = (0, false);
        let model = ModelServer::answering(move |asked| {
            if is_summary(asked) {
                return Turn::text("They counted to eight.");
            }
            calls += 1;
            match calls {
                1..=8 => Turn::call("server__echo", json!({"text": format!("{calls} {}", "x".repeat(2000))}))
                    .costing(1200 * calls, 600),
                _ if !refused => {
                    refused = true;
                    too_long(wire)
                }
                _ => Turn::text("Done."),
            }
        })?;
        let stage = Stage::with(wire, model, |builder| builder).await?;
        stage.add_server(&[]).await?;
        let events = stage.say("Count").await?;
        assert_eq!(outcome(&events)?, &done(), "{wire:?}: {}", short(&events));
        assert!(lines(&events).contains(&"compacted".to_owned()), "{wire:?}: {}", short(&events));
        assert_eq!(problem(&stage.exchange.messages()), None, "{wire:?}");
        let steps = stage.steps().await?;
        let results = steps.iter().filter(|step| matches!(step, Step::ToolResult { .. })).count();
        assert_eq!(results, 8, "the originals stay ({wire:?})");
        let asked = stage.model.asked();
        let last = asked.last().map(|asked| asked.body.to_string()).unwrap_or_default();
        assert!(last.contains("They counted to eight.") && last.contains("Count"), "{wire:?}: {last}");
    }
    Ok(())
}

/// Where room was made twice and it is still too long, it is said.
#[tokio::test]
async fn overflow_after_compaction_stops_after_two_tries() -> anyhow::Result<()> {
    let mut calls = 0;
    let model = ModelServer::answering(move |asked| {
        if is_summary(asked) {
            return Turn::text("So far, so good.");
        }
        calls += 1;
        match calls {
            1..=20 => Turn::call("server__echo", json!({"text": format!("{calls} {}", "x".repeat(2_000))}))
                .costing(asked.bytes as u64 / 4, 500),
            _ => too_long(Wire::Chat),
        }
    })?;
    let stage = Stage::with(Wire::Chat, model, |builder| builder).await?;
    stage.add_server(&[]).await?;
    let events = stage.say("Count").await?;
    let Outcome::Failed(failure) = outcome(&events)? else { panic!("{}", short(&events)) };
    assert!(failure.message.contains("twice"), "{failure:?}");
    let compacted = lines(&events).iter().filter(|line| *line == "compacted").count();
    assert_eq!(compacted, 2, "{}", short(&events));
    let asked = stage.model.asked();
    let summaries = asked.iter().filter(|asked| is_summary(asked)).count();
    assert_eq!((asked.len() - summaries, summaries), (20 + 3, 2));
    assert_eq!(problem(&stage.exchange.messages()), None);
    Ok(())
}

/// The limit is smaller than goose believes, and all that is long is recent: the results are cut.
#[tokio::test]
async fn an_overflow_far_below_the_believed_limit_is_mended() -> anyhow::Result<()> {
    let mut calls = 0;
    let model = ModelServer::answering(move |asked| {
        calls += 1;
        match calls {
            1..=3 => Turn::call("server__big", json!({"bytes": 40_000})).costing(asked.bytes as u64 / 4, 10),
            _ if asked.bytes > 32_000 => too_long(Wire::Chat),
            _ => Turn::text("Done."),
        }
    })?;
    let stage = Stage::with(Wire::Chat, model, |builder| builder).await?;
    stage.exchange.extensions().add_extension(Arc::new(Big))?;
    let events = stage.say("Look").await?;
    assert_eq!(outcome(&events)?, &done(), "{}", short(&events));
    assert_eq!(problem(&stage.exchange.messages()), None);
    Ok(())
}

/// A tool with long results.
struct Big;

#[extension(name = "server", description = "Has much to say")]
impl Big {
    /// Says much.
    #[tool]
    async fn big(&self, bytes: usize) -> ToolResult<String> {
        Ok("x".repeat(bytes))
    }
}

#[tokio::test]
async fn a_full_context_makes_room_before_it_overflows() -> anyhow::Result<()> {
    for moderator in [Moderator::Truncate, Moderator::Summarize] {
        let mut calls = 0;
        let model = ModelServer::answering(move |asked| {
            if is_summary(asked) {
                return Turn::text("They counted.");
            }
            calls += 1;
            match calls {
                1..=9 => Turn::call("server__big", json!({"bytes": 40_000 + calls}))
                    .costing(asked.bytes as u64 / 4, 10),
                _ => Turn::text("Done."),
            }
        })?;
        let (_world, exchange) = moderated(&model, moderator).await?;
        let events = all(exchange.reply_to("Count")).await?;
        assert_eq!(outcome(&events)?, &done(), "{moderator:?}");
        assert!(lines(&events).contains(&"compacted".to_owned()), "{moderator:?}: {}", short(&events));
        assert_eq!(problem(&exchange.messages()), None);
    }
    Ok(())
}

async fn moderated(model: &ModelServer, moderator: Moderator) -> anyhow::Result<(World, Exchange)> {
    let world = World::new()?;
    let mut profile = Profile::default();
    profile.moderator = moderator;
    let options = OpenOptions::new(profile)
        .with_provider(provider(model, Wire::Chat)?)
        .with_session(Session::unsaved())
        .with_permissions(Permissions::new(PermissionOptions::new(Mode::Auto)))
        .with_working_dir(world.file(""));
    let exchange = world.agents()?.open(options).await?;
    exchange.extensions().add_extension(Arc::new(Big))?;
    Ok((world, exchange))
}

/// If the part to keep is nearly too long by itself, not every turn pays for a summary, and the one that was made is
/// booked.
#[tokio::test]
async fn room_is_not_made_in_vain_again_and_again() -> anyhow::Result<()> {
    let mut calls = 0;
    let model = ModelServer::answering(move |asked| {
        if is_summary(asked) {
            return Turn::text("They counted.").costing(700, 7);
        }
        calls += 1;
        let (words, bytes) = if calls <= 5 { (4_000, 77_000) } else { (1, 10) };
        match calls {
            1..=9 => Turn::text("y".repeat(words))
                .and_call("server__big", json!({"bytes": bytes + calls}))
                .costing(asked.bytes as u64 / 4, 10),
            _ => Turn::text("Done."),
        }
    })?;
    let (_world, exchange) = moderated(&model, Moderator::Summarize).await?;
    let events = all(exchange.reply_to("Count")).await?;
    assert_eq!(outcome(&events)?, &done(), "{}", short(&events));
    let asked = model.asked();
    let spent: u64 =
        asked.iter().filter(|asked| !is_summary(asked)).map(|asked| asked.bytes as u64 / 4 + 10).sum();
    assert_eq!(asked.iter().filter(|asked| is_summary(asked)).count(), 1, "{}", short(&events));
    let cost = events.iter().rev().find_map(|event| match event {
        Event::Cost(cost) => Some(cost.session.total()),
        _ => None,
    });
    assert!(cost.is_some_and(|cost| cost > 700 + 7 && cost <= spent + 707 + 100), "{cost:?} {spent}");
    Ok(())
}

/// A person who says nothing is told so; nothing is stored, and the model is not asked.
#[tokio::test]
async fn an_empty_message_is_not_sent() -> anyhow::Result<()> {
    let stage = Stage::new([Turn::text("Hello.")]).await?;
    stage.say("Hi").await?;
    let before = stage.exchange.messages();
    let events = stage.say(" \n").await?;
    assert!(matches!(outcome(&events)?, Outcome::Failed(failure) if failure.message.contains("empty")));
    assert_eq!((stage.exchange.messages(), stage.model.asked().len()), (before, 1));
    Ok(())
}

/// A service that is described in a broken file is not unknown: the file is named.
#[tokio::test]
async fn a_broken_description_of_a_service_is_named() -> anyhow::Result<()> {
    let world = World::new()?;
    let folder = world.paths().config.join("custom_providers");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("mine.json"), "{")?;
    let mut profile = Profile::default();
    profile.processor = Some("mine:model".parse()?);
    let built = world.agents()?.open(OpenOptions::new(profile).with_session(Session::unsaved())).await;
    let error = built.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("mine.json"), "{error}");

    let model = ModelServer::scripted([Turn::text("Hello.")])?;
    let options = OpenOptions::new(Profile::default())
        .with_provider(provider(&model, Wire::Chat)?)
        .with_session(Session::unsaved());
    let exchange = world.agents()?.open(options).await?;
    let events = all(exchange.reply_to("Hi")).await?;
    assert!(
        lines(&events).iter().any(|line| line.starts_with("notice") && line.contains("mine.json")),
        "{events:?}"
    );
    Ok(())
}

#[tokio::test]
async fn the_final_answer_fits_its_schema() -> anyhow::Result<()> {
    let schema = json!({
        "type": "object", "properties": {"ducks": {"type": "integer"}}, "required": ["ducks"],
    });
    for wire in WIRES {
        let turns = [
            Turn::text("There are three."),
            Turn::call("recipe__final_output", json!({"ducks": "three"})),
            Turn::call("recipe__final_output", json!({"ducks": 3})),
        ];
        let model = ModelServer::scripted(turns)?;
        let stage = Stage::with(wire, model, |builder| builder.with_response_schema(schema.clone())).await?;
        let events = stage.say("How many ducks?").await?;
        assert_eq!(outcome(&events)?, &Outcome::Done { structured: Some(json!({"ducks": 3})) }, "{wire:?}");
        let asked = stage.model.asked();
        assert_eq!(asked[0].tool_names(), ["recipe__final_output"], "{wire:?}");
        assert!(
            asked[1].last_user_text().is_some_and(|text| text.contains("recipe__final_output")),
            "{wire:?}"
        );
        assert!(stage.results_in(2)[0].contains("/ducks"), "{wire:?}: {:?}", stage.results_in(2));
        assert_eq!(problem(&stage.exchange.messages()), None, "{wire:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_model_that_never_gives_the_final_answer_has_failed() -> anyhow::Result<()> {
    let model = ModelServer::answering(|_| Turn::text("Three, I think."))?;
    let schema = json!({"type": "object", "properties": {}});
    let stage = Stage::with(Wire::Chat, model, |builder| builder.with_response_schema(schema)).await?;
    let events = stage.say("How many ducks?").await?;
    assert!(matches!(outcome(&events)?, Outcome::Failed(failure) if failure.message.contains("form")));
    Ok(())
}

#[tokio::test]
async fn clear_and_compact_are_steps_like_others() -> anyhow::Result<()> {
    let model = ModelServer::answering(|asked| match asked.last_user_text() {
        Some(text) if text.contains("quack 1") && text.contains("quack 2") => Turn::text("In short."),
        _ => Turn::text("A long answer. ".repeat(100)).costing(asked.bytes as u64 / 4, 375),
    })?;
    let stage = Stage::with(Wire::Chat, model, |builder| builder).await?;
    for number in 1..=5 {
        stage.say(&format!("quack {number}")).await?;
    }
    stage.exchange.compact().await.map_err(|failure| anyhow::anyhow!("{failure:?}"))?;
    assert!(stage.exchange.messages()[0].text().contains("In short."), "{:?}", stage.exchange.messages());
    stage.exchange.clear().await.map_err(|failure| anyhow::anyhow!("{failure:?}"))?;
    assert!(stage.exchange.messages().is_empty());
    assert_eq!(outcome(&stage.say("third").await?)?, &done());
    assert_eq!(stage.exchange.messages().len(), 2);
    let messages = stage.steps().await?.iter().filter(|step| matches!(step, Step::Message { .. })).count();
    assert_eq!(messages, 12, "what was said stays in the store");
    Ok(())
}

/// The appointments of a person.
trait Calendar: Send + Sync {
    fn appointments(&self) -> Vec<String>;
}

struct CalendarExtension;

struct Paper;

impl Calendar for Paper {
    fn appointments(&self) -> Vec<String> {
        vec!["lunch".to_owned()]
    }
}

#[extension(name = "calendar", description = "Knows appointments")]
impl Extension for CalendarExtension {
    fn new(_notifier: Box<dyn Notifier>, _requires: Requirements) -> Self {
        Self
    }

    fn offer(self: Arc<Self>, offers: &mut goose_extension::Offers) {
        offers.add(|| Box::new(Paper) as Box<dyn Calendar>);
    }
}

struct Scheduling {
    calendar: Box<dyn Calendar>,
}

#[extension(name = "scheduling", description = "Finds time")]
impl Scheduling {
    fn new(_notifier: Box<dyn Notifier>, requires: Requirements) -> Self {
        Self { calendar: requires.get("dates") }
    }

    /// Lists what is planned.
    #[tool]
    async fn planned(&self) -> ToolResult<String> {
        Ok(self.calendar.appointments().join(", "))
    }
}

fn scheduling_profile() -> Profile {
    let mut profile = Profile::default();
    let mut scheduling = ProfileExtension::new("scheduling");
    scheduling.requires.insert("dates".to_owned(), "calendar".to_owned());
    profile.extensions = vec![ProfileExtension::new("calendar"), scheduling];
    profile
}

#[tokio::test]
async fn a_profile_binds_what_extensions_require() -> anyhow::Result<()> {
    let model = ModelServer::scripted([Turn::call("scheduling__planned", json!({})), Turn::text("Lunch.")])?;
    let world = World::new()?;
    let options = OpenOptions::new(scheduling_profile())
        .with_provider(provider(&model, Wire::Chat)?)
        .with_session(Session::unsaved())
        .with_working_dir(world.file(""))
        .with_extension::<CalendarExtension>("calendar")
        .with_extension::<Scheduling>("scheduling");
    let exchange = world.agents()?.open(options).await?;
    let events = all(exchange.reply_to("What is planned?")).await?;
    assert_eq!(outcome(&events)?, &done(), "{events:?}");
    assert_eq!(model.asked()[1].tool_results()[0].1, "lunch");
    Ok(())
}

#[tokio::test]
async fn what_a_profile_names_and_nobody_has_is_named_in_one_error() -> anyhow::Result<()> {
    let model = ModelServer::scripted([])?;
    let world = World::new()?;
    let options = OpenOptions::new(scheduling_profile())
        .with_provider(provider(&model, Wire::Chat)?)
        .with_session(Session::unsaved());
    let built = world.agents()?.open(options).await;
    let error = built.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("calendar") && error.contains("scheduling"), "{error}");
    Ok(())
}

#[tokio::test]
async fn the_events_of_a_reply_end_with_its_end() -> anyhow::Result<()> {
    let stage = Stage::new([Turn::text("One.")]).await?;
    let events = stage.say("Hi").await?;
    let ends = events.iter().filter(|event| matches!(event, Event::Finished(_))).count();
    assert_eq!(ends, 1);
    stage.exchange.close().await;
    Ok(())
}
