//! `goose acp`: goose as an agent inside an editor, over the Agent Client Protocol on standard input and output.

use std::{
    io::{self, IsTerminal as _},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use clap::Args;
use goose::{
    agent_manager::OpenError,
    config::{Paths, Profile, Settings, SettingsSource},
};
use goose_acp::{ChooseProfile, EditorAgent};
use goose_extension::prelude::async_trait;
use goose_mcp::LocalBackend;
use tokio_util::sync::CancellationToken;

use super::schedule::beside_server;
use crate::{
    args::ExtensionArgs, builtins::SERVICES, choice, local, runtime, selection, settings::ConfigArgs,
    signals::Signals, stderr,
};

/// Examples after the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  goose acp
  goose acp --with-builtin memory --mode smart_approve

An editor starts this command by itself. In Zed's settings.json:
  \"agent_servers\": {\"goose\": {\"type\": \"custom\", \"command\": \"goose\", \"args\": [\"acp\"]}}";

/// Time limit for background work at the end. A blocking read of standard input never ends by itself.
const END_TIME: Duration = Duration::from_millis(200);

/// Arguments of `goose acp`.
#[derive(Debug, Args)]
pub(crate) struct AcpArgs {
    #[command(flatten)]
    extensions: ExtensionArgs,
    /// Provider of the model, such as 'openai' or 'anthropic'
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// Name of the model
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Permission mode of new sessions: 'auto', 'approve', 'smart_approve' or 'chat'
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// Agent of new sessions, with its mode: 'coding-agent/backend'
    #[arg(long, value_name = "AGENT[/MODE]")]
    agent: Option<String>,
    /// Profile from the configuration, or a file that contains one
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Also run scheduled jobs while the editor is connected, as 'goose schedule run' does
    #[arg(long)]
    enable_scheduler: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Serves an editor until it disconnects or a signal arrives.
pub(crate) fn run(args: AcpArgs) -> anyhow::Result<ExitCode> {
    let paths = Paths::from_env()?;
    let source = SettingsSource::of_this_process(paths.clone())
        .with_builtins(SERVICES)
        .with_config_file(args.config.config.clone())
        .with_flag("GOOSE_PROVIDER", args.provider)
        .with_flag("GOOSE_MODEL", args.model)
        .with_flag("GOOSE_MODE", args.mode)
        .with_factory(local::factory(&paths, None));
    let settings = Settings::load(source)?;
    let profiles = Profiles { name: args.profile, has_extensions: !args.extensions.no_profile };
    let manager = runtime::agent_manager(settings);
    let agent = EditorAgent::new(manager, Arc::new(profiles), Arc::new(LocalBackend))
        .with_oauth(runtime::earlier_logins(&paths))
        .with_extensions(selection::flags(&args.extensions)?)
        .with_agent(args.agent);
    if io::stdin().is_terminal() {
        stderr::line("Serving an editor on standard input and output. Press Ctrl-D to stop.");
    }
    let runtime = runtime::new_runtime()?;
    let stop = CancellationToken::new();
    let scheduler = async {
        if args.enable_scheduler {
            beside_server::run(&paths, &args.config, &stop).await;
        }
    };
    let ended = runtime.block_on(async { tokio::join!(serve(agent, &stop), scheduler).0 });
    runtime.shutdown_timeout(END_TIME);
    ended
}

async fn serve(agent: EditorAgent, stop: &CancellationToken) -> anyhow::Result<ExitCode> {
    // However it ends, the scheduler ends with it.
    let _ends = stop.clone().drop_guard();
    // Before the first message is read: an editor may end goose as soon as it has an answer.
    let mut signals = Signals::listen()?;
    let mut serving = std::pin::pin!(agent.serve(tokio::io::stdin(), tokio::io::stdout(), stop.clone()));
    tokio::select! {
        () = &mut serving => Ok(ExitCode::SUCCESS),
        signal = signals.next() => {
            signal?;
            stop.cancel();
            serving.await;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Profiles of the sessions: the one that the command line names, with a model that goose finds if none is configured.
struct Profiles {
    name: Option<String>,
    has_extensions: bool,
}

#[async_trait]
impl ChooseProfile for Profiles {
    async fn profile(&self, settings: &Settings) -> Result<Profile, OpenError> {
        let mut profile = settings.profile(self.name.as_deref())?;
        if !self.has_extensions {
            profile.extensions.clear();
            profile.adds_dependencies = false;
        }
        if profile.processor.is_none() {
            profile.processor = choice::choose(settings).await.map(|choice| choice.model);
        }
        match profile.processor {
            Some(_) => Ok(profile),
            None => Err(OpenError::NoModel),
        }
    }
}
