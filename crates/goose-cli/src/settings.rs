//! The settings for commands that only look: a project's file counts if it is trusted already; there is no question.

use std::{
    env,
    path::{Path, PathBuf},
};

use clap::Args;
use goose::config::{ConfigError, Paths, ProjectFile, Settings, SettingsSource, Trust, TrustStore};

use crate::local;

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

/// An answer that the command line or the environment gives in advance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// The person is asked, where they can be.
    Ask,
    /// It is given.
    Given,
}

impl Consent {
    /// Reads a flag, and a variable of the environment that stands for it.
    pub(crate) fn new(flag: bool, variable: &str) -> Self {
        let by_variable =
            env::var(variable).is_ok_and(|value| matches!(value.as_str(), "1" | "true" | "yes"));
        if flag || by_variable { Self::Given } else { Self::Ask }
    }
}

/// A project's file, and whether it counts.
pub(crate) struct Project {
    pub(crate) path: PathBuf,
    pub(crate) trust: Trust,
}

/// The configuration of the working folder.
pub(crate) struct Here {
    pub(crate) settings: Result<Settings, ConfigError>,
    /// The project's file, where there is one.
    pub(crate) project: Result<Option<Project>, ConfigError>,
}

/// Reads what is configured in the working folder.
pub(crate) fn look(paths: &Paths, args: &ConfigArgs) -> Here {
    let source = SettingsSource::of_this_process(paths.clone())
        .with_config_file(args.config.clone())
        .with_factory(local::factory(paths, None));
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
