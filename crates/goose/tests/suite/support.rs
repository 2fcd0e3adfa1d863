//! Support for tests of services: a home with its own pool, faulty servers, and inspection of processes.
#![cfg(target_os = "linux")]

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use goose::{
    agent_manager::AgentManager,
    agents::{catalog::AgentCatalog, manifest::AgentMode},
    agents::{
        extension::ExtensionConfig,
        extension_manager::{ExtensionManager, ExtensionStatus, ManagerOptions},
    },
    config::{Paths, Settings, SettingsSource},
    services::{BindingContext, Phase, PoolOptions, ServiceChange, ServiceEvent, ServicePool},
};
use goose_extension::{ToolError, ToolOutput};
use goose_test_support::binary;
pub(crate) use goose_test_support::is_alive;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::broadcast::Receiver;
use tokio_util::sync::CancellationToken;

/// Time limit for an expected event on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A folder of its own, and a pool that knows no other.
pub(crate) struct World {
    home: TempDir,
    pub(crate) pool: Arc<ServicePool>,
    pub(crate) context: BindingContext,
}

impl World {
    pub(crate) fn new() -> anyhow::Result<Self> {
        Self::with(|options| options)
    }

    /// A world whose pool is told more.
    pub(crate) fn with(change: impl FnOnce(PoolOptions) -> PoolOptions) -> anyhow::Result<Self> {
        let home = tempfile::tempdir()?;
        let paths = Paths::under(home.path());
        let pool = ServicePool::new(change(PoolOptions::new(&paths, goose_mcp::BUILTINS)));
        let context = BindingContext::new(&paths, [("PATH".to_owned(), search_path()?)]);
        Ok(Self { home, pool, context })
    }

    /// A world whose services see something else.
    pub(crate) fn with_context(change: impl FnOnce(&mut BindingContext)) -> anyhow::Result<Self> {
        let mut world = Self::new()?;
        change(&mut world.context);
        Ok(world)
    }

    /// The same folder after a restart of the program.
    pub(crate) fn restarted(self) -> anyhow::Result<Self> {
        let pool = ServicePool::new(PoolOptions::new(&self.paths(), goose_mcp::BUILTINS));
        Ok(Self { pool, ..self })
    }

    pub(crate) fn paths(&self) -> Paths {
        Paths::under(self.home.path())
    }

    /// A file in the folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// A server that notes its starts and does wrong what the flags say.
    pub(crate) fn server(&self, name: &str, flags: &[&str]) -> anyhow::Result<ExtensionConfig> {
        let program = binary("faulty_server")?.to_string_lossy().into_owned();
        let starts = self.file(name).with_extension("starts").to_string_lossy().into_owned();
        let mut arguments = vec!["--starts".to_owned(), starts];
        arguments.extend(flags.iter().map(|&flag| flag.to_owned()));
        Ok(ExtensionConfig::stdio(name, program, arguments))
    }

    /// The process ids of all starts of a server so far.
    pub(crate) fn starts(&self, name: &str) -> Vec<u32> {
        let text = std::fs::read_to_string(self.file(name).with_extension("starts")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    pub(crate) fn options(&self) -> ManagerOptions {
        ManagerOptions::in_pool(Arc::clone(&self.pool), self.context.clone())
    }

    pub(crate) async fn manager(&self, configs: Vec<ExtensionConfig>) -> anyhow::Result<ExtensionManager> {
        self.manager_with(configs, self.options()).await
    }

    pub(crate) async fn manager_with(
        &self,
        configs: Vec<ExtensionConfig>,
        options: ManagerOptions,
    ) -> anyhow::Result<ExtensionManager> {
        Ok(ExtensionManager::with_options(configs, CancellationToken::new(), options).await?)
    }

    /// The settings of the folder.
    pub(crate) fn settings(&self) -> anyhow::Result<Settings> {
        let source = SettingsSource::new(self.paths())
            .with_builtins(goose_mcp::BUILTINS)
            .with_environment([("PATH", search_path()?)]);
        Ok(Settings::load(source)?)
    }

    /// Opens conversations with the services of the pool.
    pub(crate) fn agents(&self) -> anyhow::Result<AgentManager> {
        Ok(AgentManager::new(self.settings()?).with_pool(Arc::clone(&self.pool)))
    }

    /// Returns the events from now on.
    pub(crate) fn events(&self) -> Events {
        Events(self.pool.events())
    }
}

fn search_path() -> anyhow::Result<String> {
    std::env::var("PATH").context("there is a PATH")
}

/// The events of a pool since some time.
pub(crate) struct Events(Receiver<ServiceEvent>);

impl Events {
    /// The states that a service has gone through since the last look.
    pub(crate) fn phases(&mut self, name: &str) -> Vec<Phase> {
        self.changes(name)
            .into_iter()
            .filter_map(|change| match change {
                ServiceChange::Phase(phase, _) => Some(phase),
                _ => None,
            })
            .collect()
    }

    /// All that happened to a service since the last look.
    pub(crate) fn changes(&mut self, name: &str) -> Vec<ServiceChange> {
        let events = std::iter::from_fn(|| self.0.try_recv().ok());
        events.filter(|event| event.name == name).map(|event| event.change).collect()
    }
}

/// The result of something that must not hang.
pub(crate) async fn bounded<T>(work: impl Future<Output = T>) -> anyhow::Result<T> {
    tokio::time::timeout(PATIENCE, work).await.context("this hangs")
}

/// Waits until something holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) -> anyhow::Result<()> {
    within(PATIENCE, what, &mut holds).await
}

/// Waits until something holds, for at most so long.
pub(crate) async fn within(
    limit: Duration,
    what: &str,
    mut holds: impl FnMut() -> bool,
) -> anyhow::Result<()> {
    let begin = Instant::now();
    while !holds() {
        ensure!(begin.elapsed() < limit, "not within {limit:?}: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

/// The text of a call that goes well.
pub(crate) async fn text(manager: &ExtensionManager, tool: &str, arguments: Value) -> anyhow::Result<String> {
    let output = bounded(manager.call_tool(tool, arguments)).await??;
    ensure!(!output.is_error, "`{tool}` failed: {}", output.as_text());
    Ok(output.as_text())
}

/// The process that an extension runs in.
pub(crate) async fn pid(manager: &ExtensionManager, extension: &str) -> anyhow::Result<u32> {
    Ok(text(manager, &format!("{extension}__pid"), json!({})).await?.parse()?)
}

/// The error of a call that goes wrong but was carried out.
pub(crate) async fn failure(
    manager: &ExtensionManager,
    tool: &str,
    arguments: Value,
) -> anyhow::Result<ToolError> {
    failure_of(bounded(manager.call_tool(tool, arguments)).await??)
}

/// The failure that an output stands for.
pub(crate) fn failure_of(output: ToolOutput) -> anyhow::Result<ToolError> {
    output.failure().with_context(|| format!("this is no failure: {output:?}"))
}

/// The state of one extension.
pub(crate) fn status(manager: &ExtensionManager, name: &str) -> anyhow::Result<ExtensionStatus> {
    manager.status().into_iter().find(|status| status.name == name).context("there is no such extension")
}

pub(crate) fn phase(manager: &ExtensionManager, name: &str) -> Option<Phase> {
    Some(manager.service(name).ok()?.phase())
}

/// The names of the tools that a model sees.
pub(crate) async fn tool_names(manager: &ExtensionManager) -> anyhow::Result<Vec<String>> {
    let tools = bounded(manager.list_tools()).await??;
    Ok(tools.iter().map(|tool| tool.name().to_owned()).collect())
}

/// Signals a process by its id.
pub(crate) fn signal(pid: u32, name: &str) -> anyhow::Result<()> {
    let status = std::process::Command::new("kill").args(["-s", name, &pid.to_string()]).status()?;
    ensure!(status.success(), "{pid} could not be signalled");
    Ok(())
}

/// A mode that comes with goose, by its name.
pub(crate) fn builtin_mode(name: &str) -> anyhow::Result<AgentMode> {
    Ok(AgentCatalog::builtin().find(name)?.1)
}
