//! The folder of goose's configuration, for the programs that serve the built-ins. The built-ins themselves are
//! told where their files are.

use std::{ffi::OsString, path::PathBuf};

/// The config folder, from environment variables that `get` looks up:
///
/// 1. `GOOSE_PATH_ROOT`, which moves all folders: `$GOOSE_PATH_ROOT/config`
/// 2. `XDG_CONFIG_HOME`, where it is an absolute path: `$XDG_CONFIG_HOME/goose`
/// 3. `HOME`: `~/.config/goose`
///
/// A variable that is empty counts as not set. `None` if none of them helps.
pub fn config_dir(get: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let path = |name: &str| get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    path("GOOSE_PATH_ROOT")
        .map(|root| root.join("config"))
        .or_else(|| path("XDG_CONFIG_HOME").filter(|base| base.is_absolute()).map(|base| base.join("goose")))
        .or_else(|| path("HOME").map(|home| home.join(".config").join("goose")))
}
