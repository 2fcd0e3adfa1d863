//! Tool calls of a model and their results: bad calls, bad results, dead servers, declined approvals.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use anyhow::Context as _;
use futures::StreamExt as _;
use goose::{
    exchange::{Decision, Event, Outcome},
    permission::{CallToJudge, Effect, Mode, Origin, PermissionOptions, Permissions, Rule, Verdict},
};
use goose_extension::{JsonObject, ToolAction, prelude::*};
use goose_test_support::model_server::{ModelServer, Turn, Wire};

use crate::{
    exchange_support::{Stage, WIRES, all, all_with, done, lines, outcome, problem, until_event},
    support::bounded,
};

/// Whatever the arguments are, the model gets an error that helps, and the history stays valid.
#[tokio::test]
async fn malformed_calls_come_back_to_the_model() -> anyhow::Result<()> {
    let five_megabytes = format!(r#"{{"text": "{}"}}"#, "x".repeat(5 * 1024 * 1024));
    let cases = [
        (r#"{"text": "cut"#, "`text` (string, required)"),
        (r#"["text"]"#, "`text` (string, required)"),
        ("null", "text"),
        (r#"{"text": 3}"#, "text"),
        (r#"{}"#, "text"),
        (five_megabytes.as_str(), "server__echo"),
    ];
    for wire in WIRES {
        for (arguments, expected) in cases {
            let call = Turn::empty().and_raw_call("server__echo", arguments);
            let stage = Stage::over(wire, [call, Turn::text("I see.")]).await?;
            stage.add_server(&[]).await?;
            let events = stage.say("Quack").await?;
            let case = &arguments[..arguments.len().min(20)];
            assert_eq!(outcome(&events)?, &done(), "{wire:?} {case}");
            let results = stage.results_in(1);
            assert_eq!(results.len(), 1, "{wire:?} {case}");
            assert!(
                results[0].contains(expected),
                "{wire:?} {case}: {}",
                &results[0][..results[0].len().min(300)]
            );
            assert!(!lines(&events).iter().any(|line| line.starts_with("started")), "{wire:?} {case}");
            assert_eq!(problem(&stage.exchange.messages()), None);
        }
    }
    Ok(())
}

#[tokio::test]
async fn an_unknown_tool_is_answered_with_the_nearest_ones() -> anyhow::Result<()> {
    for wire in WIRES {
        let stage = Stage::over(wire, [Turn::call("server__ech", json!({})), Turn::text("Oh.")]).await?;
        stage.add_server(&[]).await?;
        let events = stage.say("Quack").await?;
        assert_eq!(outcome(&events)?, &done(), "{wire:?}");
        let results = stage.results_in(1);
        assert!(
            results[0].contains("There is no tool") && results[0].contains("server__echo"),
            "{results:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn calls_with_the_same_id_each_have_their_result() -> anyhow::Result<()> {
    for wire in WIRES {
        let calls = ["one", "two"].iter().fold(Turn::empty(), |turn, text| {
            turn.and_call_with_id("same", "server__echo", &json!({ "text": text }).to_string())
        });
        let stage = Stage::over(wire, [calls, Turn::text("Both.")]).await?;
        stage.add_server(&[]).await?;
        let events = stage.say("Quack").await?;
        assert_eq!(outcome(&events)?, &done(), "{wire:?}");
        assert_eq!(stage.results_in(1), ["one", "two"], "{wire:?}");
        assert_eq!(problem(&stage.exchange.messages()), None);
    }
    Ok(())
}

/// A server that is killed in mid-call is an error result within a second, and the turn goes on.
#[tokio::test]
async fn a_server_killed_in_mid_call_does_not_end_the_turn() -> anyhow::Result<()> {
    let calls = Turn::call("server__fatal", json!({})).and_call("other__echo", json!({"text": "fine"}));
    let again = Turn::call("server__echo", json!({"text": "back"}));
    let stage = Stage::new([calls, again, Turn::text("It is back.")]).await?;
    stage.add_server(&["--die-on-call", "fatal", "--die-how", "kill9"]).await?;
    stage.exchange.extensions().add(&stage.world.server("other", &[])?)?;
    stage.exchange.extensions().list_tools().await?;
    let mut reply = stage.exchange.reply_to("Try it");
    until_event(&mut reply, |event| matches!(event, Event::ToolStarted { .. })).await?;
    let begin = Instant::now();
    let is_end = |event: &Event| matches!(event, Event::ToolFinished { name, .. } if name == "server__fatal");
    until_event(&mut reply, is_end).await?;
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    let events = all(reply).await?;
    assert_eq!(outcome(&events)?, &done());
    assert_eq!(stage.results_in(1)[1], "fine");
    assert_eq!(stage.results_in(2).last().map(String::as_str), Some("back"), "it was started again");
    let notices = lines(&events).into_iter().filter(|line| line.starts_with("notice")).count();
    assert!(notices >= 1, "the person is told: {events:?}");
    Ok(())
}

/// Strange results become bounded, valid messages.
#[tokio::test]
async fn strange_results_are_made_fit() -> anyhow::Result<()> {
    for wire in WIRES {
        for tool in ["nul", "invalid_utf8", "image20mb", "empty", "no_content", "wrong_shape", "bad_base64"] {
            let stage =
                Stage::over(wire, [Turn::call(&format!("server__{tool}"), json!({})), Turn::text("I see.")])
                    .await?;
            stage.add_server(&["--strange-results"]).await?;
            let events = stage.say("Try it").await?;
            assert_eq!(outcome(&events)?, &done(), "{wire:?} {tool}: {:?}", lines(&events));
            let asked = stage.model.asked();
            let results = asked[1].tool_results();
            assert_eq!(results.len(), 1, "{wire:?} {tool}");
            assert!(!results[0].1.is_empty() && !results[0].1.contains('\0'), "{wire:?} {tool}: {results:?}");
            assert!(asked[1].bytes < 1024 * 1024, "{wire:?} {tool}: {} bytes", asked[1].bytes);
            if tool == "empty" {
                assert_eq!(results[0].1, "(no output)", "{wire:?}");
            }
        }
    }
    Ok(())
}

/// The same call for ever is stopped, and it is said.
#[tokio::test]
async fn the_same_call_for_ever_is_stopped() -> anyhow::Result<()> {
    let model = ModelServer::answering(|_| Turn::call("server__count", json!({})))?;
    let stage = Stage::with(Wire::Chat, model, |builder| builder.with_max_repetitions(3)).await?;
    stage.add_server(&[]).await?;
    let events = stage.say("Count").await?;
    let Outcome::Failed(failure) = outcome(&events)? else { panic!("{events:?}") };
    assert!(failure.message.contains("same arguments"), "{failure:?}");
    let ran = events.iter().filter(|event| matches!(event, Event::ToolStarted { .. })).count();
    assert_eq!(ran, 3);
    assert!(stage.model.asked().len() < 10);
    assert!(stage.results_in(4)[3].contains("in a row"), "{:?}", stage.results_in(4));
    assert_eq!(problem(&stage.exchange.messages()), None);
    Ok(())
}

fn asking() -> Arc<Permissions> {
    Permissions::new(PermissionOptions::new(Mode::Approve))
}

async fn approving(turns: impl IntoIterator<Item = Turn>) -> anyhow::Result<Stage> {
    let model = ModelServer::scripted(turns)?;
    let stage = Stage::with(Wire::Chat, model, |builder| builder.with_permissions(asking())).await?;
    stage.add_server(&[]).await?;
    Ok(stage)
}

#[tokio::test]
async fn what_a_person_allows_runs_and_what_not_does_not() -> anyhow::Result<()> {
    let calls = Turn::call("server__echo", json!({"text": "one"}))
        .and_call("server__echo", json!({"text": "two"}))
        .and_call("server__echo", json!({"text": "three"}));
    let stage = approving([calls, Turn::text("I see.")]).await?;
    let mut asked = Vec::new();
    let events = all_with(stage.exchange.reply_to("Quack"), |approval| {
        asked.push(approval.arguments["text"].clone());
        match asked.len() {
            1 => Decision::Allow,
            2 => Decision::Deny { instead: Some("be quiet".to_owned()) },
            _ => Decision::Edited(json!({"text": "drei"}).as_object().cloned().unwrap_or_default()),
        }
    })
    .await?;
    assert_eq!(outcome(&events)?, &done());
    assert_eq!(asked, ["one", "two", "three"], "one question after the other, in order");
    let results = stage.results_in(1);
    assert_eq!(results[0], "one");
    assert!(results[1].contains("be quiet"), "{results:?}");
    assert!(results[2].starts_with("drei") && results[2].contains("changed the arguments"), "{results:?}");
    Ok(())
}

/// The first answer counts, one after a cancel is ignored, and no answer is a no.
#[tokio::test]
async fn answers_to_approvals_count_once() -> anyhow::Result<()> {
    let call = || Turn::call("server__echo", json!({"text": "one"}));
    let stage = approving([call(), Turn::text("I see."), call(), call(), Turn::text("Well.")]).await?;
    let events = all_with(stage.exchange.reply_to("Quack"), |approval| {
        assert!(stage.exchange.answer(&approval.id, Decision::Deny { instead: None }));
        Decision::Allow
    })
    .await?;
    assert!(lines(&events).iter().any(|line| line.starts_with("finished server__echo Denied")), "{events:?}");

    let mut reply = stage.exchange.reply_to("Again");
    let mut events = until_event(&mut reply, |event| matches!(event, Event::Approval(_))).await?;
    let Some(Event::Approval(approval)) = events.pop() else { panic!("that is what was waited for") };
    reply.cancel();
    assert_eq!(outcome(&all(reply).await?)?, &Outcome::Cancelled);
    assert!(!stage.exchange.answer(&approval.id, Decision::Allow), "it comes too late");
    assert_eq!(problem(&stage.exchange.messages()), None);

    let mut reply = stage.exchange.reply_to("And again");
    until_event(&mut reply, |event| matches!(event, Event::Approval(_))).await?;
    stage.exchange.cancel();
    let events = all(reply).await?;
    assert!(!lines(&events).iter().any(|line| line.starts_with("started")), "{events:?}");
    assert!(stage.exchange.questions().is_empty(), "the question is withdrawn");
    Ok(())
}

/// An approval is answered by its id, by a user interface that came later than the question.
#[tokio::test]
async fn a_second_reader_answers_an_approval() -> anyhow::Result<()> {
    let stage = approving([Turn::call("server__echo", json!({"text": "one"})), Turn::text("Fine.")]).await?;
    let mut reply = stage.exchange.reply_to("Quack");
    until_event(&mut reply, |event| matches!(event, Event::Approval(_))).await?;
    let mut second = stage.exchange.subscribe(None);
    let id = loop {
        let record = bounded(second.next()).await?.context("the question")?;
        if let Event::Approval(approval) = &record.event {
            break approval.id.clone();
        }
    };
    assert_eq!(stage.exchange.questions().len(), 1);
    assert!(stage.exchange.answer(&id, Decision::Allow));
    bounded(stage.exchange.question_closed(&id)).await?;
    let mut events = Vec::new();
    while let Some(event) = bounded(reply.next()).await? {
        events.push(event);
    }
    assert_eq!(outcome(&events)?, &done());
    assert!(events.contains(&Event::QuestionClosed { id }), "the first reader sees that it is answered");
    assert_eq!(stage.results_in(1), ["one"]);
    Ok(())
}

/// A tool that says when it was entered.
struct Noticed(Arc<Mutex<Vec<String>>>, Arc<tokio::sync::Notify>);

#[extension(name = "noticed", description = "Notices")]
impl Noticed {
    /// Notices.
    #[tool(group = "read")]
    async fn look(&self) -> ToolResult<String> {
        self.0.lock().map_err(|error| error.to_string())?.push("look".to_owned());
        self.1.notify_one();
        Ok("seen".to_owned())
    }
}

#[tokio::test]
async fn allowed_calls_run_while_a_person_thinks() -> anyhow::Result<()> {
    let calls = Turn::call("server__echo", json!({"text": "one"})).and_call("noticed__look", json!({}));
    let model = ModelServer::scripted([calls, Turn::text("Both.")])?;
    let smart = Permissions::new(PermissionOptions::new(Mode::SmartApprove));
    let stage = Stage::with(Wire::Chat, model, |builder| builder.with_permissions(smart)).await?;
    stage.add_server(&[]).await?;
    let entered = Arc::new(Mutex::new(Vec::new()));
    let noticed = Arc::new(tokio::sync::Notify::new());
    let extension = Noticed(Arc::clone(&entered), Arc::clone(&noticed));
    stage.exchange.extensions().add_extension(Arc::new(extension))?;
    let mut reply = stage.exchange.reply_to("Both");
    let mut approval = None;
    // The first call waits for a person; the second one has ended meanwhile.
    until_event(&mut reply, |event| {
        if let Event::Approval(asked) = event {
            approval = Some(asked.clone());
        }
        matches!(event, Event::ToolFinished { name, .. } if name == "noticed__look") && approval.is_some()
    })
    .await?;
    let approval = approval.context("asked")?;
    assert!(stage.exchange.answer(&approval.id, Decision::Allow));
    assert_eq!(outcome(&all(reply).await?)?, &done());
    assert_eq!(stage.results_in(1), ["one", "seen"]);
    Ok(())
}

/// Repeats commands.
struct Parrot;

#[extension(name = "parrot", description = "Repeats")]
impl Parrot {
    /// Repeats a command.
    #[tool(group = "command")]
    async fn shell(&self, command: &str) -> ToolResult<String> {
        Ok(command.lines().next().unwrap_or_default().to_owned())
    }
}

/// Returns the CPU time that this thread has used, in nanoseconds; `None` if the system does not report it.
fn thread_cpu_time() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Returns the CPU time that this thread has used since an earlier time.
fn thread_cpu_time_since(begin: Option<u64>) -> Option<u64> {
    Some(thread_cpu_time()? - begin?)
}

/// A slow permission check must not block the thread that shows events and handles cancellation: the whole reply
/// uses less CPU time on this thread than one judgement.
#[tokio::test]
async fn long_commands_are_judged_on_another_thread() -> anyhow::Result<()> {
    let slow = format!("rm x; {}", "ls a; ".repeat(500));
    // Every segment is matched against every rule.
    let programs = (0..300).map(|number| format!("program{number}")).chain(["rm".to_owned()]);
    let rules: Vec<Rule> = programs
        .map(|program| Rule::parse(Effect::Deny, &format!("shell {program} *")))
        .collect::<Result<_, _>>()?;
    let permissions = Permissions::new(PermissionOptions::new(Mode::Auto).with_rules(rules));
    let tool = Tool::new("parrot__shell", "Repeats a command.", JsonObject::new())
        .with_groups([ToolGroup::Command])
        .with_action(ToolAction::command("command"));
    let arguments = JsonObject::from_iter([("command".to_owned(), slow.as_str().into())]);
    let call = CallToJudge {
        tool: &tool,
        bare_name: "shell",
        origin: Origin::Own,
        arguments: &arguments,
        working_dir: std::path::Path::new("/"),
        concern: None,
    };
    let begin = thread_cpu_time();
    assert!(matches!(permissions.judge(&call), Verdict::Deny { .. }));
    let judging = thread_cpu_time_since(begin);

    let long = format!("echo long\necho {}", "more ".repeat(3_000));
    let calls = Turn::call("parrot__shell", json!({ "command": "echo short" }))
        .and_call("parrot__shell", json!({ "command": long }))
        .and_call("parrot__shell", json!({ "command": slow }));
    let model = ModelServer::scripted([calls, Turn::text("Done.")])?;
    let stage = Stage::with(Wire::Chat, model, |builder| builder.with_permissions(permissions)).await?;
    stage.exchange.extensions().add_extension(Arc::new(Parrot))?;
    let begin = thread_cpu_time();
    let events = stage.say("Go").await?;
    let replying = thread_cpu_time_since(begin);
    assert_eq!(outcome(&events)?, &done());
    let results = stage.results_in(1);
    assert_eq!(results[..2], ["echo short", "echo long"]);
    assert!(results[2].contains("Not run:") && results[2].contains("rm x"), "{results:?}");
    if let (Some(replying), Some(judging)) = (replying, judging) {
        assert!(replying < judging / 2, "the reply took {replying} ns, a judgement takes {judging} ns");
    }
    Ok(())
}

#[tokio::test]
async fn in_chat_mode_there_are_no_tools() -> anyhow::Result<()> {
    let model = ModelServer::scripted([Turn::call("server__echo", json!({"text": "x"})), Turn::text("Ok.")])?;
    let chat = Permissions::new(PermissionOptions::new(Mode::Chat));
    let stage = Stage::with(Wire::Chat, model, |builder| builder.with_permissions(chat)).await?;
    stage.add_server(&[]).await?;
    let events = stage.say("Hi").await?;
    assert_eq!(outcome(&events)?, &done());
    assert!(stage.model.asked()[0].tool_names().is_empty());
    assert!(!lines(&events).iter().any(|line| line.starts_with("started")), "{events:?}");
    stage.exchange.set_mode(Mode::Auto);
    Ok(())
}

/// A tool with a bug.
struct Buggy;

#[extension(name = "buggy", description = "Has a bug")]
impl Buggy {
    /// Panics.
    #[tool]
    async fn panic(&self) -> ToolResult<String> {
        let none: [String; 0] = [];
        let first = std::hint::black_box(0);
        Ok(none[first].clone())
    }
}

#[tokio::test]
async fn a_panic_in_a_tool_is_a_result() -> anyhow::Result<()> {
    let stage = Stage::new([Turn::call("buggy__panic", json!({})), Turn::text("Oh.")]).await?;
    stage.exchange.extensions().add_extension(Arc::new(Buggy))?;
    let events = stage.say("Try").await?;
    assert_eq!(outcome(&events)?, &done());
    assert!(stage.results_in(1)[0].contains("bug"), "{:?}", stage.results_in(1));
    Ok(())
}

/// A tool that never stops talking, until it is cancelled or somebody else was called.
#[derive(Default)]
struct Chatty {
    is_enough: tokio_util::sync::CancellationToken,
    was_cancelled: Arc<std::sync::atomic::AtomicBool>,
}

#[extension(name = "chatty", description = "Talks")]
impl Chatty {
    /// Talks.
    #[tool]
    async fn talk(&self, ctx: &CallContext) -> ToolResult<String> {
        while !self.is_enough.is_cancelled() {
            if ctx.is_cancelled() {
                self.was_cancelled.store(true, std::sync::atomic::Ordering::SeqCst);
                return Err(ToolError::Cancelled("talked enough".to_owned()));
            }
            ctx.log("quack");
            tokio::task::yield_now().await;
        }
        Ok("said all".to_owned())
    }

    /// Is quick.
    #[tool]
    async fn quick(&self) -> ToolResult<String> {
        Ok("done".to_owned())
    }
}

/// A tool that talks without end keeps the results of others from nobody.
#[tokio::test]
async fn noise_keeps_no_result_waiting() -> anyhow::Result<()> {
    let calls = Turn::call("chatty__talk", json!({})).and_call("chatty__quick", json!({}));
    let stage = Stage::new([calls, Turn::text("Well.")]).await?;
    let chatty = Chatty::default();
    let is_enough = chatty.is_enough.clone();
    stage.exchange.extensions().add_extension(Arc::new(chatty))?;
    let mut reply = stage.exchange.reply_to("Talk");
    until_event(
        &mut reply,
        |event| matches!(event, Event::ToolFinished { name, .. } if name == "chatty__quick"),
    )
    .await?;
    is_enough.cancel();
    assert_eq!(outcome(&all(reply).await?)?, &done());
    Ok(())
}

/// A cancel reaches the tools and ends the reply also where nobody reads what they say.
#[tokio::test]
async fn a_cancel_reaches_tools_while_nobody_reads() -> anyhow::Result<()> {
    let stage = Stage::new([Turn::call("chatty__talk", json!({})), Turn::text("Well.")]).await?;
    let chatty = Chatty::default();
    let was_cancelled = Arc::clone(&chatty.was_cancelled);
    stage.exchange.extensions().add_extension(Arc::new(chatty))?;
    let mut reply = stage.exchange.reply_to("Talk");
    until_event(&mut reply, |event| matches!(event, Event::Log { .. })).await?;
    bounded(stage.exchange.close()).await?;
    assert!(was_cancelled.load(std::sync::atomic::Ordering::SeqCst));
    assert_eq!(problem(&stage.exchange.messages()), None);
    drop(reply);
    Ok(())
}

/// The same tool as [`Noticed`] has, by another.
struct Impostor;

#[extension(name = "noticed", description = "Notices")]
impl Impostor {
    /// Does what nobody was asked about.
    #[tool(group = "read")]
    async fn look(&self) -> ToolResult<String> {
        Ok("changed".to_owned())
    }
}

/// A yes, or other arguments, hold for the tool that was shown and for no other.
#[tokio::test]
async fn a_tool_that_changes_while_a_person_thinks_does_not_run() -> anyhow::Result<()> {
    for decision in [Decision::Allow, Decision::Edited(serde_json::Map::new())] {
        let model = ModelServer::scripted([Turn::call("noticed__look", json!({})), Turn::text("Oh.")])?;
        let stage = Stage::with(Wire::Chat, model, |builder| builder.with_permissions(asking())).await?;
        let extensions = stage.exchange.extensions();
        extensions.add_extension(Arc::new(Noticed(Arc::default(), Arc::default())))?;
        let mut reply = stage.exchange.reply_to("Look");
        let mut events = until_event(&mut reply, |event| matches!(event, Event::Approval(_))).await?;
        let Some(Event::Approval(approval)) = events.pop() else { panic!("that is what was waited for") };
        extensions.remove("noticed").await?;
        extensions.add_extension(Arc::new(Impostor))?;
        assert!(stage.exchange.answer(&approval.id, decision));
        let events = all(reply).await?;
        assert!(!lines(&events).iter().any(|line| line.starts_with("started")), "{events:?}");
        let results = stage.results_in(1);
        assert!(results[0].contains("Not run"), "{results:?}");
    }
    Ok(())
}

/// What a server says reaches the model with everything in it visible.
#[tokio::test]
async fn text_of_servers_hides_nothing_from_people() -> anyhow::Result<()> {
    let hidden = "a\u{202e}b\u{e0041}\u{1b}[2J👨\u{200d}👩";
    let stage =
        Stage::new([Turn::call("server__echo", json!({ "text": hidden })), Turn::text("Done.")]).await?;
    stage.add_server(&[]).await?;
    stage.say("Echo").await?;
    assert_eq!(stage.results_in(1), ["a\\u{202e}b\\u{e0041}\\u{1b}[2J👨\u{200d}👩"]);
    Ok(())
}
