//! `config.yaml`: read as it is. What changes it is the [`ConfigEditor`](super::ConfigEditor).

use std::{
    cell::Cell,
    collections::BTreeMap,
    fmt,
    fs::File,
    io::{ErrorKind, Read},
    marker::PhantomData,
    path::{Path, PathBuf},
};

use serde::{
    Deserialize,
    de::{DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor},
};
use serde_saphyr::{Error, Spanned};

use super::{
    ConfigError, Place,
    extension::ExtensionConfig,
    serde_repr::Wire,
    yaml::{self, Outlined, Pick, outline},
};

/// The largest `config.yaml` that is read.
pub const MAX_CONFIG_BYTES: u64 = 4 * 1024 * 1024;

/// The key that merges another mapping into this one.
const MERGE: &str = "<<";

/// The user's configuration, as it was when it was read.
///
/// Unused keys are neither checked nor changed. A file that cannot be
/// parsed is an error, and stays as it is.
#[derive(Clone)]
pub struct ConfigFile {
    path: PathBuf,
    text: String,
    keys: Vec<Outlined>,
    extensions: Vec<ConfiguredExtension>,
}

impl ConfigFile {
    /// Reads a file. One that is not there is an empty configuration.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        Self::from_text(path, read_capped(path, MAX_CONFIG_BYTES)?.unwrap_or_default())
    }

    /// A file whose text is already there.
    pub(super) fn from_text(path: &Path, text: String) -> Result<Self, ConfigError> {
        let extensions = read_entries(&text, path)?;
        Ok(Self { path: path.to_owned(), keys: outline(&text), text, extensions })
    }

    /// The file that this was read from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The entries under `extensions:`, in the order of the file. One that cannot be read says why.
    pub fn extensions(&self) -> &[ConfiguredExtension] {
        &self.extensions
    }

    /// The top-level keys, in the order of the file.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|outlined| outlined.key.as_str())
    }

    /// Returns whether a top-level key is there.
    pub(super) fn has(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    /// Returns the place of a top-level key.
    pub fn place(&self, key: &str) -> Option<Place> {
        self.find(key).map(|outlined| Place::new(&self.path, Some(outlined.position)))
    }

    /// The value of a top-level key, `None` if it is missing or `null`. It is read as the type that is asked for:
    /// `GOOSE_MODEL: 4.10` is `"4.10"` as a `String`, and 4.1 as an `f64`.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, ConfigError> {
        let Some(outlined) = self.find(key) else {
            return if self.find(MERGE).is_some() { self.get_from_whole(key) } else { Ok(None) };
        };
        let alone = outlined.value.as_ref().and_then(|range| self.text.get(range.clone()));
        if let Some(Ok(value)) = alone.map(|text| yaml::read(text, PhantomData::<Option<T>>)) {
            return Ok(value);
        }
        self.get_from_whole(key)
    }

    /// The same with the whole document read: anchors are known, and errors say where they are.
    fn get_from_whole<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, ConfigError> {
        self.get_with(key, PhantomData::<Option<T>>).map(Option::flatten)
    }

    /// The value of a top-level key, read with a seed.
    pub(super) fn get_with<T, S>(&self, key: &str, seed: S) -> Result<Option<T>, ConfigError>
    where
        S: for<'de> DeserializeSeed<'de, Value = T>,
    {
        yaml::read(&self.text, Pick::new(key, seed)).map_err(|error| {
            match yaml::malformed(&self.path, &error) {
                ConfigError::Malformed { place, message } => {
                    ConfigError::malformed(place, format!("'{key}': {message}"))
                }
                other => other,
            }
        })
    }

    fn find(&self, key: &str) -> Option<&Outlined> {
        self.keys.iter().find(|outlined| outlined.key == key)
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

/// The text of a file, `None` if there is no file.
pub fn read_capped(path: &Path, limit: u64) -> Result<Option<String>, ConfigError> {
    let bytes = match bytes(path, limit) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(ConfigError::Unreadable { path: path.to_owned(), reason: error.to_string() });
        }
    };
    if bytes.len() as u64 > limit {
        return Err(ConfigError::TooLarge { path: path.to_owned(), limit });
    }
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|error| not_text(path, error.as_bytes(), error.utf8_error().valid_up_to()))
}

/// At most one byte more than the limit.
fn bytes(path: &Path, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn not_text(path: &Path, bytes: &[u8], valid_up_to: usize) -> ConfigError {
    let before = bytes.get(..valid_up_to).unwrap_or_default();
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let line = before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
    let column =
        String::from_utf8_lossy(before.get(line_start..).unwrap_or_default()).chars().count() as u64 + 1;
    ConfigError::malformed(
        Place::new(path, Some((line, column))),
        "this is not UTF-8 text; save the file as UTF-8",
    )
}

/// Maximum number of extensions of a file.
pub const MAX_ENTRIES: usize = 256;

/// The key whose mapping this is.
const EXTENSIONS: &str = "extensions";

/// One entry under `extensions:`.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfiguredExtension {
    /// Its key, as it is written.
    pub key: String,
    /// True if it is switched on, which is the default.
    pub enabled: bool,
    /// The extension, or why this entry cannot be read.
    pub config: Result<ExtensionConfig, ConfigError>,
    /// The place of the entry.
    pub place: Place,
}

impl ConfiguredExtension {
    /// Returns true if the name means this entry: as its key, or as the extension's own key.
    pub fn is_called(&self, name: &str) -> bool {
        self.key == name || self.config.as_ref().is_ok_and(|config| config.key() == name)
    }

    /// The extension, where it can be read and [makes sense](ExtensionConfig::check). The error says where.
    pub fn checked(&self) -> Result<&ExtensionConfig, ConfigError> {
        let config = self.config.as_ref().map_err(Clone::clone)?;
        config.check().map_err(|error| error.at(&self.place))?;
        Ok(config)
    }
}

/// Reads all entries of a document. An error is one of the whole document.
pub(super) fn read_entries(text: &str, path: &Path) -> Result<Vec<ConfiguredExtension>, ConfigError> {
    let mut failed: BTreeMap<usize, Failed> = BTreeMap::new();
    loop {
        let current = Cell::new(None);
        let seed = Pick::new(EXTENSIONS, Entries { failed: &failed, current: &current });
        let error = match yaml::read(text, seed) {
            Ok(entries) => return Ok(finish(entries.unwrap_or_default(), &failed, path)),
            Err(error) => error,
        };
        let Some(index) = current.take() else {
            return Err(yaml::malformed(path, &error));
        };
        match failed.get_mut(&index) {
            None => drop(failed.insert(index, Failed { error, unreadable: false })),
            Some(known) if !known.unreadable => known.unreadable = true,
            Some(_) => return Err(yaml::malformed(path, &error)),
        }
    }
}

/// An entry that could not be read whole.
struct Failed {
    error: Error,
    /// Not even `enabled` could be read.
    unreadable: bool,
}

/// The part of an entry that matters even where the rest is wrong.
#[derive(Deserialize)]
struct Switch {
    enabled: Option<bool>,
}

/// One entry as far as it was read.
struct Entry {
    key: Spanned<String>,
    body: Body,
}

enum Body {
    Whole(Box<Wire>),
    Switch(Option<bool>),
    Nothing,
}

fn finish(entries: Vec<Entry>, failed: &BTreeMap<usize, Failed>, path: &Path) -> Vec<ConfiguredExtension> {
    let entries =
        entries.into_iter().enumerate().map(|(index, entry)| configured(entry, failed.get(&index), path));
    let mut entries: Vec<_> = entries.collect();
    refuse_same_names(&mut entries);
    entries
}

fn configured(entry: Entry, failed: Option<&Failed>, path: &Path) -> ConfiguredExtension {
    let at = entry.key.referenced;
    let place = Place::new(path, Some((at.line(), at.column())));
    let key = entry.key.value;
    let (enabled, config) = match (entry.body, failed) {
        (Body::Whole(wire), _) => (wire.enabled, named(*wire, &key).map_err(|error| error.at(&place))),
        (Body::Switch(enabled), Some(failed)) => (enabled, Err(bad_entry(&key, &failed.error, &place))),
        (Body::Nothing, Some(failed)) => (None, Err(bad_entry(&key, &failed.error, &place))),
        (_, None) => (None, Err(ConfigError::malformed(place.clone(), "this entry was not read"))),
    };
    ConfiguredExtension { key, enabled: enabled.unwrap_or(true), config, place }
}

/// An entry without a name has its key as its name.
fn named(mut wire: Wire, key: &str) -> Result<ExtensionConfig, ConfigError> {
    wire.name.get_or_insert_with(|| key.to_owned());
    ExtensionConfig::try_from(wire)
}

fn bad_entry(key: &str, error: &Error, place: &Place) -> ConfigError {
    let position = yaml::position(error).or(place.position);
    ConfigError::malformed(
        Place::new(&place.path, position),
        format!("extension '{key}': {}", yaml::message(error)),
    )
}

/// Tools are known by the name of their extension, so of two entries with the same name only the first counts.
fn refuse_same_names(entries: &mut [ConfiguredExtension]) {
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for entry in entries.iter_mut().filter(|entry| entry.enabled) {
        let Ok(config) = &entry.config else { continue };
        let name = config.key();
        if let Some(first) = seen.get(&name) {
            let message = format!(
                "extension '{}' has the same name as '{first}'; change its name or remove it",
                entry.key
            );
            entry.config = Err(ConfigError::malformed(entry.place.clone(), message));
        } else {
            seen.insert(name, entry.key.clone());
        }
    }
}

/// Reads the mapping of entries, in the order of the file.
#[derive(Clone, Copy)]
struct Entries<'s> {
    failed: &'s BTreeMap<usize, Failed>,
    /// The entry that is being read, for the case that it fails.
    current: &'s Cell<Option<usize>>,
}

impl<'de> DeserializeSeed<'de> for Entries<'_> {
    type Value = Vec<Entry>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Entries<'_> {
    type Value = Vec<Entry>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping of extensions")
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            if entries.len() == MAX_ENTRIES {
                return Err(A::Error::custom(format!(
                    "there are more than {MAX_ENTRIES} extensions; remove some"
                )));
            }
            self.current.set(Some(entries.len()));
            let body = self.body(entries.len(), &mut map)?;
            self.current.set(None);
            entries.push(Entry { key, body });
        }
        Ok(entries)
    }
}

impl Entries<'_> {
    /// The value of an entry, read as far as it can be.
    fn body<'de, A: MapAccess<'de>>(&self, index: usize, map: &mut A) -> Result<Body, A::Error> {
        Ok(match self.failed.get(&index) {
            None => Body::Whole(map.next_value()?),
            Some(failed) if !failed.unreadable => Body::Switch(map.next_value::<Switch>()?.enabled),
            Some(_) => {
                map.next_value::<IgnoredAny>()?;
                Body::Nothing
            }
        })
    }
}
