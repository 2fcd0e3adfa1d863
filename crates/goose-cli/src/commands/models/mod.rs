//! `goose models`: the files of models that run inside goose.
//!
//! - `args`: what it takes; `list`, `pull`, `verify`, `remove`, `choose`: the commands;
//! - `fetch`: a download as the user sees it, here and in `goose run`; `progress`: the bar.

pub(crate) mod args;
mod choose;
mod fetch;
mod list;
mod progress;
mod pull;
mod remove;
mod verify;

use std::{process::ExitCode, sync::Arc};

use anyhow::anyhow;
use goose::config::{Paths, Settings};
use goose_local::model_store::{ModelStore, ModelStoreError};

use self::args::{ModelsArgs, ModelsCommand};
use crate::{
    choice::Voice,
    local::{self, Fetching},
    output::Output,
    settings::{self, ConfigArgs, Consent},
    signals::Signals,
    supervise::run_to_end,
    terminal::input::Input,
};

/// Does what the command line says.
pub(crate) fn run(command: ModelsCommand, config: &ConfigArgs) -> anyhow::Result<ExitCode> {
    let paths = Paths::from_env()?;
    let store = local::store(&paths).map_err(explained)?;
    let settings = settings::look(&paths, config).settings?;
    run_to_end(async {
        let mut signals = Signals::listen()?;
        let done = signals.unless_asked(dispatched(command, &store, &settings, &config.file(&paths))).await?;
        done.unwrap_or_else(|asked| Ok(asked.code()))
    })
}

async fn dispatched(
    command: ModelsCommand,
    store: &ModelStore,
    settings: &Settings,
    config: &std::path::Path,
) -> anyhow::Result<ExitCode> {
    match command {
        ModelsCommand::List(args) => list::run(store, settings, &args),
        ModelsCommand::Pull { name, yes } => {
            pull::run(store, settings, name.as_deref(), &fetching(yes)).await
        }
        ModelsCommand::Verify { name } => verify::run(store, name.as_deref()).await,
        ModelsCommand::Remove { name, yes } => {
            // GOOSE_YES is about what can be fetched again.
            remove::run(store, &name, if yes { Consent::Given } else { Consent::Ask }).await
        }
        ModelsCommand::Use { file } => choose::run(store, settings, config, &file),
    }
}

fn fetching(yes: bool) -> Fetching {
    let consent = Consent::new(yes, local::YES);
    Fetching { consent, voice: Voice::Aloud, input: Arc::new(Input::new(None)) }
}

/// Does what the command line says, or shows its help.
pub(crate) fn run_or_help(
    args: ModelsArgs,
    help: impl FnOnce() -> anyhow::Result<ExitCode>,
) -> anyhow::Result<ExitCode> {
    match args.command {
        Some(command) => run(command, &args.config),
        None => help(),
    }
}

/// An error about models' files with what to do about it.
fn explained(error: ModelStoreError) -> anyhow::Error {
    match error.hint() {
        Some(hint) => anyhow!("{error}\n{hint}"),
        None => error.into(),
    }
}

/// Writes a line to standard output.
fn say(line: &str) -> anyhow::Result<()> {
    let mut out = Output::new();
    let line = out.foreign(line).into_owned();
    out.line(line)?;
    Ok(out.finish()?)
}
