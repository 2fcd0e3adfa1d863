//! [`ConfigFile`]: `config.yaml`, read without changing it. [`ConfigEditor`](crate::ConfigEditor) changes it.

use std::{
    fmt,
    io::ErrorKind,
    marker::PhantomData,
    path::{Path, PathBuf},
};

use serde::de::{DeserializeOwned, DeserializeSeed};

use crate::{
    ConfigError, Place,
    configured_extension::{ConfiguredExtension, read_entries},
    error::line_and_column,
    yaml::{self, Pick, TopLevelKey, outline},
};

/// Maximum size of `config.yaml`.
pub const MAX_CONFIG_BYTES: u64 = 4 * 1024 * 1024;

/// The device that people name for an empty file. All other devices are refused.
const EMPTY_FILE: &str = "/dev/null";

/// Key that merges another mapping into this one.
const MERGE: &str = "<<";

/// Configuration file, as it was when it was read.
///
/// Unknown keys are neither checked nor changed. A file that cannot be parsed is an error.
#[derive(Clone)]
pub struct ConfigFile {
    path: PathBuf,
    text: String,
    keys: Vec<TopLevelKey>,
    extensions: Vec<ConfiguredExtension>,
}

impl ConfigFile {
    /// Reads a file. A missing file is an empty configuration.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        Self::from_text(path, read_capped(path, MAX_CONFIG_BYTES)?.unwrap_or_default())
    }

    /// Parses the text of a file.
    pub(crate) fn from_text(path: &Path, text: String) -> Result<Self, ConfigError> {
        let extensions = read_entries(&text, path)?;
        Ok(Self { path: path.to_owned(), keys: outline(&text), text, extensions })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the text of the file.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the entries under `extensions:`, in the order of the file. An entry that cannot be read
    /// contains its error.
    pub fn extensions(&self) -> &[ConfiguredExtension] {
        &self.extensions
    }

    /// Returns the top-level keys, in the order of the file.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|top_level_key| top_level_key.key.as_str())
    }

    /// Returns whether the file has a top-level key.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    /// Returns the position of a top-level key.
    pub fn place(&self, key: &str) -> Option<Place> {
        self.find(key).map(|top_level_key| Place::new(&self.path, Some(top_level_key.position)))
    }

    /// Returns the value of a top-level key; `None` if it is missing or `null`. The requested type decides
    /// how it is read: `GOOSE_MODEL: 4.10` is `"4.10"` as a `String`, and 4.1 as an `f64`.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, ConfigError> {
        let found = self.find(key);
        if found.is_none() && !self.has(MERGE) {
            return Ok(None);
        }
        let alone = found.and_then(|found| self.text.get(found.value.clone()?));
        if let Some(Ok(value)) = alone.map(|text| yaml::read(text, PhantomData::<Option<T>>)) {
            return Ok(value);
        }
        // In the whole document, anchors are resolved, and errors have their position.
        self.get_with(key, PhantomData::<Option<T>>).map(Option::flatten)
    }

    /// Returns the value of a top-level key, read with a seed.
    pub(crate) fn get_with<T, S>(&self, key: &str, seed: S) -> Result<Option<T>, ConfigError>
    where
        S: for<'de> DeserializeSeed<'de, Value = T>,
    {
        yaml::read(&self.text, Pick::new(key, seed)).map_err(|error| {
            let place = Place::new(&self.path, yaml::position(&error));
            ConfigError::malformed(place, format!("'{key}': {}", yaml::message(&error)))
        })
    }

    fn find(&self, key: &str) -> Option<&TopLevelKey> {
        self.keys.iter().find(|top_level_key| top_level_key.key == key)
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

/// Returns the text of a file; `None` if it does not exist. At most `limit` bytes are accepted, and one more
/// is read.
///
/// # Errors
///
/// Fails if the file cannot be read, is not a regular file, is larger than the limit, or is not UTF-8.
pub fn read_capped(path: &Path, limit: u64) -> Result<Option<String>, ConfigError> {
    if path == Path::new(EMPTY_FILE) {
        return Ok(Some(String::new()));
    }
    let bytes = match goose_fs::read_regular(path, limit) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ConfigError::unreadable(path, &error)),
    };
    if bytes.len() as u64 > limit {
        return Err(ConfigError::TooLarge { path: path.to_owned(), limit });
    }
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let text = String::from_utf8_lossy(error.as_bytes());
        let position = line_and_column(&text, error.utf8_error().valid_up_to());
        let place = Place::new(path, Some(position));
        ConfigError::malformed(place, "this is not UTF-8 text; save the file as UTF-8")
    })
}
