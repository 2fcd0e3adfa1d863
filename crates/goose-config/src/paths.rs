//! [`Paths`]: the folders of goose's files.

use std::{ffi::OsString, path::PathBuf};

use serde::Serialize;

use crate::{ConfigError, process_environment};

/// Folders of goose, which need not exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Paths {
    /// Files that the user writes: `config.yaml`, `secrets.yaml`, recipes.
    pub config: PathBuf,
    /// Files that must not be lost: sessions, logins.
    pub data: PathBuf,
    /// Logs and history.
    pub state: PathBuf,
    /// Files that can be created again. Part of the state folder.
    pub cache: PathBuf,
}

impl Paths {
    /// Reads the environment of this process. For programs; everything else gets the folders as arguments.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::from_variables(process_environment::variable)
    }

    /// Returns all folders below one, as `GOOSE_PATH_ROOT` does.
    pub fn under(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        let state = root.join("state");
        Self { config: root.join("config"), data: root.join("data"), cache: state.join("cache"), state }
    }

    /// Returns the folders for environment variables that `get` looks up:
    ///
    /// 1. `GOOSE_PATH_ROOT`: `config`, `data` and `state` in it
    /// 2. `XDG_CONFIG_HOME`, `XDG_DATA_HOME`, `XDG_STATE_HOME`, if they are absolute paths: `goose` in each
    /// 3. `HOME`: `~/.config/goose`, `~/.local/share/goose`, `~/.local/state/goose`
    ///
    /// An empty variable counts as not set.
    pub fn from_variables(get: impl Fn(&str) -> Option<OsString>) -> Result<Self, ConfigError> {
        let path = |name: &str| get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = |name: &str, xdg: &str, home: &str| {
            path("GOOSE_PATH_ROOT")
                .map(|root| root.join(name))
                .or_else(|| path(xdg).filter(|base| base.is_absolute()).map(|base| base.join("goose")))
                .or_else(|| path("HOME").map(|base| base.join(home).join("goose")))
                .ok_or(ConfigError::NoHome)
        };
        let state = folder("state", "XDG_STATE_HOME", ".local/state")?;
        Ok(Self {
            config: folder("config", "XDG_CONFIG_HOME", ".config")?,
            data: folder("data", "XDG_DATA_HOME", ".local/share")?,
            cache: state.join("cache"),
            state,
        })
    }

    /// Returns the path of the user's configuration.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.yaml")
    }

    /// Returns the folder with the user's descriptions of providers.
    pub fn custom_providers(&self) -> PathBuf {
        self.config.join("custom_providers")
    }

    /// Returns the folder with logins at servers.
    pub fn logins(&self) -> PathBuf {
        self.data.join("oauth")
    }

    /// Returns the path of the user's secrets outside of the keyring.
    pub fn secrets_file(&self) -> PathBuf {
        self.config.join("secrets.yaml")
    }
}
