//! [`SettingsSource`]: the origin of the layers of [`Settings`](crate::Settings).

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc};

use goose_extension::Builtin;
use goose_providers::{CustomProviders, ProviderFactory, Registry};

use crate::{Paths, ProjectFile, process_environment::text_variables};

/// Sources of settings. Programs choose them; nothing else is read.
#[derive(Clone)]
pub struct SettingsSource {
    /// Folders of goose.
    pub paths: Paths,
    /// Environment variables, without empty ones.
    pub environment: BTreeMap<String, String>,
    /// File of the project, if the user trusts it.
    pub project: Option<ProjectFile>,
    /// File to read instead of the user's `config.yaml`.
    pub config_file: Option<PathBuf>,
    /// Values of the command line, by key.
    pub flags: BTreeMap<String, String>,
    /// Providers of the program.
    pub factories: Vec<Arc<dyn ProviderFactory>>,
    /// Built-in services of the program.
    pub builtins: &'static [Builtin],
}

impl SettingsSource {
    /// Returns a source with the user's file and nothing else.
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

    /// Returns a source with the user's file and the variables of this process, as they are now. For
    /// programs; everything else gets them as arguments.
    pub fn of_this_process(paths: Paths) -> Self {
        Self::new(paths).with_environment(text_variables())
    }

    /// Adds environment variables. Empty ones are ignored.
    pub fn with_environment<N, V>(mut self, variables: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<String>,
        V: Into<String>,
    {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        self.environment.extend(variables.filter(|(_, value): &(String, String)| !value.is_empty()));
        self
    }

    /// Sets the project's file, which the user trusts.
    pub fn with_project(mut self, project: Option<ProjectFile>) -> Self {
        self.project = project;
        self
    }

    /// Sets a file to read instead of the user's `config.yaml`.
    pub fn with_config_file(mut self, file: Option<PathBuf>) -> Self {
        self.config_file = file;
        self
    }

    /// Sets a value of the command line, if one is given.
    pub fn with_flag(mut self, key: impl Into<String>, value: Option<impl Into<String>>) -> Self {
        if let Some(value) = value {
            self.flags.insert(key.into(), value.into());
        }
        self
    }

    /// Adds values that win over the environment, as those of a recipe do.
    pub fn with_flags<K: Into<String>>(mut self, values: impl IntoIterator<Item = (K, String)>) -> Self {
        self.flags.extend(values.into_iter().map(|(key, value)| (key.into(), value)));
        self
    }

    /// Adds a provider of the program, if one is given.
    pub fn with_factory(mut self, factory: impl Into<Option<Arc<dyn ProviderFactory>>>) -> Self {
        self.factories.extend(factory.into());
        self
    }

    /// Sets the built-in services of the program.
    pub fn with_builtins(mut self, builtins: &'static [Builtin]) -> Self {
        self.builtins = builtins;
        self
    }

    /// Returns the path of the user's file, which need not exist.
    pub(crate) fn user_file(&self) -> PathBuf {
        self.config_file.clone().unwrap_or_else(|| self.paths.config_file())
    }

    /// Returns a variable of the environment.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(String::as_str)
    }

    /// Reads the user's descriptions of providers, and adds the program's providers.
    pub(crate) fn registry(&self) -> Registry {
        let custom = CustomProviders::load(&self.paths.custom_providers());
        for problem in &custom.problems {
            tracing::warn!(%problem, "a custom provider is ignored");
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
