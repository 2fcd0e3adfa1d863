//! Extensions through the manager, against recorded services.
//!
//! `GOOSE_RECORD_MCP=1 cargo test --package goose --test mcp_integration_test` talks to the real ones and writes what
//! they said to `tests/recordings`; without it the recordings are replayed, with no service running. A request that a
//! recording does not know fails the test with the difference.

use std::{collections::HashMap, env, path::Path, sync::Arc};

use anyhow::ensure;
use goose::{
    agents::{
        extension::ExtensionConfig,
        extension_manager::{ExtensionManager, ManagerOptions},
    },
    config::Paths,
    services::{BindingContext, PoolOptions, ServicePool},
};
use goose_extension::{JsonObject, prelude::*};
use goose_test_support::{RecordingCaller, Tapes, binary};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// As the documentation for authors shows it, in a program that has registered its built-ins.
#[tokio::test]
async fn test_mcp_extension() {
    goose::services::register_builtins(goose_mcp::BUILTINS);
    let config = ExtensionConfig::builtin("memory");
    let manager = ExtensionManager::new(vec![config], CancellationToken::new()).await.unwrap();
    let tools = manager.list_tools().await.unwrap();
    assert!(!tools.is_empty());
}

/// An extension as a beginner writes it: without macros, with `call_tool` alone.
struct Greeter(Vec<Tool>);

#[async_trait]
impl Extension for Greeter {
    fn name(&self) -> &str {
        "greeter"
    }

    fn description(&self) -> &str {
        "Greets"
    }

    fn instructions(&self) -> &str {
        ""
    }

    fn tools(&self) -> &[Tool] {
        &self.0
    }

    async fn status(&self) -> AnyhowResult<HashMap<String, Value>> {
        Ok(HashMap::new())
    }

    async fn call_tool(&self, _tool: &str, _parameters: HashMap<String, Value>) -> ToolResult<Value> {
        Ok(json!("hello"))
    }
}

/// On the way of a session's calls, whoever has written the extension. Other tests of this program call none of these
/// tools.
#[tokio::test]
async fn arguments_are_checked_once_for_every_extension() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let paths = Paths::under(home.path());
    let pool = ServicePool::new(PoolOptions::new(&paths, goose_mcp::BUILTINS));
    let options =
        ManagerOptions::in_pool(pool, BindingContext::new(&paths, []).with_working_dir(home.path()));
    let builtins = ["developer", "tutorial"].map(ExtensionConfig::builtin);
    let manager = ExtensionManager::with_options(builtins.into(), CancellationToken::new(), options).await?;
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let schema: JsonObject = serde_json::from_value(schema)?;
    manager.add_extension(Arc::new(Greeter(vec![Tool::new("greet", "Greets", schema)])))?;
    manager.list_tools().await?;
    let calls = [
        ("developer__tree", json!({"path": "."})),
        ("developer__shell", json!({"command": "true"})),
        ("tutorial__load_tutorial", json!({"name": "first-game"})),
        ("greeter__greet", json!({"name": "Ada"})),
    ];
    for (name, arguments) in calls {
        let handle = manager.locate(name)?;
        let before = handle.tool.times_checked();
        ensure!(!manager.call_tool(name, arguments).await?.is_error, "{name}");
        assert_eq!(handle.tool.times_checked() - before, 1, "{name}");
    }
    manager.close().await;
    Ok(())
}

fn is_recording() -> bool {
    env::var_os("GOOSE_RECORD_MCP").is_some_and(|value| !value.is_empty() && value != "0")
}

/// A pool whose services are recorded or replayed, in a home of its own.
struct Studio {
    home: TempDir,
    pool: Arc<ServicePool>,
    tapes: Tapes,
    context: BindingContext,
}

impl Studio {
    /// One folder of recordings for each test.
    fn new(test: &str) -> anyhow::Result<Self> {
        let home = tempfile::tempdir()?;
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings").join(test);
        let tapes =
            Tapes::new(folder, is_recording()).with_placeholder(home.path().to_string_lossy(), "HOME");
        let paths = Paths::under(home.path());
        let environment = env::vars().filter(|(name, _)| name == "PATH");
        let context = BindingContext::new(&paths, environment);
        let begun = tapes.clone();
        let options = PoolOptions::new(&paths, goose_mcp::BUILTINS)
            .with_interceptors(move |service| Ok(Arc::new(begun.tape(service)?)));
        Ok(Self { home, pool: ServicePool::new(options), tapes, context })
    }

    async fn manager(&self, configs: Vec<ExtensionConfig>) -> anyhow::Result<ExtensionManager> {
        let options = ManagerOptions::in_pool(Arc::clone(&self.pool), self.context.clone());
        Ok(ExtensionManager::with_options(configs, CancellationToken::new(), options).await?)
    }

    /// Everything recorded was asked for, and nothing else.
    async fn finish(self, manager: ExtensionManager) -> anyhow::Result<()> {
        manager.close().await;
        self.tapes.finish()?;
        Ok(self.home.close()?)
    }
}

#[tokio::test]
async fn memory_remembers() -> anyhow::Result<()> {
    let studio = Studio::new("memory")?;
    let manager = studio.manager(vec![ExtensionConfig::builtin("memory")]).await?;
    let fact = json!({ "category": "colours", "data": "The sky is blue.", "is_global": true });
    let remembered = manager.call_tool("memory__remember_memory", fact).await?;
    ensure!(!remembered.is_error, "{}", remembered.as_text());
    let wanted = json!({ "category": "colours", "is_global": true });
    let found = manager.call_tool("retrieve_memories", wanted).await?;
    ensure!(found.as_text().contains("The sky is blue."), "{}", found.as_text());
    studio.finish(manager).await
}

fn kitchen_sink() -> anyhow::Result<ExtensionConfig> {
    let program = binary("kitchen_sink")?.to_string_lossy().into_owned();
    Ok(ExtensionConfig::stdio("kitchen_sink", program, Vec::<String>::new()))
}

#[tokio::test]
async fn a_program_answers_asks_and_reports() -> anyhow::Result<()> {
    let studio = Studio::new("kitchen_sink")?;
    let manager = studio.manager(vec![kitchen_sink()?]).await?;
    let tools = manager.list_tools().await?;
    ensure!(tools.iter().any(|tool| tool.name() == "kitchen_sink__echo"), "{tools:?}");
    let sum = manager.call_tool("add", json!({ "a": 2, "b": 3 })).await?;
    ensure!(sum.into_value()? == json!(5));
    let failed = manager.call_tool("fail", json!({ "reason": "because" })).await?;
    ensure!(failed.is_error && failed.as_text().contains("because"), "{}", failed.as_text());
    let recorder = RecordingCaller::new();
    let named = manager.call_tool_with("ask_name", json!({}), &recorder.context()).await?;
    ensure!(named.as_text().contains("Ada"), "{}", named.as_text());
    let resources = manager.list_resources(None).await?;
    ensure!(resources.problems.is_empty() && !resources.items.is_empty(), "{resources:?}");
    studio.finish(manager).await
}

/// A peer that others wrote. To record it anew, `scripts/interop` must have installed it.
#[tokio::test]
async fn a_server_of_others_thinks() -> anyhow::Result<()> {
    let studio = Studio::new("thinking")?;
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.interop/node_modules");
    let node = peers.join("node/bin/node").to_string_lossy().into_owned();
    let server = peers.join("@modelcontextprotocol/server-sequential-thinking/dist/index.js");
    let config = ExtensionConfig::stdio("thinking", node, [server.to_string_lossy()]);
    let manager = studio.manager(vec![config]).await?;
    let thought =
        json!({ "thought": "one", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1 });
    let output = manager.call_tool("thinking__sequentialthinking", thought).await?;
    ensure!(output.into_value()?["thoughtNumber"] == json!(1));
    studio.finish(manager).await
}

#[tokio::test]
async fn a_request_that_was_not_recorded_fails_with_the_difference() -> anyhow::Result<()> {
    if is_recording() {
        return Ok(()); // there is nothing to replay while recording
    }
    let studio = Studio::new("kitchen_sink")?;
    let manager = studio.manager(vec![kitchen_sink()?]).await?;
    let error = manager.call_tool("add", json!({ "a": 2, "b": 4 })).await;
    let error = match error {
        Ok(output) => output.failure().unwrap_or_else(|| ToolError::ExecutionError(output.as_text())),
        Err(error) => error,
    };
    let text = error.to_string();
    ensure!(text.contains("-") && text.contains("\"b\": 3"), "the recorded arguments are shown: {text}");
    ensure!(text.contains("+") && text.contains("\"b\": 4"), "the new ones too: {text}");
    ensure!(text.contains("GOOSE_RECORD_MCP=1"), "and what to do: {text}");
    manager.close().await;
    ensure!(studio.tapes.finish().is_err(), "the test fails even where nobody looks at the call's error");
    Ok(())
}
