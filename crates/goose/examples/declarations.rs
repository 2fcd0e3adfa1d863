//! Prints the TypeScript declarations of every built-in tool that programs of `code_execution` can call, as they see
//! them.
//! `scripts/interop` has them checked by the TypeScript compiler.

#![expect(clippy::print_stdout, reason = "its purpose")]

use std::sync::Arc;

use anyhow::ensure;
use goose::{
    agent_manager::{AgentManager, OpenOptions},
    agents::manifest::{AgentManifest, AgentMode},
    builtins,
    config::{Paths, Settings, SettingsSource},
    platform::code_execution::CodeExecution,
};
use goose_extension::{CallContext, JsonObject, prelude::*};
use goose_test_support::KitchenSink;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let settings =
        Settings::load(SettingsSource::new(Paths::under(home.path())).with_builtins(goose_mcp::BUILTINS))?;
    // An agent with all of them: a mode may name each extension by itself.
    let services = goose_mcp::BUILTINS.iter().map(|builtin| builtin.name);
    let names: Vec<&str> = services.chain(builtins::platform().iter().map(|it| it.name)).collect();
    let mode = AgentMode::new("all", names.clone(), names.clone());
    let options = OpenOptions::new(settings.profile(None)?)
        .with_agent(Arc::new(AgentManifest::default()), mode)
        .with_working_dir(home.path());
    let agent = AgentManager::new(settings).agent(options).await?;
    agent.extensions.add_extension(Arc::new(KitchenSink::default()))?;
    // Not the toolset's, which offers only one of two tools that keep the same list.
    let tools: Arc<[Tool]> = agent.extensions.list_tools().await?;

    let code = CodeExecution::new({
        let tools = Arc::clone(&tools);
        move || Arc::clone(&tools)
    });
    // These have no tools, or none that a program can call.
    let without = ["tom", "code_execution"];
    let expected = names.iter().filter(|name| !without.contains(name)).copied().chain(["kitchen_sink"]);
    for name in expected {
        let arguments = JsonObject::from_iter([("functions".to_owned(), json!([name]))]);
        let output = code.call("get_function_details", arguments, &CallContext::new()).await?.as_text();
        let count = tools.iter().filter(|tool| tool.name().starts_with(&format!("{name}__"))).count();
        let declared = output.matches("\n  function ").count();
        ensure!(
            count > 0 && declared == count,
            "{name} has {count} tools, declared are {declared}:\n{output}"
        );
        println!("{output}");
    }
    Ok(())
}
