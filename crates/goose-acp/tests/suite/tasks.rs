//! Tasks that an agent does: what it says, what it is given, and how a task is cancelled.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures::StreamExt as _;
use goose::{
    exchange::{Decision, Event, Outcome},
    permission::Mode,
    session::Step,
};
use goose_extension::{CallContext, ElicitAction, Elicited, Extension as _, Role, Tool};
use goose_mcp_bridge::{ConnectOptions, connect};
use goose_test_support::{ModelServer, Turn, is_alive};
use serde_json::json;

use crate::support::{World, bounded, done, follow, program, program_with, say, tell, until, until_text};

#[tokio::test]
async fn an_answer_is_streamed_stored_and_part_of_the_conversation() -> anyhow::Result<()> {
    let world = World::new(&program(&[])?)?;
    let exchange = world.open("other", Mode::Auto).await?;
    let seen = tell(&exchange, "say one two three").await?;
    assert_eq!((seen.text().as_str(), seen.outcome()?), ("one two three", &done()));
    let texts = seen.events.iter().filter(|event| matches!(event, Event::Text(_))).count();
    assert!(texts >= 3, "{:?}", seen.events);
    let messages = exchange.messages();
    let said: Vec<(Role, String)> =
        messages.iter().map(|message| (message.role.clone(), message.text())).collect();
    assert_eq!(said, [(Role::User, "say one two three".into()), (Role::Assistant, "one two three".into())]);
    assert!(world.model.asked().is_empty(), "no model was asked");

    // The same process, the same conversation there.
    assert_eq!(tell(&exchange, "say four").await?.text(), "four");
    let steps = world.manager.store().steps(exchange.session_id()).await?;
    let messages = steps.steps.iter().filter(|stored| matches!(stored.step, Step::Message { .. })).count();
    assert_eq!(messages, 4);
    exchange.close().await;
    Ok(())
}

#[tokio::test]
async fn what_an_agent_does_is_a_line_in_the_log_and_a_new_paragraph() -> anyhow::Result<()> {
    let world = World::new(&program(&[])?)?;
    let exchange = world.open("other", Mode::Auto).await?;
    let seen = tell(&exchange, "work Looking at \u{202e}the moon").await?;
    assert_eq!(seen.text(), "First I look.\n\nThen I speak.");
    assert_eq!(seen.logs(), ["other: Looking at \\u{202e}the moon"]);
    Ok(())
}

#[tokio::test]
async fn it_gets_the_folder_and_the_variables_of_its_entry_and_no_secrets() -> anyhow::Result<()> {
    let entry = program_with(&[], "    envs: {COLOUR: blue}\n    env_keys: [OTHER_KEY]\n")?;
    let model = ModelServer::scripted([])?;
    let secrets = [("OTHER_KEY", "sk-1"), ("FOREIGN_API_KEY", "sk-canary"), ("HARMLESS", "yes")];
    let world = World::with(&entry, model, &secrets)?;
    let exchange = world.open("other", Mode::Auto).await?;
    for (name, value) in
        [("COLOUR", "blue"), ("OTHER_KEY", "sk-1"), ("FOREIGN_API_KEY", "nothing"), ("HARMLESS", "yes")]
    {
        assert_eq!(tell(&exchange, &format!("env {name}")).await?.text(), value, "{name}");
    }
    let folder = world.folder();
    let expected = format!("{:?} {}", folder, folder.display());
    assert_eq!(tell(&exchange, "folder").await?.text(), expected);
    Ok(())
}

#[tokio::test]
async fn it_reaches_the_servers_that_it_depends_on_and_the_rest_is_reported_by_name() -> anyhow::Result<()> {
    let config = program_with(&[], "    dependencies: [tickets, memory, nowhere]\n")?
        + "extensions:\n  tickets: {type: stdio, cmd: /bin/tickets, args: [-v], envs: {LEVEL: high}}\n";
    let world = World::new(&config)?;
    let exchange = world.open("other", Mode::Auto).await?;
    let seen = tell(&exchange, "servers").await?;
    let servers: serde_json::Value = serde_json::from_str(&seen.text())?;
    let env = json!([{"name": "LEVEL", "value": "high"}]);
    assert_eq!(servers, json!([{"name": "tickets", "command": "/bin/tickets", "args": ["-v"], "env": env}]));
    let is_told = |event: &Event| matches!(event, Event::Notice(text) if text.contains("`nowhere`"));
    assert!(seen.events.iter().any(is_told), "{:?}", seen.events);
    let logs = seen.logs();
    let [line] = &logs[..] else { anyhow::bail!("{logs:?}") };
    assert!(line.starts_with("other: It is not given memory__"), "{line}");
    Ok(())
}

/// The session's services are served to an agent that can reach them: while it works, and under the session's rules.
#[tokio::test(flavor = "multi_thread")]
async fn it_is_given_services_of_goose_under_the_permissions_of_its_session() -> anyhow::Result<()> {
    let world = World::new(&program_with(&["--http"], "    dependencies: [memory]\n")?)?;
    let exchange = world.open("other", Mode::Approve).await?;
    let servers = tell(&exchange, "servers").await?.text();
    let servers: serde_json::Value = serde_json::from_str(&servers)?;
    assert_eq!((&servers[0]["type"], &servers[0]["name"]), (&json!("http"), &json!("goose")));
    let url = servers[0]["url"].as_str().context("an address")?;
    let path = url::Url::parse(url)?.path().to_owned();
    assert!(path.len() > 30, "only the agent knows it: {url}");
    // Nobody else reaches it.
    assert!(connect(url.replace(&path, "/mcp").as_str(), ConnectOptions::default()).await.is_err());
    let tools = connect(url, ConnectOptions::default()).await?;
    let names: Vec<&str> = tools.tools().iter().map(Tool::name).collect();
    assert!(names.contains(&"memory__remember_memory"), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("developer__") || *name == "delegate"), "{names:?}");
    let context = CallContext::new();
    let remember = || {
        let fact = json!({"category": "birds", "data": "geese", "is_global": false});
        let arguments = fact.as_object().cloned().unwrap_or_default();
        tools.call("memory__remember_memory", arguments, &context)
    };
    let idle = remember().await?;
    assert!(idle.is_error && idle.as_text().contains("No task is being worked on"), "{idle:?}");

    let go = world.folder().join("go");
    for (decision, is_done) in [(Decision::Deny { instead: None }, false), (Decision::Allow, true)] {
        let mut reply = exchange.reply_to(format!("say a ;; await {}", go.display()));
        until_text(&mut reply).await?;
        let calling = async {
            let called = remember().await;
            std::fs::write(&go, "")?;
            anyhow::Ok(called?)
        };
        let following = async {
            let mut asked = Vec::new();
            while let Some(event) = bounded(reply.next()).await? {
                if let Event::Approval(approval) = &event {
                    asked.push(approval.tool.clone());
                    assert!(reply.answer(&approval.id, decision.clone()));
                }
            }
            anyhow::Ok(asked)
        };
        let (called, asked) = tokio::try_join!(calling, following)?;
        assert_eq!(asked, ["memory__remember_memory"]);
        assert_eq!(!called.is_error, is_done, "{called:?}");
        std::fs::remove_file(&go)?;
    }
    exchange.close().await;
    assert!(connect(url, ConnectOptions::default()).await.is_err(), "it ends with the session");
    Ok(())
}

/// A planner with a model of its own answers in a session whose models were not needed before, and leaves them as they
/// were.
#[tokio::test]
async fn a_plan_in_its_session_is_written_by_the_planners_model() -> anyhow::Result<()> {
    let model = ModelServer::scripted([Turn::text("1. Begin."), Turn::text("It is one.")])?;
    let config = program(&[])?
        + "GOOSE_PROVIDER: openai\nGOOSE_MODEL: gpt-4o\nGOOSE_PLANNER_PROVIDER: openai\nGOOSE_PLANNER_MODEL: gpt-5\n";
    let url = model.url();
    let world = World::with(&config, model, &[("OPENAI_HOST", &url), ("OPENAI_API_KEY", "key")])?;
    let exchange = world.open_without_model("other").await?;
    assert_eq!(tell(&exchange, "say one").await?.text(), "one");
    let plan = follow(exchange.write_plan(), None).await?;
    assert_eq!((plan.text().as_str(), plan.outcome()?), ("1. Begin.", &done()));
    assert_eq!(tell(&exchange, "@judge is that one?").await?.text(), "It is one.");
    let models: Vec<_> = world.model.asked().iter().map(|asked| asked.body["model"].clone()).collect();
    assert_eq!(models, ["gpt-5", "gpt-4o"]);
    exchange.close().await;
    Ok(())
}

#[tokio::test]
async fn it_needs_no_model_of_goose() -> anyhow::Result<()> {
    let world = World::new(&program(&[])?)?;
    let exchange = world.open_without_model("other").await?;
    assert_eq!(tell(&exchange, "say one").await?.text(), "one");
    // Another agent does, and says so.
    let seen = tell(&exchange, "@judge is that one?").await?;
    let Outcome::Failed(failure) = seen.outcome()? else { anyhow::bail!("{:?}", seen.outcome()?) };
    assert!(failure.message.contains("no model is chosen"), "{failure:?}");
    assert_eq!(tell(&exchange, "say two").await?.text(), "two");
    exchange.close().await;
    Ok(())
}

#[tokio::test]
async fn its_questions_reach_the_person() -> anyhow::Result<()> {
    let world = World::new(&program(&[])?)?;
    let exchange = world.open("other", Mode::Auto).await?;
    let answer = Elicited::new(ElicitAction::Accept).with_content(json!({"name": "Ada"}));
    let seen = say(&exchange, "form Who are you?", answer).await?;
    assert_eq!((seen.text().as_str(), seen.questions()), ("Ada", vec!["other".to_owned()]));
    exchange.set_attended(false);
    let seen = tell(&exchange, "form Who are you?").await?;
    assert!(seen.text().contains("No user is there"), "{}", seen.text());
    Ok(())
}

/// The prompts that the agent got.
fn prompts(file: &std::path::Path) -> anyhow::Result<Vec<String>> {
    std::fs::read_to_string(file)?.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

#[tokio::test]
async fn it_gets_the_words_without_its_name() -> anyhow::Result<()> {
    let file = tempfile::NamedTempFile::new()?;
    let world = World::new(&program(&["--prompts", &file.path().to_string_lossy()])?)?;
    let exchange = world.open("goose-agent", Mode::Auto).await?;
    assert_eq!(tell(&exchange, "@other say hello").await?.text(), "hello");
    assert_eq!(tell(&exchange, " @other/main: say hello").await?.text(), "hello");
    let exchange = world.open("other", Mode::Auto).await?;
    tell(&exchange, "@ada says hello").await?;
    let prompts = prompts(file.path())?;
    assert_eq!((prompts[0].as_str(), prompts[2].as_str()), ("say hello", "@ada says hello"));
    let second = &prompts[1];
    assert!(second.starts_with("say hello\n\nSaid in this session before"), "{second}");
    assert!(second.contains("User: @other say hello\nAssistant: hello"), "it sees the session: {second}");
    Ok(())
}

#[tokio::test]
async fn a_reply_without_a_message_says_the_request_again() -> anyhow::Result<()> {
    let file = tempfile::NamedTempFile::new()?;
    let world = World::new(&program(&["--prompts", &file.path().to_string_lossy()])?)?;
    let exchange = world.open("other", Mode::Auto).await?;
    tell(&exchange, "crash").await.map(drop)?;
    bounded(async { exchange.reply().collect::<Vec<_>>().await }).await?;
    assert_eq!(prompts(file.path())?, ["crash", "crash\n\nGo on."]);
    Ok(())
}

#[tokio::test]
async fn work_without_words_is_done() -> anyhow::Result<()> {
    let world = World::new(&program(&[])?)?;
    let exchange = world.open("other", Mode::Auto).await?;
    let file = world.folder().join("a.txt");
    let seen = tell(&exchange, &format!("change {} x", file.display())).await?;
    assert_eq!((seen.text().as_str(), seen.outcome()?), ("(no text)", &done()));
    assert_eq!(std::fs::read_to_string(&file)?, "x");
    let seen = tell(&exchange, &format!("touch {}", file.display())).await?;
    assert_eq!((seen.text().as_str(), seen.outcome()?), ("", &Outcome::Empty), "nothing is known of it");
    Ok(())
}

#[tokio::test]
async fn another_agent_can_be_chosen_while_it_works() -> anyhow::Result<()> {
    let starts = tempfile::NamedTempFile::new()?;
    let world = World::new(&program(&["--starts", &starts.path().to_string_lossy()])?)?;
    let exchange = world.open("other", Mode::Auto).await?;
    let mut reply = exchange.reply_to("wait");
    until_text(&mut reply).await?;
    let chosen = tokio::time::timeout(Duration::from_secs(5), exchange.switch_agent("goose-agent")).await?;
    assert_eq!(chosen?, "goose-agent/assistant");
    reply.cancel();
    bounded(async { reply.by_ref().collect::<Vec<_>>().await }).await?;
    let program: u32 = std::fs::read_to_string(starts.path())?.trim().parse()?;
    until("its end", || !is_alive(program)).await?;
    assert_eq!(tell(&exchange, "Hello").await?.text(), "ok");
    Ok(())
}

#[tokio::test]
async fn cancelling_ends_a_task_and_the_agent_can_be_used_again() -> anyhow::Result<()> {
    let starts = tempfile::NamedTempFile::new()?;
    let path = starts.path().to_string_lossy().into_owned();
    let world = World::new(&program(&["--starts", &path])?)?;
    let exchange = world.open("other", Mode::Auto).await?;
    let mut reply = exchange.reply_to("wait");
    until_text(&mut reply).await?;
    reply.cancel();
    let begun = Instant::now();
    let last = bounded(async { reply.by_ref().collect::<Vec<_>>().await }).await?.pop();
    assert_eq!(last, Some(Event::Finished(Outcome::Cancelled)));
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    assert_eq!(tell(&exchange, "say again").await?.text(), "again");
    assert_eq!(std::fs::read_to_string(&path)?.lines().count(), 1, "one process for both");
    Ok(())
}

#[tokio::test]
async fn an_agent_that_does_not_listen_is_ended_when_its_task_is_cancelled() -> anyhow::Result<()> {
    let starts = tempfile::NamedTempFile::new()?;
    let path = starts.path().to_string_lossy().into_owned();
    let world = World::new(&program(&["--starts", &path])?)?;
    let exchange = world.open("other", Mode::Auto).await?;
    let mut reply = exchange.reply_to("deaf");
    until_text(&mut reply).await?;
    reply.cancel();
    let last = bounded(async { reply.by_ref().collect::<Vec<_>>().await }).await?.pop();
    assert_eq!(last, Some(Event::Finished(Outcome::Cancelled)));
    let started: Vec<u32> =
        std::fs::read_to_string(&path)?.lines().filter_map(|line| line.parse().ok()).collect();
    until("its end", || !is_alive(started[0])).await?;
    assert_eq!(tell(&exchange, "say again").await?.text(), "again");
    Ok(())
}

#[tokio::test]
async fn nothing_of_it_outlives_the_session() -> anyhow::Result<()> {
    let starts = tempfile::NamedTempFile::new()?;
    let path = starts.path().to_string_lossy().into_owned();
    let world = World::new(&program(&["--starts", &path])?)?;
    let exchange = world.open("other", Mode::Auto).await?;
    let child: u32 = tell(&exchange, "child").await?.text().parse()?;
    let program: u32 = std::fs::read_to_string(&path)?.trim().parse()?;
    assert!(is_alive(child) && is_alive(program));
    exchange.close().await;
    assert!(!is_alive(child) && !is_alive(program));
    Ok(())
}
