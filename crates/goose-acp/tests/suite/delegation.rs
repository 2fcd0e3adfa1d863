//! An external agent as a delegate, and as the tool of an agent that depends on it.

use goose::{
    agents::catalog::AgentCatalog,
    exchange::Decision,
    permission::Mode,
    session::{ListOptions, SessionKind},
};
use goose_test_support::{ModelServer, Turn};
use serde_json::json;

use crate::support::{World, done, program, say, tell};

/// An agent that may delegate, and one that depends on the other agent.
const AGENTS: [(&str, &str); 2] = [
    ("boss", "name: boss\nmodes:\n  - {slug: main, tool_groups: [summon], dependencies: [summon]}\n"),
    ("friend", "name: friend\nmodes:\n  - {slug: main, tool_groups: [other], dependencies: [other]}\n"),
];

fn world(turns: impl IntoIterator<Item = Turn>) -> anyhow::Result<World> {
    let world = World::with_model(&program(&[])?, ModelServer::scripted(turns)?)?;
    let folder = world.manager.settings().paths().config.join("agents");
    std::fs::create_dir_all(&folder)?;
    for (name, text) in AGENTS {
        std::fs::write(folder.join(format!("{name}.yaml")), text)?;
    }
    Ok(world)
}

/// The result of the last call that the model was shown.
fn last_result(world: &World) -> String {
    let asked = world.model.asked();
    asked.last().and_then(|asked| asked.tool_results().pop()).map(|(_, text)| text).unwrap_or_default()
}

#[tokio::test]
async fn a_task_is_delegated_to_it_by_name() -> anyhow::Result<()> {
    let task = json!({"source": "other", "instructions": "say hello boss"});
    let world = world([Turn::call("delegate", task), Turn::text("It greets.")])?;
    let exchange = world.open("boss", Mode::Auto).await?;
    let seen = tell(&exchange, "Let the other agent greet.").await?;
    assert_eq!((seen.text().as_str(), seen.outcome()?), ("It greets.", &done()));
    assert!(last_result(&world).starts_with("hello boss\n\n(session "), "{}", last_result(&world));
    let sessions = world.manager.store().list(ListOptions::newest(10).all_kinds()).await?;
    let delegate = sessions.iter().find(|session| session.kind == SessionKind::Delegate);
    assert_eq!(delegate.and_then(|session| session.agent.as_deref()), Some("other/main"));
    Ok(())
}

#[tokio::test]
async fn a_delegates_write_is_asked_about_in_the_session_of_its_parent() -> anyhow::Result<()> {
    let file = |world: &World| world.folder().join("a.txt");
    let world = world([])?;
    let task = json!({"source": "other", "instructions": format!("write {} x", file(&world).display())});
    let model = ModelServer::scripted([Turn::call("delegate", task), Turn::text("Done.")])?;
    let world = World { model, ..world };
    let exchange = world.open("boss", Mode::Approve).await?;
    let seen = say(&exchange, "Let it write.", Decision::Allow).await?;
    assert_eq!(seen.questions(), ["delegate", "developer__write"]);
    assert_eq!(std::fs::read_to_string(file(&world))?, "x");
    Ok(())
}

#[tokio::test]
async fn it_is_a_tool_for_an_agent_that_depends_on_it() -> anyhow::Result<()> {
    let call = Turn::call("other__task", json!({"task": "say hello friend"}));
    let world = world([call, Turn::text("It greets.")])?;
    let exchange = world.open("friend", Mode::Auto).await?;
    let seen = tell(&exchange, "Ask it.").await?;
    assert_eq!(seen.text(), "It greets.");
    assert_eq!(world.model.asked()[0].tool_names(), ["other__task"]);
    assert!(last_result(&world).starts_with("hello friend"), "{}", last_result(&world));
    Ok(())
}

#[tokio::test]
async fn a_failure_is_told_to_the_model_with_what_to_do() -> anyhow::Result<()> {
    let task = json!({"source": "other", "instructions": "crash"});
    let world = world([Turn::call("delegate", task), Turn::text("It failed.")])?;
    let exchange = world.open("boss", Mode::Auto).await?;
    tell(&exchange, "Let it work.").await?;
    let result = last_result(&world);
    for words in ["The agent `other`", "exit code 3", "Do the task yourself or give it to another agent"] {
        assert!(result.contains(words), "{result}");
    }
    Ok(())
}

#[test]
fn entries_that_cannot_work_are_named_and_the_others_stay() -> anyhow::Result<()> {
    let world = World::new(
        "agents:\n  good: {type: acp, command: x}\n  off: {type: acp, command: x, enabled: false}\n  \
         nowhere: {type: acp_http}\n  odd: {type: carrier_pigeon}\n  Bad Name: {type: acp, command: x}\n",
    )?;
    let catalog = AgentCatalog::load(world.manager.settings().paths(), &world.folder());
    let names: Vec<&str> = catalog.agents.iter().map(|entry| entry.manifest.name.as_str()).collect();
    assert!(names.contains(&"good") && !names.contains(&"off"), "{names:?}");
    let problems: Vec<&str> = catalog.problems.iter().map(|(_, reason)| reason.as_str()).collect();
    assert_eq!(problems.len(), 3, "{problems:?}");
    for words in ["agent 'nowhere'", "'url' is missing", "agent 'odd'", "acp_http", "'Bad Name'"] {
        assert!(problems.iter().any(|problem| problem.contains(words)), "{words}: {problems:?}");
    }
    Ok(())
}
