//! `goose mcp NAME`: serves a built-in extension over MCP on standard input and output. Those that need a session of
//! goose are refused with the reason. `goose mcp agents` serves the agents, as a tool for each mode.

use std::{
    env,
    io::{self, IsTerminal as _},
    path::Path,
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, anyhow, bail};
use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser},
};
use goose::{
    builtins::platform,
    config::Paths,
    services::{BindingContext, builtin_options},
};
use goose_extension::Extension;
use goose_mcp_bridge::Serve;
use tokio_util::sync::CancellationToken;

use crate::{
    builtins::{self, SERVICES},
    choice, runtime,
    settings::{self, ConfigArgs},
    signals::Signals,
    stderr,
};

const EXAMPLES: &str = "\
Examples:
  goose mcp memory
  goose mcp agents

In the configuration of an MCP client: command 'goose', arguments 'mcp memory'.";

/// Arguments of `goose mcp`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct McpArgs {
    /// Built-in extension to serve, or `agents` for a tool for each mode of each agent
    #[arg(value_parser = served())]
    pub(crate) name: String,
}

/// The name under which all agents are served.
const AGENTS: &str = "agents";

/// Time limit for background work at the end. A blocking read of standard input never ends by itself.
const END_TIME: Duration = Duration::from_millis(200);

/// Serves until the client disconnects or a signal arrives.
pub(crate) fn run(name: &str) -> anyhow::Result<ExitCode> {
    let paths = Paths::from_env()?;
    let folder = env::current_dir().context("the working folder does not exist; change to one that does")?;
    let runtime = runtime::new_runtime()?;
    let extension = match name {
        AGENTS => runtime.block_on(agents(&paths, &folder))?,
        name => extension(name, &paths, &folder)?,
    };
    greet_user(name);
    let ended = runtime.block_on(serve(Serve::shared(extension)));
    runtime.shutdown_timeout(END_TIME);
    ended
}

/// Accepts the names of all built-ins. Those that need a session are not offered, but refused with the reason.
fn served() -> PossibleValuesParser {
    let services = SERVICES.iter().map(|builtin| PossibleValue::new(builtin.name));
    let platform = platform().iter().map(|it| PossibleValue::new(it.name).hide(it.needs_session.is_some()));
    PossibleValuesParser::new(services.chain(platform).chain([PossibleValue::new(AGENTS)]))
}

/// The agents of the folder, with the models that `goose run` would use there.
async fn agents(paths: &Paths, folder: &Path) -> anyhow::Result<Arc<dyn Extension>> {
    let settings = settings::look_in(paths, &ConfigArgs::default(), Some(folder)).settings?;
    let mut profile = settings.profile(None)?;
    if profile.processor.is_none() {
        // Without any model, the tools are listed, and a call says what is missing.
        profile.processor = choice::choose(&settings).await.map(|choice| choice.model);
    }
    Ok(Arc::new(runtime::agent_manager(settings).served_agents(profile, folder)))
}

fn extension(name: &str, paths: &Paths, folder: &Path) -> anyhow::Result<Arc<dyn Extension>> {
    if let Some(builtin) = builtins::find(name) {
        let context = BindingContext::of_this_process(paths).with_working_dir(folder);
        return Ok(builtin.build(&builtin_options(paths, &context)));
    }
    let found = platform().iter().find(|extension| extension.name == name);
    let found = found.ok_or_else(|| anyhow!("There is no built-in `{name}`."))?;
    if let Some(reason) = found.needs_session {
        bail!("`{name}` works only in a session of goose: {reason}.");
    }
    let settings = settings::look_in(paths, &ConfigArgs::default(), Some(folder)).settings?;
    let extension = runtime::agent_manager(settings).standalone(name, folder);
    extension.ok_or_else(|| anyhow!("`{name}` works only in a session of goose."))
}

async fn serve(serve: Serve) -> anyhow::Result<ExitCode> {
    let stop = CancellationToken::new();
    // Before the server listens: a client may end it as soon as it does.
    let mut signals = Signals::listen()?;
    let mut serving = std::pin::pin!(serve.with_cancellation(stop.clone()).stdio());
    tokio::select! {
        ended = &mut serving => ended.map(|()| ExitCode::SUCCESS),
        signal = signals.next() => {
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
