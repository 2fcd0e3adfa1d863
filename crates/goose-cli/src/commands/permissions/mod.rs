//! `goose permissions`: the rules, and the verdict about a command. Nothing is run or started.
//!
//! - `args`: arguments; `list`: the rules; `explain`: one command.

pub(crate) mod args;
mod explain;
mod list;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use anyhow::Context as _;
use goose::{
    agent_manager::AgentManager,
    config::{Paths, Settings},
    permission::{Effect, Mode, Permissions},
};

use self::args::{PermissionsCommand, PlaceArgs};
use super::explained;
use crate::{
    output::{BAD, GOOD, WARNING},
    settings::{self, ConfigArgs},
};

/// The setting that selects the mode.
const MODE: &str = "GOOSE_MODE";

/// Runs a subcommand.
pub(crate) fn run(command: PermissionsCommand, config: &ConfigArgs) -> anyhow::Result<ExitCode> {
    match command {
        PermissionsCommand::List(args) => list::run(&Place::find(&args.place, config)?, &args.form),
        PermissionsCommand::Explain(args) => {
            explain::explain(&Place::find(&args.place, config)?, &args.command, args.place.mode)
        }
        PermissionsCommand::Test(args) => {
            let place = Place::find(&args.command.place, config)?;
            explain::test(&place, &args.command.command, args.command.place.mode, &args.form)
        }
    }
}

/// Shows the mode and the rules of a session.
pub(crate) fn show(settings: &Settings, permissions: &Arc<Permissions>, folder: &Path) -> anyhow::Result<()> {
    let configured = settings.profile(None)?.mode;
    let is_configured = configured.is_none_or(|mode| mode.parse().ok() == Some(permissions.mode()));
    let mode_from = match settings.origin(MODE).filter(|_| is_configured) {
        Some(origin) => Some(origin.to_string()),
        None => Some("of this session".to_owned()),
    };
    let (settings, permissions) = (settings.clone(), Arc::clone(permissions));
    list::show(&Place { folder: folder.to_owned(), settings, permissions, mode_from })?;
    Ok(())
}

/// The permissions of a folder, as a session there would have them.
struct Place {
    folder: PathBuf,
    settings: Settings,
    permissions: Arc<Permissions>,
    /// The place where the mode is set.
    mode_from: Option<String>,
}

impl Place {
    fn find(args: &PlaceArgs, config: &ConfigArgs) -> anyhow::Result<Self> {
        let folder = folder(args.dir.as_deref())?;
        let settings = settings::look_in(&Paths::from_env()?, config, Some(&folder)).settings?;
        let mut profile = settings.profile(None)?;
        let mode_from = match args.mode {
            Some(mode) => {
                profile.mode = Some(mode.to_string());
                Some("--mode".to_owned())
            }
            None => settings.origin(MODE).map(|origin| origin.to_string()),
        };
        let permissions = AgentManager::new(settings.clone()).permissions(&profile).map_err(explained)?;
        Ok(Self { folder, settings, permissions, mode_from })
    }

    fn mode(&self) -> Mode {
        self.permissions.mode()
    }
}

fn folder(dir: Option<&Path>) -> anyhow::Result<PathBuf> {
    match dir {
        Some(dir) => dir.canonicalize().with_context(|| format!("{} cannot be used (--dir)", dir.display())),
        None => settings::working_folder(),
    }
}

/// Returns the style of a verdict.
fn style(effect: Effect) -> anstyle::Style {
    match effect {
        Effect::Allow => GOOD,
        Effect::Ask => WARNING,
        Effect::Deny => BAD,
    }
}
