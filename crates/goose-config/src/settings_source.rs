//! [`SettingsSource`]: where the layers of [`Settings`](crate::Settings) come from.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc};

use goose_extension::Builtin;
use goose_providers::{CustomProviders, ProviderFactory, Registry};

use crate::{Paths, ProjectFile, process_environment::text_variables};

/// Sources of settings. Programs name them; nothing else is read.
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
    /// Values from the command line, by the name of the key.
    pub flags: BTreeMap<String, String>,
    /// Models that the program brings itself.
    pub factories: Vec<Arc<dyn ProviderFactory>>,
    /// Built-in services of the program.
    pub builtins: &'static [Builtin],
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
            builtins: &[],
        }
    }

    /// The user's file and the variables of this process, as they are now. For programs; everything else is told.
    pub fn of_this_process(paths: Paths) -> Self {
        Self::new(paths).with_environment(text_variables())
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

    /// Registers the built-in services of the program.
    pub fn with_builtins(mut self, builtins: &'static [Builtin]) -> Self {
        self.builtins = builtins;
        self
    }

    /// The file that is, or would be, the user's.
    pub(crate) fn user_file(&self) -> PathBuf {
        self.config_file.clone().unwrap_or_else(|| self.paths.config_file())
    }

    /// A variable of the environment.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(String::as_str)
    }

    /// Reads the user's descriptions of services.
    pub(crate) fn registry(&self) -> Registry {
        let custom = CustomProviders::load(&self.paths.custom_providers());
        for problem in &custom.problems {
            tracing::warn!(%problem, "a custom provider is left out");
        }
        let registry = Registry::new(custom);
        self.factories.iter().fold(registry, |registry, factory| registry.with_factory(Arc::clone(factory)))
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
