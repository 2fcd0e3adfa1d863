//! Settings for read-only commands: a project's file is used if it is already trusted, without asking.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::Args;
use goose::config::{ConfigError, Paths, ProjectFile, Settings, SettingsSource, Trust, TrustStore};

use crate::{builtins::SERVICES, local};

/// The configuration file to use.
#[derive(Debug, Default, Args)]
pub(crate) struct ConfigArgs {
    /// Use this file instead of config.yaml in the config folder
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,
}

impl ConfigArgs {
    /// Returns the user's configuration file.
    pub(crate) fn file(&self, paths: &Paths) -> PathBuf {
        self.config.clone().unwrap_or_else(|| paths.config_file())
    }
}

/// Returns the working folder of the process.
///
/// # Errors
///
/// Fails if it is gone.
pub(crate) fn working_folder() -> anyhow::Result<PathBuf> {
    env::current_dir().context("the working folder cannot be found; change to one that exists")
}

/// A project's file and its trust.
pub(crate) struct Project {
    pub(crate) path: PathBuf,
    pub(crate) trust: Trust,
}

/// The configuration of the working folder.
pub(crate) struct Here {
    pub(crate) settings: Result<Settings, ConfigError>,
    /// The project's file, if it has one.
    pub(crate) project: Result<Option<Project>, ConfigError>,
}

/// Loads the configuration of the working folder.
pub(crate) fn look(paths: &Paths, args: &ConfigArgs) -> Here {
    look_in(paths, args, env::current_dir().ok().as_deref())
}

/// Loads the configuration of a folder.
pub(crate) fn look_in(paths: &Paths, args: &ConfigArgs, folder: Option<&Path>) -> Here {
    let source = SettingsSource::of_this_process(paths.clone())
        .with_builtins(SERVICES)
        .with_config_file(args.config.clone())
        .with_factory(local::factory(paths, None));
    let found = folder.map_or(Ok(None), |folder| find_project(paths, folder));
    let (file, project) = match found {
        Ok(Some((file, trust))) => {
            let project = Project { path: file.path().to_owned(), trust };
            (Some(file).filter(|_| trust == Trust::Trusted), Ok(Some(project)))
        }
        Ok(None) => (None, Ok(None)),
        Err(error) => (None, Err(error)),
    };
    Here { settings: Settings::load(source.with_project(file)), project }
}

/// Finds the project's file of a folder and checks its trust.
fn find_project(paths: &Paths, folder: &Path) -> Result<Option<(ProjectFile, Trust)>, ConfigError> {
    let Some(file) = ProjectFile::find(folder)? else { return Ok(None) };
    let trust = TrustStore::new(paths).check(&file)?;
    Ok(Some((file, trust)))
}
