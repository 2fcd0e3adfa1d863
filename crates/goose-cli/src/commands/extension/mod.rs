//! `goose extension …`: looking at extensions, and trying their tools.

mod arguments;
mod call;
mod content;
mod list;
mod status;
mod tools;

use std::process::ExitCode;

use goose::config::Paths;

use crate::{cli::ExtensionCommand, selection::Selection};

/// Does one of these commands.
pub(crate) fn run(command: ExtensionCommand) -> anyhow::Result<ExitCode> {
    let paths = Paths::from_env()?;
    match command {
        ExtensionCommand::List { which, form } => list::run(&Selection::load(&paths, &which)?, &form),
        ExtensionCommand::Status { names, which, form } => {
            status::run(&paths, Selection::load(&paths, &which)?.named_or_enabled(&names)?, &form)
        }
        ExtensionCommand::Tools { names, fresh, which, form } => {
            let chosen = Selection::load(&paths, &which)?.named_or_enabled(&names)?;
            tools::run(&paths, chosen, fresh, &form)
        }
        ExtensionCommand::Call { name, tool, args, verbose, which, form } => {
            let arguments = arguments::read(&args)?;
            let config = Selection::load(&paths, &which)?.callable(&name)?;
            call::run(&paths, config, call::Call { tool, arguments, verbose }, &form)
        }
    }
}
