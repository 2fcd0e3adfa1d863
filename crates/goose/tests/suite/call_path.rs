//! The path of a call: a tool that changes is checked again, tools call tools through the same checks, and time limits
//! are the tool's own.
#![cfg(target_os = "linux")]

use std::{sync::Arc, time::Duration};

use anyhow::ensure;
use goose::{
    agents::extension::ExtensionConfig,
    exchange::{Approval, Decision, Event},
    permission::{Effect, Mode, PermissionOptions, Permissions, Rule},
    services::Phase,
    session::Step,
};
use goose_extension::{JsonObject, prelude::*};
use goose_test_support::model_server::{ModelServer, Turn, Wire};

use crate::{
    exchange_support::{Stage, all, all_with, done, lines, outcome, until_event},
    support::{World, bounded, failure_of, phase, until},
};

/// A tool that calls another one, as code mode will.
struct Relay;

#[extension(name = "relay", description = "Passes calls on")]
impl Relay {
    /// Calls another tool and says what came of it.
    #[tool]
    async fn pass(&self, tool: String, arguments: JsonObject, context: &CallContext) -> String {
        match context.call_tool(&tool, arguments).await {
            Ok(output) => format!("came back: {}", output.as_text()),
            Err(error) => format!("{} {error}", kind(&error)),
        }
    }

    /// Calls another tool in a task of its own, and ends without waiting for it.
    #[tool]
    async fn leave(&self, tool: String, arguments: JsonObject, context: &CallContext) -> String {
        let context = context.clone();
        tokio::spawn(async move { context.call_tool(&tool, arguments).await });
        tokio::time::sleep(Duration::from_millis(200)).await;
        "left".to_owned()
    }

    /// Takes fifteen minutes.
    #[tool]
    async fn patience(&self) -> String {
        tokio::time::sleep(Duration::from_secs(900)).await;
        "done".to_owned()
    }
}

fn kind(error: &ToolError) -> &'static str {
    match error {
        ToolError::NotFound(_) => "not found:",
        ToolError::InvalidParameters(_) => "invalid:",
        ToolError::Denied(_) => "denied:",
        _ => "other:",
    }
}

fn pass(tool: &str, arguments: Value) -> Turn {
    Turn::call("relay__pass", json!({ "tool": tool, "arguments": arguments }))
}

/// A stage with the relay and a server, in a mode and with rules.
async fn stage(mode: Mode, rules: &[(Effect, &str)], turns: Vec<Turn>) -> anyhow::Result<Stage> {
    let mut parsed = Vec::new();
    for (effect, rule) in rules {
        parsed.push(Rule::parse(*effect, rule)?);
    }
    let permissions = Permissions::new(PermissionOptions::new(mode).with_rules(parsed));
    let model = ModelServer::scripted(turns)?;
    let stage = Stage::with(Wire::Chat, model, |builder| builder.with_permissions(permissions)).await?;
    stage.exchange.extensions().add_extension(Arc::new(Relay))?;
    Ok(stage)
}

/// All events, and the ids and tools of the approvals, which are answered in turn.
async fn decided(
    stage: &Stage,
    decisions: &[Decision],
) -> anyhow::Result<(Vec<Event>, Vec<(String, String)>)> {
    let mut asked = Vec::new();
    let events = all_with(stage.exchange.reply_to("Go"), |approval: &Approval| {
        asked.push((approval.id.clone(), approval.tool.clone()));
        decisions.get(asked.len() - 1).cloned().unwrap_or(Decision::Allow)
    })
    .await?;
    Ok((events, asked))
}

/// Two requests with one call each.
fn echoes() -> Vec<Turn> {
    let call = |text: &str| [Turn::call("server__echo", json!({ "text": text })), Turn::text("Done.")];
    ["one", "two"].into_iter().flat_map(call).collect()
}

/// Adds a server whose first start answers one call and dies, and whose second start describes `echo` differently.
/// Makes that call, and waits until the death is known: a call that a dying server may have got is not made again.
async fn add_mortal_server(stage: &Stage) -> anyhow::Result<()> {
    stage.add_server(&["--die-after-calls", "1", "--redefine-after", "1"]).await?;
    decided(stage, &[]).await?;
    let manager = stage.exchange.extensions();
    until("its death is known", || phase(&manager, "server") == Some(Phase::Degraded)).await
}

#[tokio::test]
async fn a_tool_that_changed_across_a_restart_is_asked_about_again() -> anyhow::Result<()> {
    for allowed in [true, false] {
        let stage = stage(Mode::Approve, &[], echoes()).await?;
        add_mortal_server(&stage).await?;
        let last = if allowed { Decision::Allow } else { Decision::Deny { instead: None } };
        let (events, asked) = decided(&stage, &[Decision::Allow, last]).await?;
        assert_eq!(outcome(&events)?, &done());
        assert_eq!(
            asked.len(),
            2,
            "the call is approved as it was, and again as it is: {:?}",
            lines(&events)
        );
        assert_eq!(asked[0].0, asked[1].0, "it is the same call");
        let results = stage.results_in(3);
        let expected = if allowed { "two" } else { "Not run: the user did not allow this call" };
        assert!(results.last().is_some_and(|result| result.contains(expected)), "{results:?}");
        assert_eq!(stage.world.starts("server").len(), 2);
    }
    Ok(())
}

#[tokio::test]
async fn a_changed_tool_runs_where_nothing_forbids_it() -> anyhow::Result<()> {
    let stage = stage(Mode::Auto, &[], echoes()).await?;
    add_mortal_server(&stage).await?;
    let (events, asked) = decided(&stage, &[]).await?;
    assert_eq!(outcome(&events)?, &done());
    assert_eq!(stage.results_in(3).last().map(String::as_str), Some("two"), "{asked:?}");
    Ok(())
}

#[tokio::test]
async fn a_manager_without_a_model_follows_a_changed_tool() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = world.manager(vec![world.server("a", &["--redefine-after", "1"])?]).await?;
    let before = manager.list_tools().await?;
    bounded(manager.restart("a")).await??;
    let output = bounded(manager.call_tool("a__echo", json!({"text": "same"}))).await??;
    assert_eq!(output.as_text(), "same");
    until("the list has changed", || manager.known_tools() != before).await?;
    manager.close().await;
    Ok(())
}

#[tokio::test]
async fn a_tool_calls_another_one() -> anyhow::Result<()> {
    let turns = vec![pass("server__echo", json!({"text": "hi"})), Turn::text("Done.")];
    let stage = stage(Mode::Auto, &[], turns).await?;
    stage.add_server(&[]).await?;
    let (events, asked) = decided(&stage, &[]).await?;
    assert_eq!(outcome(&events)?, &done());
    assert!(asked.is_empty());
    assert_eq!(stage.results_in(1), ["came back: hi"]);
    let shown: Vec<String> = lines(&events).into_iter().filter(|line| line.contains("echo")).collect();
    assert_eq!(shown, ["started server__echo", "finished server__echo Ran: hi"]);
    let nested: Vec<Step> = stage.steps().await?.into_iter().filter(is_nested_step).collect();
    let [Step::NestedCall { parent, id, name, .. }, Step::NestedResult { parent: of, id: ended, output, .. }] =
        &*nested
    else {
        anyhow::bail!("{nested:?}");
    };
    assert_eq!((parent, id, name.as_str(), output.as_text().as_str()), (of, ended, "server__echo", "hi"));
    assert_eq!(*id, format!("{parent}/1"));
    Ok(())
}

fn is_nested_step(step: &Step) -> bool {
    matches!(step, Step::NestedCall { .. } | Step::NestedResult { .. })
}

/// The system prompt of a request, and the texts of its messages.
fn prompt_and_texts(stage: &Stage, request: usize) -> (String, String) {
    let asked = stage.model.asked();
    let messages = asked.get(request).map(|asked| asked.body["messages"].clone()).unwrap_or_default();
    let messages = messages.as_array().cloned().unwrap_or_default();
    let is_system = |message: &&Value| message["role"] == "system" || message["role"] == "developer";
    let (system, others): (Vec<_>, Vec<_>) = messages.iter().partition(is_system);
    (json!(system).to_string(), json!(others).to_string())
}

#[tokio::test]
async fn prompts_of_extensions_reach_the_model_and_leave_the_system_prompt_alone() -> anyhow::Result<()> {
    let remember = |category: &str| {
        let arguments = json!({ "category": category, "data": "Something", "is_global": true });
        Turn::call("memory__remember_memory", arguments)
    };
    let turns = [
        remember("tea"),
        Turn::text("Noted."),
        remember("coffee"),
        Turn::text("Noted."),
        Turn::text("I know."),
    ];
    let stage = Stage::new(turns).await?;
    let manager = stage.exchange.extensions();
    manager.add(&ExtensionConfig::builtin("memory"))?;
    manager.add(&ExtensionConfig::builtin("tutorial"))?;
    for text in ["Remember tea", "Remember coffee", "What do you know?"] {
        assert_eq!(outcome(&stage.say(text).await?)?, &done());
    }
    let (first, _) = prompt_and_texts(&stage, 0);
    assert!(first.contains("The global memory is empty") && first.contains("first-game"), "{first}");
    for request in 1..5 {
        assert_eq!(prompt_and_texts(&stage, request).0, first, "request {request}");
    }
    let (_, second) = prompt_and_texts(&stage, 2);
    assert!(
        second.contains("The extension `memory` says now:") && second.contains(r#"memory: \"tea\"."#),
        "{second}"
    );
    let (_, third) = prompt_and_texts(&stage, 4);
    assert!(third.contains(r#"memory: \"coffee\", \"tea\"."#), "{third}");
    assert!(!third.contains("`tutorial` says now"), "it has not changed: {third}");
    Ok(())
}

#[tokio::test]
async fn events_of_a_nested_call_name_its_parent() -> anyhow::Result<()> {
    let ask = [(Effect::Ask, "server__echo")];
    let turns = vec![pass("server__echo", json!({"text": "hi"})), Turn::text("Done.")];
    let stage = stage(Mode::Auto, &ask, turns).await?;
    stage.add_server(&[]).await?;
    let mut reply = stage.exchange.reply_to("Go");
    let mut parents = Vec::new();
    while let Some(record) = bounded(reply.next_record()).await? {
        let id = match &record.event {
            Event::Approval(approval) => {
                assert!(reply.answer(&approval.id, Decision::Allow));
                &approval.id
            }
            Event::ToolStarted { id, .. } | Event::ToolFinished { id, .. } => id,
            _ => continue,
        };
        parents.push((id.contains('/'), record.parent_call.as_deref().map(str::to_owned)));
    }
    let (nested, top): (Vec<_>, Vec<_>) = parents.into_iter().partition(|(is_nested, _)| *is_nested);
    assert_eq!(nested.len(), 3, "asked, started, finished: {nested:?}");
    assert!(nested.iter().all(|(_, parent)| parent.as_deref() == Some("call_1")), "{nested:?}");
    assert!(top.len() == 2 && top.iter().all(|(_, parent)| parent.is_none()), "{top:?}");
    Ok(())
}

#[tokio::test]
async fn a_nested_call_is_refused_where_a_direct_one_is() -> anyhow::Result<()> {
    let deny = [(Effect::Deny, "server__pid")];
    for (tool, arguments, expected) in [
        ("server__nothing", json!({}), "not found: There is no tool `server__nothing`."),
        ("apps__make", json!({}), "not found: There is no tool `apps__make`."),
        ("server__echo", json!({"text": 3}), "invalid: "),
        ("server__pid", json!({}), "denied: Not run: "),
    ] {
        let direct = Turn::call(tool, arguments.clone());
        let turns = vec![pass(tool, arguments), direct, Turn::text("Done.")];
        let stage = stage(Mode::Auto, &deny, turns).await?;
        stage.add_server(&[]).await?;
        let (events, _) = decided(&stage, &[]).await?;
        assert_eq!(outcome(&events)?, &done());
        let (nested, direct) = (stage.results_in(1), stage.results_in(2));
        assert!(nested[0].starts_with(expected), "{tool}: {nested:?}");
        let (_, words) = nested[0].split_once(": ").unwrap_or_default();
        let direct = direct.last().map(|text| text.trim_start_matches("Error: "));
        assert_eq!(direct, Some(words), "the words are the same");
        assert!(!lines(&events).iter().any(|line| line == &format!("started {tool}")), "{tool}");
    }
    Ok(())
}

#[tokio::test]
async fn a_nested_call_is_asked_about_as_a_direct_one_is() -> anyhow::Result<()> {
    for (decision, expected) in [
        (Decision::Allow, "came back: hi"),
        (Decision::Deny { instead: None }, "denied: Not run: the user did not allow this call."),
    ] {
        let turns = vec![pass("server__echo", json!({"text": "hi"})), Turn::text("Done.")];
        let stage = stage(Mode::Approve, &[], turns).await?;
        stage.add_server(&[]).await?;
        let (events, asked) = decided(&stage, &[Decision::Allow, decision]).await?;
        assert_eq!(outcome(&events)?, &done());
        let tools: Vec<&str> = asked.iter().map(|(_, tool)| tool.as_str()).collect();
        assert_eq!(tools, ["relay__pass", "server__echo"]);
        assert_eq!(asked[1].0, format!("{}/1", asked[0].0), "the id says which call it belongs to");
        assert!(stage.results_in(1)[0].starts_with(expected), "{:?}", stage.results_in(1));
    }
    Ok(())
}

/// Two calls that run side by side each ask for something: the person sees one question at a time.
#[tokio::test]
async fn approvals_of_nested_calls_wait_for_their_turn() -> anyhow::Result<()> {
    let ask = [(Effect::Ask, "server__echo")];
    let arguments = |text: &str| json!({ "tool": "server__echo", "arguments": { "text": text } });
    let calls = Turn::call("relay__pass", arguments("one")).and_call("relay__pass", arguments("two"));
    let stage = stage(Mode::Auto, &ask, vec![calls, Turn::text("Done.")]).await?;
    stage.add_server(&[]).await?;
    let mut reply = stage.exchange.reply_to("Go");
    let is_asked = |event: &Event| matches!(event, Event::Approval(_));
    let events = until_event(&mut reply, is_asked).await?;
    let quiet = tokio::time::timeout(Duration::from_millis(300), until_event(&mut reply, is_asked)).await;
    assert!(quiet.is_err(), "the second question waits for the first answer");
    if let Some(Event::Approval(approval)) = events.last() {
        assert!(reply.answer(&approval.id, Decision::Allow));
    }
    let events = all(reply).await?;
    assert_eq!(outcome(&events)?, &done());
    assert_eq!(stage.results_in(1), ["came back: one", "came back: two"]);
    Ok(())
}

#[tokio::test]
async fn a_nested_call_ends_with_its_parent() -> anyhow::Result<()> {
    let slow = json!({"seconds": 600});
    let turns = vec![pass("server__sleep", slow.clone()), Turn::text("Unheard.")];
    let stage = stage(Mode::Auto, &[], turns).await?;
    stage.add_server(&[]).await?;
    let mut reply = stage.exchange.reply_to("Go");
    let is_nested =
        |event: &Event| matches!(event, Event::ToolStarted { name, .. } if name == "server__sleep");
    until_event(&mut reply, is_nested).await?;
    reply.cancel();
    all(reply).await?;
    let manager = stage.exchange.extensions();
    let cancelled =
        async || Ok::<_, anyhow::Error>(manager.call_tool("server__cancelled", json!({})).await?.as_text());
    for _ in 0..100 {
        if cancelled().await? != "[]" {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    anyhow::bail!("the server still works on the nested call")
}

#[tokio::test]
async fn a_nested_call_that_is_left_behind_ends_as_well() -> anyhow::Result<()> {
    let leave = json!({ "tool": "server__sleep", "arguments": { "seconds": 600 } });
    let stage = stage(Mode::Auto, &[], vec![Turn::call("relay__leave", leave), Turn::text("Done.")]).await?;
    stage.add_server(&[]).await?;
    let (events, _) = decided(&stage, &[]).await?;
    assert_eq!(outcome(&events)?, &done());
    assert_eq!(stage.results_in(1), ["left"]);
    let manager = stage.exchange.extensions();
    for _ in 0..100 {
        if manager.call_tool("server__cancelled", json!({})).await?.as_text() != "[]" {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    anyhow::bail!("the server still works on the nested call")
}

#[tokio::test]
async fn calls_are_not_nested_without_end() -> anyhow::Result<()> {
    let arguments = (0..20).fold(json!({"text": "deep"}), |arguments, level| {
        let tool = if level == 0 { "server__echo" } else { "relay__pass" };
        json!({ "tool": tool, "arguments": arguments })
    });
    let stage =
        stage(Mode::Auto, &[], vec![Turn::call("relay__pass", arguments), Turn::text("Done.")]).await?;
    stage.add_server(&[]).await?;
    let (events, _) = decided(&stage, &[]).await?;
    assert_eq!(outcome(&events)?, &done());
    assert!(stage.results_in(1)[0].contains("denied: Not run: "), "{:?}", stage.results_in(1));
    Ok(())
}

#[tokio::test]
async fn a_call_outside_of_an_agent_cannot_call_tools() -> anyhow::Result<()> {
    let context = CallContext::new();
    let refused = context.call_tool("server__echo", JsonObject::new()).await;
    ensure!(matches!(refused, Err(ToolError::NotFound(_))), "{refused:?}");
    Ok(())
}

/// The clock is stopped and jumps: fifteen minutes take no time.
#[tokio::test(start_paused = true)]
async fn an_in_process_call_takes_the_time_that_its_tool_takes() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = world.manager(Vec::new()).await?;
    manager.add_extension(Arc::new(Relay))?;
    let output = manager.call_tool("relay__patience", json!({})).await?;
    ensure!(output.as_text() == "done", "{output:?}");
    manager.close().await;
    Ok(())
}

#[tokio::test]
async fn a_configured_time_limit_counts_for_in_process_calls() -> anyhow::Result<()> {
    let world = World::new()?;
    let developer = ExtensionConfig::builtin("developer").with_timeout(Duration::from_secs(1));
    let manager = world.manager(vec![developer]).await?;
    let slow = json!({ "command": "sleep 20", "timeout_secs": 20 });
    let output = bounded(manager.call_tool("developer__shell", slow)).await??;
    ensure!(matches!(failure_of(output)?, ToolError::Timeout(_)));
    manager.close().await;
    Ok(())
}

/// The wizard of goose 1.52 writes `timeout: 300` into the entry of every built-in extension.
#[test]
fn the_time_limit_that_wizards_write_does_not_limit_in_process_calls() {
    let limit =
        |secs| ExtensionConfig::builtin("developer").with_timeout(Duration::from_secs(secs)).call_limit();
    assert_eq!((limit(300), limit(299)), (None, Some(Duration::from_secs(299))));
}
