//! `goose mcp NAME`: serves a built-in extension over MCP on standard input and output.

use std::{
    env,
    io::{self, IsTerminal as _},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context as _, anyhow};
use clap::Args;
use goose::{
    builtins,
    config::Paths,
    services::{BindingContext, builtin_settings},
};
use goose_mcp_bridge::Serve;
use tokio_util::sync::CancellationToken;

use crate::{args::builtins, signals, stderr, supervise};

/// Arguments of `goose mcp`.
#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Built-in extension to serve
    #[arg(value_parser = builtins())]
    pub(crate) name: String,
}

/// Time limit for background work at the end. A blocking read of standard input never ends by itself.
const END_TIME: Duration = Duration::from_millis(200);

/// Serves until the client disconnects or a signal arrives.
pub(crate) fn run(name: &str) -> anyhow::Result<ExitCode> {
    let paths = Paths::from_env()?;
    let folder = env::current_dir().context("the working folder does not exist; change to one that does")?;
    let context = BindingContext::of_this_process(&paths).with_working_dir(folder);
    let settings = builtin_settings(&paths, &context);
    let extension = builtins::find(name).and_then(|builtin| builtin.build(&settings));
    let extension = extension.ok_or_else(|| anyhow!("There is no built-in `{name}`."))?;
    greet_user(name);
    let runtime = supervise::runtime()?;
    let ended = runtime.block_on(serve(Serve::shared(extension)));
    runtime.shutdown_timeout(END_TIME);
    ended
}

async fn serve(serve: Serve) -> anyhow::Result<ExitCode> {
    let stop = CancellationToken::new();
    let mut serving = std::pin::pin!(serve.with_cancellation(stop.clone()).stdio());
    tokio::select! {
        ended = &mut serving => ended.map(|()| ExitCode::SUCCESS),
        signal = signals::asked_to_end() => {
            signal?;
            stop.cancel();
            // The server was asked to stop, so its outcome does not matter.
            let _ = tokio::time::timeout(END_TIME, serving).await;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Explains the silence to a user who starts this by hand: the server waits for a client.
fn greet_user(name: &str) {
    if io::stdin().is_terminal() {
        stderr::line(format_args!(
            "Serving `{name}` to an MCP client on standard input and output. Press Ctrl-D to stop.\n\
             To list its tools: goose extension tools {name}"
        ));
    }
}
