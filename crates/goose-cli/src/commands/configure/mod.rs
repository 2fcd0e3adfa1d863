//! `goose configure`: configures the model, keys, extensions and modes, interactively or with flags.
//!
//! - `args`: arguments; `flags`, `set_get`: changes given on the command line;
//! - `guided`, `asking`: step by step; `toggles`: its question for extensions; `trial`: its test message;
//! - `choices`: providers and modes; `keys`: storage of keys; `login`: keys by a login; `trust`: consent to a project's
//!   files.

mod args;
mod asking;
mod choices;
mod flags;
mod guided;
mod keys;
mod login;
mod set_get;
mod toggles;
mod trial;
mod trust;

use std::process::ExitCode;

use anyhow::bail;
use goose::config::{ConfigEditor, Paths, Settings};

pub(crate) use self::{args::ConfigureArgs, choices::MODES};
use self::{
    args::{Changes, ConfigureCommand},
    choices::load_providers,
};
use crate::{
    choice,
    output::say,
    runtime::new_runtime,
    settings::{self, ConfigArgs},
    stderr,
};

/// Runs `goose configure`.
pub(crate) fn run(args: &ConfigureArgs) -> anyhow::Result<ExitCode> {
    let paths = Paths::from_env()?;
    let editor = ConfigEditor::new(args.config.file(&paths));
    let settings = || settings::look(&paths, &existing(&args.config)).settings;
    if args.command.is_some() && args.changes != Changes::default() {
        bail!("Use either flags or a command such as 'set', not both. Nothing was changed.");
    }
    match &args.command {
        Some(ConfigureCommand::Set { key, value }) => set_get::set(&editor, &settings()?, key, value),
        Some(ConfigureCommand::Get { key }) => set_get::get(&settings()?, key),
        Some(ConfigureCommand::Unset { key }) => set_get::unset(&editor, &settings()?, key),
        Some(ConfigureCommand::Login(args)) => login::run(args, &editor, &settings()?),
        Some(ConfigureCommand::Trust { yes }) => trust::trust(&paths, *yes),
        Some(ConfigureCommand::Distrust) => trust::distrust(&paths),
        None if args.changes == Changes::default() => by_steps(&editor, &settings()?),
        None => by_flags(&args.changes, &editor, &settings()?),
    }
}

/// Ignores a file that is about to be created.
fn existing(args: &ConfigArgs) -> ConfigArgs {
    ConfigArgs { config: args.config.clone().filter(|file| file.exists()) }
}

fn by_flags(changes: &Changes, editor: &ConfigEditor, settings: &Settings) -> anyhow::Result<ExitCode> {
    let registry = load_providers(settings);
    let mut done = Vec::new();
    let applied = flags::apply(changes, editor, settings, registry, &mut done);
    for line in done {
        say(&line)?;
    }
    applied.map(|()| ExitCode::SUCCESS)
}

fn by_steps(editor: &ConfigEditor, settings: &Settings) -> anyhow::Result<ExitCode> {
    if !stderr::can_ask() {
        bail!(
            "There is no terminal for questions. Use flags, such as --provider and --model; see `goose \
             configure --help`."
        );
    }
    let registry = load_providers(settings);
    let choice = new_runtime()?.block_on(choice::choose_if_unset(settings));
    guided::run(editor, settings, registry, choice.as_ref())?;
    stderr::line(format_args!("Done. The settings are in {}.", editor.path().display()));
    Ok(ExitCode::SUCCESS)
}
