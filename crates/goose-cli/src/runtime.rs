//! The async runtime, and extensions that run for the duration of one command and end with it.

use std::{env, pin::pin, process::ExitCode, sync::Arc, time::Duration};

use anyhow::Context as _;
use goose::{
    agent_manager::AgentManager,
    agents::extension_manager::ExtensionManager,
    config::{BaseEnvironment, ExtensionConfig, Paths, Settings},
};
use goose_extension::{ToolResult, prelude::async_trait};
use goose_mcp_bridge::{Browser, FileTokenStore, OAuth, SystemBrowser};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{escape, signals, stderr};

/// Time limit for cancelled work to end.
const END_TIME: Duration = Duration::from_secs(2);

/// Runs work with extensions. A signal cancels the token and determines the exit code.
pub(crate) fn with_extensions<W>(
    settings: &Settings,
    configs: Vec<ExtensionConfig>,
    work: W,
) -> anyhow::Result<ExitCode>
where
    W: AsyncFnOnce(&ExtensionManager, &CancellationToken) -> anyhow::Result<ExitCode>,
{
    new_runtime()?.block_on(async {
        let folder =
            env::current_dir().context("the working folder does not exist; change to one that does")?;
        let agents = agent_manager(settings.clone());
        let options = agents.manager_options(folder).with_endless_patience();
        let manager = ExtensionManager::with_options(configs, CancellationToken::new(), options).await?;
        let ended = run_until_signal(&manager, work).await;
        stderr::end_status();
        agents.pool().shutdown().await;
        ended
    })
}

/// Creates a runtime with one thread, which starts faster than several.
pub(crate) fn new_runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("goose could not start")
}

/// Runs work without waiting for background threads, which end with the process.
pub(crate) fn run_to_end(work: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    let runtime = new_runtime()?;
    let ended = runtime.block_on(work);
    runtime.shutdown_background();
    ended
}

/// Creates the manager of this process, with its environment and logins in a browser.
pub(crate) fn agent_manager(settings: Settings) -> AgentManager {
    let oauth = login(settings.paths());
    AgentManager::new(settings)
        .with_environment(BaseEnvironment::from_process())
        .with_oauth(oauth)
        .with_connector(goose_acp::Connector::shared())
}

async fn run_until_signal<W>(manager: &ExtensionManager, work: W) -> anyhow::Result<ExitCode>
where
    W: AsyncFnOnce(&ExtensionManager, &CancellationToken) -> anyhow::Result<ExitCode>,
{
    let stop = CancellationToken::new();
    let mut work = pin!(work(manager, &stop));
    tokio::select! {
        ended = &mut work => ended,
        code = signals::wait_for_exit_signal() => {
            stop.cancel();
            // The outcome of cancelled work does not matter.
            let _ = tokio::time::timeout(END_TIME, work).await;
            if stderr::is_seen() {
                stderr::line("Cancelled.");
            }
            Ok(code?)
        }
    }
}

/// Returns the OAuth client. Without a terminal it only uses earlier logins.
fn login(paths: &Paths) -> OAuth {
    let oauth = earlier_logins(paths);
    if stderr::is_seen() { oauth.with_browser(Arc::new(TerminalBrowser)) } else { oauth }
}

/// Returns the OAuth client that only uses earlier logins.
pub(crate) fn earlier_logins(paths: &Paths) -> OAuth {
    OAuth::new(Arc::new(FileTokenStore::new(paths.logins())))
}

/// The system's browser. The address is printed as well, so that the user can open it by hand.
struct TerminalBrowser;

#[async_trait]
impl Browser for TerminalBrowser {
    async fn open(&self, server: &str, url: &Url) -> ToolResult<()> {
        stderr::line(format_args!(
            "`{}` requires a login. If no browser opens, open this address:\n{}",
            escape::line(server),
            escape::line(url.as_str())
        ));
        if let Err(error) = SystemBrowser.open(server, url).await {
            stderr::line(format_args!(
                "The browser could not be opened: {}",
                escape::text(&error.to_string())
            ));
        }
        Ok(())
    }
}
