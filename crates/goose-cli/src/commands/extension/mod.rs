//! `goose extension`: inspects extensions and calls their tools.

pub(crate) mod args;
mod call;
mod list;
mod resources;
mod status;
mod tools;

use std::process::ExitCode;

use goose::{
    agents::extension_manager::ExtensionManager,
    config::{Paths, Settings, SettingsSource, Trust},
};

use self::args::ExtensionCommand;
use crate::{
    args::ExtensionArgs,
    builtins::SERVICES,
    escape,
    output::WARNING,
    selection::Selection,
    settings::{self, ConfigArgs, Here},
    stderr,
};

/// Placeholder for a configuration file that is not read.
const NO_FILE: &str = "/dev/null";

/// Runs a command of `goose extension`.
pub(crate) fn run(command: ExtensionCommand, config: &ConfigArgs) -> anyhow::Result<ExitCode> {
    let settings = configured(&Paths::from_env()?, config, command.which())?;
    match command {
        ExtensionCommand::List { which, form } => list::run(&Selection::load(&settings, &which)?, &form),
        ExtensionCommand::Status { names, which, form } => {
            status::run(&settings, Selection::load(&settings, &which)?.named_or_enabled(&names)?, &form)
        }
        ExtensionCommand::Tools { names, fresh, which, form } => {
            let chosen = Selection::load(&settings, &which)?.named_or_enabled(&names)?;
            tools::run(&settings, chosen, fresh, &form)
        }
        ExtensionCommand::Resources { name, read, which, form } => {
            let names: Vec<String> = name.into_iter().collect();
            let chosen = Selection::load(&settings, &which)?.named_or_enabled(&names)?;
            resources::run(&settings, chosen, read.as_deref(), &form)
        }
        ExtensionCommand::Call { name, tool, args, verbose, which, form } => {
            let arguments = call::read_arguments(&args)?;
            let config = Selection::load(&settings, &which)?.callable(&name)?;
            call::run(&settings, config, call::Call { tool, arguments, verbose }, &form)
        }
    }
}

/// Shows the extensions of a session with their states. Starts none.
pub(crate) fn show(manager: &ExtensionManager) -> anyhow::Result<()> {
    Ok(status::show(manager)?)
}

/// Loads the settings that a session in this folder would have. Warns about an untrusted project file. Reads no file if
/// only the flags are to be used.
fn configured(paths: &Paths, args: &ConfigArgs, which: &ExtensionArgs) -> anyhow::Result<Settings> {
    if which.no_profile {
        let source = SettingsSource::of_this_process(paths.clone()).with_builtins(SERVICES);
        return Ok(Settings::load(source.with_config_file(Some(NO_FILE.into())))?);
    }
    let Here { settings, project } = settings::look(paths, args);
    let settings = settings?;
    let left_out = match project {
        Ok(Some(project)) if project.trust != Trust::Trusted => format!(
            "{} is not used because it is not trusted. Trust it with `goose configure trust`.",
            project.path.display()
        ),
        Ok(_) => return Ok(settings),
        Err(error) => format!("The project's configuration is not used: {error}"),
    };
    stderr::line(format_args!("{WARNING}{}{WARNING:#}", escape::text(&left_out)));
    Ok(settings)
}
