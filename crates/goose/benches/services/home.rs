//! The folders of pools, and the start of their servers.

use std::sync::Arc;

use goose::{
    agents::extension_manager::{ExtensionManager, ManagerOptions},
    config::{ExtensionConfig, Paths},
    services::{BindingContext, PoolOptions, ServicePool},
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// The argument with which this program is a server of `goose-test-support`; its flags follow.
pub(crate) const FAULTY_SERVER: &str = "be-faulty-server";

/// The argument with which this program is a server written with rmcp's own macros.
pub(crate) const ECHO: &str = "be-echo";

/// Folders that are gone when this is dropped.
pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    pub(crate) fn new() -> anyhow::Result<Self> {
        Ok(Self { folder: tempfile::tempdir()? })
    }

    pub(crate) fn options(&self) -> PoolOptions {
        PoolOptions::new(&Paths::under(self.folder.path()), goose_mcp::BUILTINS)
    }

    /// A new pool; what an earlier one left on disk is there.
    pub(crate) fn pool(&self) -> Arc<ServicePool> {
        ServicePool::new(self.options())
    }
}

/// The environment of servers: only the search path of this process.
pub(crate) fn context() -> BindingContext {
    let path = std::env::vars().filter(|(name, _)| name == "PATH");
    BindingContext::new(&Paths::under("/nonexistent"), path)
}

pub(crate) async fn manager(
    pool: &Arc<ServicePool>,
    configs: Vec<ExtensionConfig>,
) -> anyhow::Result<ExtensionManager> {
    let options = ManagerOptions::in_pool(Arc::clone(pool), context());
    Ok(ExtensionManager::with_options(configs, CancellationToken::new(), options).await?)
}

/// A server on stdio: this program, started again.
pub(crate) fn server(name: &str, arguments: &[&str]) -> anyhow::Result<ExtensionConfig> {
    let program = std::env::current_exe()?.to_string_lossy().into_owned();
    Ok(ExtensionConfig::stdio(name, program, arguments.iter().copied()))
}
