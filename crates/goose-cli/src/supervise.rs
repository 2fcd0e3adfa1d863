//! Running extensions for the time of one command. However it ends, they are gone then.

use std::{env, pin::pin, process::ExitCode, time::Duration};

use anyhow::Context as _;
use goose::{
    agent_manager::AgentManager,
    agents::extension_manager::ExtensionManager,
    config::{BaseEnvironment, ExtensionConfig, Settings},
};
use tokio_util::sync::CancellationToken;

use crate::{aside, login::login, signals};

/// The time that the work may take to end when it is cancelled.
const END_TIME: Duration = Duration::from_secs(2);

/// Does work with extensions. A signal that asks to end cancels the token, and is the exit code then.
pub(crate) fn supervise<W>(
    settings: &Settings,
    configs: Vec<ExtensionConfig>,
    work: W,
) -> anyhow::Result<ExitCode>
where
    W: AsyncFnOnce(&ExtensionManager, &CancellationToken) -> anyhow::Result<ExitCode>,
{
    runtime()?.block_on(supervised(settings, configs, work))
}

/// One thread is enough for waiting, and starts faster than several.
pub(crate) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("goose could not start")
}

/// Runs to the end. Work in other threads ends with the process and is not waited for.
pub(crate) fn run_to_end(work: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    let runtime = runtime()?;
    let ended = runtime.block_on(work);
    runtime.shutdown_background();
    ended
}

async fn supervised<W>(
    settings: &Settings,
    configs: Vec<ExtensionConfig>,
    work: W,
) -> anyhow::Result<ExitCode>
where
    W: AsyncFnOnce(&ExtensionManager, &CancellationToken) -> anyhow::Result<ExitCode>,
{
    let folder =
        env::current_dir().context("the working folder cannot be found; change to one that exists")?;
    let agents = agent_manager(settings.clone());
    let options = agents.manager_options(folder).with_endless_patience();
    let manager = ExtensionManager::with_options(configs, CancellationToken::new(), options).await?;
    let ended = unless_asked_to_end(&manager, work).await;
    aside::end_status();
    agents.pool().shutdown().await;
    ended
}

/// The manager of this process: its settings, its environment, and logins in a browser.
pub(crate) fn agent_manager(settings: Settings) -> AgentManager {
    let oauth = login(settings.paths());
    AgentManager::new(settings).with_environment(BaseEnvironment::from_process()).with_oauth(oauth)
}

async fn unless_asked_to_end<W>(manager: &ExtensionManager, work: W) -> anyhow::Result<ExitCode>
where
    W: AsyncFnOnce(&ExtensionManager, &CancellationToken) -> anyhow::Result<ExitCode>,
{
    let stop = CancellationToken::new();
    let mut work = pin!(work(manager, &stop));
    tokio::select! {
        ended = &mut work => ended,
        code = signals::asked_to_end() => {
            stop.cancel();
            // What it says now is of no use to anybody.
            let _ = tokio::time::timeout(END_TIME, work).await;
            if aside::is_seen() {
                aside::line("Cancelled.");
            }
            Ok(code?)
        }
    }
}
