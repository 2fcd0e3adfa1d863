//! [`Builtin`]: a service that a program brings along, registered by name; [`BuiltinOptions`]: what it is built with.

use std::{collections::BTreeMap, ffi::OsString, fmt, path::PathBuf, sync::Arc};

use crate::Extension;

/// Options that built-in services are built with. Programs fill them in; services read no environment.
#[derive(Clone)]
#[non_exhaustive]
pub struct BuiltinOptions {
    /// goose's config folder.
    pub config_dir: PathBuf,
    /// Folder of the current project.
    pub working_dir: Option<PathBuf>,
    /// Environment of commands, without secrets. Commands inherit nothing else.
    pub environment: BTreeMap<OsString, OsString>,
    /// Names of variables that are set, but withheld from commands because they look like secrets.
    pub withheld: Vec<String>,
    /// Folder for long outputs of commands. Without one, long outputs are truncated.
    pub scratch_dir: Option<PathBuf>,
}

impl BuiltinOptions {
    /// Creates options without a project.
    pub fn new(config_dir: impl Into<PathBuf>) -> Self {
        Self {
            config_dir: config_dir.into(),
            working_dir: None,
            environment: BTreeMap::new(),
            withheld: Vec::new(),
            scratch_dir: None,
        }
    }

    /// Sets the folder of the current project.
    pub fn with_working_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.working_dir = Some(dir.into());
        self
    }

    /// Sets the environment of commands. `GOOSE_SHELL` names the shell, and `~` means `HOME`.
    pub fn with_environment(
        mut self,
        variables: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>,
    ) -> Self {
        self.environment = variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        self
    }

    /// Names the variables that are withheld from commands.
    pub fn with_withheld(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.withheld = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the folder for long outputs of commands.
    pub fn with_scratch_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.scratch_dir = Some(dir.into());
        self
    }
}

// The environment may hold values that logs must not show.
impl fmt::Debug for BuiltinOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BuiltinOptions")
            .field("config_dir", &self.config_dir)
            .field("working_dir", &self.working_dir)
            .finish_non_exhaustive()
    }
}

/// A service that is part of the program.
#[derive(Debug, Clone, Copy)]
pub struct Builtin {
    /// Name in configurations and on command lines.
    pub name: &'static str,
    /// Purpose, in a few words.
    pub summary: &'static str,
    /// Builds the service.
    pub build: fn(&BuiltinOptions) -> Arc<dyn Extension>,
}

impl Builtin {
    /// Builds the service.
    pub fn build(&self, options: &BuiltinOptions) -> Arc<dyn Extension> {
        (self.build)(options)
    }
}
