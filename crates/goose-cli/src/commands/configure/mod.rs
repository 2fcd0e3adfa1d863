//! `goose configure`: choosing what goose works with, step by step or by flags.
//!
//! - `args`: what it takes; `flags`, `keyed`: changes that the command line names; `guided`, `asking`: step by step;
//! - `services`: what can be chosen; `modes`: how much may be done without asking; `keys`: where keys are kept;
//! - `trial`: whether the model answers;
//! - `trust`, `deeds`: whether this project's own configuration counts, and what it would do.

mod args;
mod asking;
mod deeds;
mod flags;
mod guided;
mod keyed;
mod keys;
mod modes;
mod services;
mod trial;
mod trust;

use std::process::ExitCode;

use anyhow::bail;
use goose::config::{ConfigEditor, Paths, Settings};

pub(crate) use self::args::ConfigureArgs;
use self::{
    args::{Changes, ConfigureCommand},
    asking::Terminal,
};
use crate::{
    aside, choice,
    output::Output,
    settings::{self, ConfigArgs},
    supervise::runtime,
};

/// Does what the command line says.
pub(crate) fn run(args: &ConfigureArgs) -> anyhow::Result<ExitCode> {
    let paths = Paths::from_env()?;
    let editor = ConfigEditor::new(args.config.file(&paths));
    let settings = || settings::look(&paths, &existing(&args.config)).settings;
    if args.command.is_some() && args.changes != Changes::default() {
        bail!(
            "Change either by flags or by a command such as 'set', not by both at once. Nothing was changed."
        );
    }
    match &args.command {
        Some(ConfigureCommand::Set { key, value }) => keyed::set(&editor, &settings()?, key, value),
        Some(ConfigureCommand::Get { key }) => keyed::get(&settings()?, key),
        Some(ConfigureCommand::Unset { key }) => keyed::unset(&editor, &settings()?, key),
        Some(ConfigureCommand::Trust { yes }) => trust::trust(&paths, *yes),
        Some(ConfigureCommand::Distrust) => trust::distrust(&paths),
        None if args.changes == Changes::default() => by_steps(&editor, &settings()?),
        None => by_flags(&args.changes, &editor, &settings()?),
    }
}

/// A file that is about to be made need not be there.
fn existing(args: &ConfigArgs) -> ConfigArgs {
    ConfigArgs { config: args.config.clone().filter(|file| file.exists()) }
}

fn by_flags(changes: &Changes, editor: &ConfigEditor, settings: &Settings) -> anyhow::Result<ExitCode> {
    let registry = services::load(settings);
    let mut done = Vec::new();
    let applied = flags::apply(changes, editor, settings, registry, &mut done);
    let mut out = Output::new();
    for line in done {
        let line = out.foreign(&line).into_owned();
        out.line(line)?;
    }
    out.finish()?;
    applied.map(|()| ExitCode::SUCCESS)
}

fn by_steps(editor: &ConfigEditor, settings: &Settings) -> anyhow::Result<ExitCode> {
    if !aside::can_ask() {
        bail!(
            "Nobody can be asked here. Say what to change by flags, such as --provider and --model; `goose configure \
             --help` shows them all."
        );
    }
    let registry = services::load(settings);
    let choice = runtime()?.block_on(choice::where_none_is_chosen(settings));
    guided::run(&mut Terminal, editor, settings, registry, choice.as_ref())?;
    aside::line(format_args!("Done. It is in {}.", editor.path().display()));
    Ok(ExitCode::SUCCESS)
}
