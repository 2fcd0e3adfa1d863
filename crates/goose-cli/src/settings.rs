//! The settings for commands that only look: a project's file counts where it is trusted already, and nobody is asked.

use std::{
    env,
    path::{Path, PathBuf},
};

use clap::Args;
use goose::config::{ConfigError, Paths, ProjectFile, Settings, SettingsSource, Trust, TrustStore};

/// Which configuration is meant.
#[derive(Debug, Default, Args)]
pub(crate) struct ConfigArgs {
    /// Use this file in place of the config folder's config.yaml
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,
}

impl ConfigArgs {
    /// The file that is the user's.
    pub(crate) fn file(&self, paths: &Paths) -> PathBuf {
        self.config.clone().unwrap_or_else(|| paths.config_file())
    }
}

/// A project's file, and whether it counts.
pub(crate) struct Project {
    pub(crate) path: PathBuf,
    pub(crate) trust: Trust,
}

/// What is configured here.
pub(crate) struct Here {
    pub(crate) settings: Result<Settings, ConfigError>,
    /// The project's file, where there is one.
    pub(crate) project: Result<Option<Project>, ConfigError>,
}

/// Reads what is configured in the working folder.
pub(crate) fn look(paths: &Paths, args: &ConfigArgs) -> Here {
    let source = SettingsSource::of_this_process(paths.clone()).with_config_file(args.config.clone());
    let found = env::current_dir().map_or(Ok(None), |folder| judged(paths, &folder));
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

/// The project's file of a folder, and whether it is trusted.
pub(crate) fn judged(paths: &Paths, folder: &Path) -> Result<Option<(ProjectFile, Trust)>, ConfigError> {
    let Some(file) = ProjectFile::find(folder)? else { return Ok(None) };
    let trust = TrustStore::new(paths).check(&file)?;
    Ok(Some((file, trust)))
}
