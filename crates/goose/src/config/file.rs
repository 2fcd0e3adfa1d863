//! `config.yaml`: read as it is, never written.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;

use super::{
    ConfigError,
    entries::{ConfiguredExtension, read_entries},
    text_file::read_capped,
    yaml::{self, Pick},
};

/// The largest `config.yaml` that is read.
pub const MAX_CONFIG_BYTES: u64 = 4 * 1024 * 1024;

/// The user's configuration, as it was when it was read.
///
/// Keys that nobody asks for are nobody's business: they are neither checked nor changed. A file that cannot be
/// parsed is an error, and stays as it is.
#[derive(Clone)]
pub struct ConfigFile {
    path: PathBuf,
    text: String,
    extensions: Vec<ConfiguredExtension>,
}

impl ConfigFile {
    /// Reads a file. One that is not there is an empty configuration.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let text = read_capped(path, MAX_CONFIG_BYTES)?.unwrap_or_default();
        let extensions = read_entries(&text, path)?;
        Ok(Self { path: path.to_owned(), text, extensions })
    }

    /// The file that this was read from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The entries under `extensions:`, in the order of the file. One that cannot be read says why.
    pub fn extensions(&self) -> &[ConfiguredExtension] {
        &self.extensions
    }

    /// The value of a top-level key, `None` where it is missing or `null`. It is read as the type that is asked for:
    /// `GOOSE_MODEL: 4.10` is `"4.10"` as a `String`, and 4.1 as an `f64`.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, ConfigError> {
        let value = yaml::read(&self.text, Pick::value(key)).map_err(|error| {
            match yaml::malformed(&self.path, &error) {
                ConfigError::Malformed { place, message } => {
                    ConfigError::malformed(place, format!("'{key}': {message}"))
                }
                other => other,
            }
        })?;
        Ok(value.flatten())
    }
}

impl fmt::Debug for ConfigFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigFile")
            .field("path", &self.path)
            .field("extensions", &self.extensions)
            .finish_non_exhaustive()
    }
}
