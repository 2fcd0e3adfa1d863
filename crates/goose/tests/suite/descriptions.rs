//! The descriptions of the tools in this crate, by the rule of `goose_test_support::description_problems`.

use std::sync::Arc;

use goose::{
    agent_manager::{AgentManager, OpenOptions},
    agents::manifest::{AgentManifest, AgentMode},
    builtins,
    config::{Paths, Settings, SettingsSource},
    platform::code_execution::CodeExecution,
};
use goose_extension::{Extension as _, Tool};
use goose_test_support::description_problems;

/// An agent as a tool of another.
const AGENT: &str = "coding-agent";

/// Extensions that have no tools, or have them only where the configuration enables them.
const ELSEWHERE: [&str; 2] = ["tom", "code_execution"];

fn problems<'a>(tools: impl IntoIterator<Item = &'a Tool>) -> Vec<String> {
    let problems = |tool: &Tool| {
        let problems = description_problems(tool);
        problems.into_iter().map(|problem| format!("{}: {problem}", tool.name())).collect::<Vec<_>>()
    };
    tools.into_iter().flat_map(problems).collect()
}

#[tokio::test]
async fn tools_say_what_they_return_and_when_they_fail() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let source = SettingsSource::new(Paths::under(home.path())).with_builtins(goose_mcp::BUILTINS);
    let settings = Settings::load(source)?;
    // An agent with all of them: a mode may name each extension by itself.
    let names: Vec<&str> = builtins::platform().iter().map(|it| it.name).chain([AGENT]).collect();
    let mode = AgentMode::new("all", names.clone(), names.clone());
    let profile = settings.profile(None)?;
    let options = OpenOptions::new(profile.clone())
        .with_agent(Arc::new(AgentManifest::default()), mode)
        .with_working_dir(home.path());
    let manager = AgentManager::new(settings);
    let agent = manager.agent(options).await?;
    let tools = agent.extensions.list_tools().await?;
    let has_tools = |name: &str| tools.iter().any(|tool| tool.name().starts_with(&format!("{name}__")));
    for name in names.iter().filter(|name| !ELSEWHERE.contains(name)) {
        assert!(has_tools(name), "{name} has no tools");
    }

    let mut found = problems(tools.iter());
    found.extend(problems(CodeExecution::new(Arc::default).tools()));
    found.extend(problems(manager.served_agents(profile, home.path()).tools()));
    assert!(found.is_empty(), "{}", found.join("\n"));
    Ok(())
}
