//! [`SettingsSource`]: what the layers of a configuration are made of, and [`Origin`]: which of them a value is from.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use goose_providers::ProviderFactory;

use super::{Paths, Place, ProjectFile};

/// What settings are loaded from. Programs say it; nothing is looked for elsewhere.
#[derive(Clone)]
pub struct SettingsSource {
    /// goose's folders.
    pub paths: Paths,
    /// The environment variables that count.
    pub environment: BTreeMap<String, String>,
    /// The project's file, where the person trusts it.
    pub project: Option<ProjectFile>,
    /// The file that is read in place of the user's `config.yaml`.
    pub config_file: Option<PathBuf>,
    /// What the command line says, by the name of the key.
    pub flags: BTreeMap<String, String>,
    /// Models that the program brings itself.
    pub factories: Vec<Arc<dyn ProviderFactory>>,
}

impl SettingsSource {
    /// The user's file, and nothing else.
    pub fn new(paths: Paths) -> Self {
        Self {
            paths,
            environment: BTreeMap::new(),
            project: None,
            config_file: None,
            flags: BTreeMap::new(),
            factories: Vec::new(),
        }
    }

    /// The user's file and the variables of this process, as they are now. For programs; everything else is told.
    pub fn of_this_process(paths: Paths) -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self::new(paths).with_environment(std::env::vars_os().filter_map(text))
    }

    /// With these environment variables besides. One that is empty counts as not set.
    pub fn with_environment<N, V>(mut self, variables: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<String>,
        V: Into<String>,
    {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        self.environment.extend(variables.filter(|(_, value): &(String, String)| !value.is_empty()));
        self
    }

    /// With a project's file, which the person trusts.
    pub fn with_project(mut self, project: Option<ProjectFile>) -> Self {
        self.project = project;
        self
    }

    /// With another file in place of the user's `config.yaml`.
    pub fn with_config_file(mut self, file: Option<PathBuf>) -> Self {
        self.config_file = file;
        self
    }

    /// With a value from the command line, where one is given.
    pub fn with_flag(mut self, key: impl Into<String>, value: Option<impl Into<String>>) -> Self {
        if let Some(value) = value {
            self.flags.insert(key.into(), value.into());
        }
        self
    }

    /// With models that the program brings itself.
    pub fn with_factory(mut self, factory: impl Into<Option<Arc<dyn ProviderFactory>>>) -> Self {
        self.factories.extend(factory.into());
        self
    }

    /// The file that is, or would be, the user's.
    pub(super) fn user_file(&self) -> PathBuf {
        self.config_file.clone().unwrap_or_else(|| self.paths.config_file())
    }

    /// A variable of the environment.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(String::as_str)
    }
}

impl fmt::Debug for SettingsSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SettingsSource")
            .field("paths", &self.paths)
            .field("project", &self.project.as_ref().map(ProjectFile::path))
            .field("config_file", &self.config_file)
            .field("flags", &self.flags.keys())
            .finish_non_exhaustive()
    }
}

/// Where a value comes from, from the weakest to the strongest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The user's file.
    User(Place),
    /// The project's file.
    Project(Place),
    /// An environment variable, by its name.
    Environment(String),
    /// The command line.
    Flag,
}

impl Origin {
    /// The file, where it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::User(place) | Self::Project(place) => Some(&place.path),
            Self::Environment(_) | Self::Flag => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(place) | Self::Project(place) => write!(f, "{place}"),
            Self::Environment(name) => write!(f, "the environment variable {name}"),
            Self::Flag => f.write_str("the command line"),
        }
    }
}
