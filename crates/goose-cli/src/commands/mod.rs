//! The commands, a file each.

pub(crate) mod assemble;
pub(crate) mod completion;
pub(crate) mod configure;
pub(crate) mod doctor;
mod extension;
pub(crate) mod info;
mod mcp;
#[cfg(feature = "local")]
pub(crate) mod models;
mod project;
pub(crate) mod run;
pub(crate) mod session;

use std::{io::Write as _, process::ExitCode};

use clap::{CommandFactory as _, Parser as _};

use crate::{
    aside,
    cli::{Cli, Command},
};

/// Does what the command line says.
pub(crate) fn run_command(cli: Cli) -> anyhow::Result<ExitCode> {
    match cli.command {
        Some(Command::Extension { config, command: Some(command) }) => extension::run(command, &config),
        Some(Command::Extension { command: None, .. }) => help(Some("extension")),
        Some(Command::Mcp { name }) => mcp::run(&name),
        Some(Command::Session(args)) => session::run(*args),
        Some(Command::Run(args)) => run::run(*args),
        #[cfg(feature = "local")]
        Some(Command::Models(args)) => models::run_or_help(args, || help(Some("models"))),
        Some(Command::Configure(args)) => configure::run(&args),
        Some(Command::Info(args)) => info::run(&args),
        Some(Command::Doctor(args)) => doctor::run(&args),
        Some(Command::Completion(args)) => completion::run(&args),
        None if aside::can_ask() => run_command(Cli::parse_from(["goose", "session"])),
        None => help(None),
    }
}

/// Shows the help of a command that says too little to be done.
fn help(subcommand: Option<&str>) -> anyhow::Result<ExitCode> {
    let mut root = Cli::command();
    root.build();
    let help = match subcommand.and_then(|name| root.find_subcommand_mut(name)) {
        Some(command) => command.render_help(),
        None => root.render_help(),
    };
    write!(anstream::stdout(), "{}", help.ansi())?;
    Ok(ExitCode::SUCCESS)
}
