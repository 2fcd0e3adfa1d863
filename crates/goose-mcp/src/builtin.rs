//! The list of built-ins: the one door through which programs get them by name.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::Arc};

use goose_extension::Extension;

use crate::{developer::Developer, memory::Memory, tutorial::Tutorial};

/// Settings of the built-ins, from the program that runs them.
#[derive(Clone)]
#[non_exhaustive]
pub struct Settings {
    /// goose's config folder, see [`paths::config_dir`](crate::paths::config_dir).
    pub config_dir: PathBuf,
    /// The project that is worked in, where there is one.
    pub working_dir: Option<PathBuf>,
    /// The variables that commands get, secrets left out. Commands inherit nothing else.
    pub environment: BTreeMap<OsString, OsString>,
    /// The folder for long outputs of commands. Without it they are only cut.
    pub scratch_dir: Option<PathBuf>,
}

impl Settings {
    /// Settings without a project.
    pub fn new(config_dir: impl Into<PathBuf>) -> Self {
        Self {
            config_dir: config_dir.into(),
            working_dir: None,
            environment: BTreeMap::new(),
            scratch_dir: None,
        }
    }

    /// Says which project is worked in.
    pub fn with_working_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.working_dir = Some(dir.into());
        self
    }

    /// Says which variables commands get. Among them, `GOOSE_SHELL` names the shell and `HOME` is what `~` means.
    pub fn with_environment(
        mut self,
        variables: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>,
    ) -> Self {
        self.environment = variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        self
    }

    /// Says where long outputs of commands are put.
    pub fn with_scratch_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.scratch_dir = Some(dir.into());
        self
    }
}

/// An extension that comes with goose.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Builtin {
    /// The name in configurations and on command lines.
    pub name: &'static str,
    /// Its purpose, in a few words.
    pub summary: &'static str,
    build: fn(&Settings) -> Arc<dyn Extension>,
}

impl Builtin {
    /// Makes the extension.
    pub fn build(&self, settings: &Settings) -> Arc<dyn Extension> {
        (self.build)(settings)
    }
}

/// All built-ins, by name.
pub const BUILTINS: &[Builtin] = &[
    Builtin { name: "developer", summary: "files, commands and a plan, for work on code", build: developer },
    Builtin { name: "memory", summary: "facts and preferences across conversations", build: memory },
    Builtin { name: "tutorial", summary: "guided, step-by-step tutorials", build: tutorial },
];

/// The built-in of that name, where there is one.
pub fn builtin(name: &str, settings: &Settings) -> Option<Arc<dyn Extension>> {
    BUILTINS.iter().find(|builtin| builtin.name == name).map(|builtin| builtin.build(settings))
}

fn developer(settings: &Settings) -> Arc<dyn Extension> {
    Arc::new(Developer::new(settings))
}

fn memory(settings: &Settings) -> Arc<dyn Extension> {
    let memory = Memory::new(settings.config_dir.join("memory"));
    Arc::new(match &settings.working_dir {
        Some(dir) => memory.with_project(dir.clone()),
        None => memory,
    })
}

fn tutorial(_settings: &Settings) -> Arc<dyn Extension> {
    Arc::new(Tutorial::new())
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("config_dir", &self.config_dir)
            .field("working_dir", &self.working_dir)
            .finish_non_exhaustive()
    }
}
