//! Running extensions for the time of one command. However it ends, they are gone then.

use std::{env, pin::pin, process::ExitCode, sync::Arc, time::Duration};

use anyhow::Context as _;
use goose::{
    agents::extension_manager::{ExtensionManager, ManagerOptions},
    config::{ExtensionConfig, Settings},
    services::{PoolOptions, ServicePool},
};
use tokio_util::sync::CancellationToken;

use crate::{aside, login::login, signals};

/// How long the work may take to end when it is cancelled.
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

/// Runs to the end; what still goes on in other threads then, ends with the process and is not waited for.
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
    let pool = ServicePool::new(options(settings)?);
    let manager = manage(&pool, configs).await?;
    let ended = unless_asked_to_end(&manager, work).await;
    aside::end_status();
    pool.shutdown().await;
    ended
}

fn options(settings: &Settings) -> anyhow::Result<PoolOptions> {
    let folder =
        env::current_dir().context("the working folder cannot be found; change to one that exists")?;
    let mut options = PoolOptions::of_this_process()?;
    options.secrets = settings.secrets();
    let paths = settings.paths();
    Ok(options.with_working_dir(folder, paths).with_oauth(login(paths)))
}

async fn manage(pool: &Arc<ServicePool>, configs: Vec<ExtensionConfig>) -> anyhow::Result<ExtensionManager> {
    let options = ManagerOptions::in_pool(Arc::clone(pool)).with_endless_patience();
    Ok(ExtensionManager::with_options(configs, CancellationToken::new(), options).await?)
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
