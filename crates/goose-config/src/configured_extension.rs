//! [`ConfiguredExtension`]: an entry under `extensions:`. One that cannot be read does not affect the others.

use std::{cell::Cell, collections::BTreeMap, fmt, path::Path};

use goose_extension::Builtin;
use serde::{
    Deserialize,
    de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor},
};
use serde_saphyr::{Error, Spanned};

use crate::{
    ConfigError, Place,
    extension::{ExtensionConfig, ExtensionKind},
    keys::EXTENSIONS,
    serde_repr::Wire,
    yaml::{self, Pick},
};

/// Maximum number of extensions in a file.
pub const MAX_ENTRIES: usize = 256;

/// Entry under `extensions:`.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfiguredExtension {
    /// Key, as written.
    pub key: String,
    /// True if the entry is switched on, which is the default.
    pub enabled: bool,
    /// Extension, or the reason why the entry cannot be read.
    pub config: Result<ExtensionConfig, ConfigError>,
    /// Position of the entry.
    pub place: Place,
}

impl ConfiguredExtension {
    /// Returns true if the name refers to this entry: its key, or the key of the extension.
    pub fn is_called(&self, name: &str) -> bool {
        self.key == name || self.config.as_ref().is_ok_and(|config| config.key() == name)
    }

    /// Returns the extension if it can be read and passes [`check`](ExtensionConfig::check). The error has
    /// the position of the entry.
    pub fn checked(&self) -> Result<&ExtensionConfig, ConfigError> {
        let config = self.config.as_ref().map_err(Clone::clone)?;
        config.check().map_err(|error| error.at(&self.place))?;
        Ok(config)
    }

    /// Returns true if the entry only switches a feature on or off: there is no service to start.
    pub fn is_switch(&self) -> bool {
        self.config.as_ref().is_ok_and(|config| config.kind == ExtensionKind::Platform)
    }

    /// Returns true for an entry of `type: platform` that is not known from any version of goose.
    pub fn is_unknown_platform(&self) -> bool {
        self.is_switch() && self.config.as_ref().is_ok_and(|config| !config.is_known_switch())
    }

    /// Turns an entry of `type: platform` that names a built-in service into that service.
    pub(crate) fn resolve(&mut self, builtins: &[Builtin]) {
        let Ok(config) = &mut self.config else { return };
        let key = config.key();
        if config.kind == ExtensionKind::Platform && builtins.iter().any(|builtin| builtin.name == key) {
            config.kind = ExtensionKind::Builtin { env_keys: Vec::new() };
        }
    }
}

/// Reads all entries of a document. Fails only if the document itself cannot be read.
///
/// A serde error ends the whole read, so the document is read again for each entry that fails: then only for
/// its `enabled`, and if that fails too, without the entry.
pub(crate) fn read_entries(text: &str, path: &Path) -> Result<Vec<ConfiguredExtension>, ConfigError> {
    let mut failed: BTreeMap<usize, FailedEntry> = BTreeMap::new();
    loop {
        let current = Cell::new(None);
        let seed = Pick::new(EXTENSIONS, Entries { failed: &failed, current: &current });
        let error = match yaml::read(text, seed) {
            Ok(entries) => return Ok(finish(entries.unwrap_or_default(), path)),
            Err(error) => error,
        };
        let Some(index) = current.take() else {
            return Err(yaml::malformed(path, &error));
        };
        match failed.get_mut(&index) {
            None => drop(failed.insert(index, FailedEntry { error, unreadable: false })),
            Some(known) if !known.unreadable => known.unreadable = true,
            Some(_) => return Err(yaml::malformed(path, &error)),
        }
    }
}

/// Entry that cannot be read completely.
struct FailedEntry {
    error: Error,
    /// True if not even `enabled` can be read.
    unreadable: bool,
}

/// Part of an entry that is used even if the rest is wrong.
#[derive(Deserialize)]
struct Switch {
    enabled: Option<bool>,
}

/// Entry, as far as it was read.
struct Entry<'s> {
    key: Spanned<String>,
    body: Body<'s>,
}

enum Body<'s> {
    Whole(Box<Wire>),
    /// Value of `enabled`, and the reason why the rest cannot be read.
    Failed(Option<bool>, &'s Error),
}

fn finish(entries: Vec<Entry<'_>>, path: &Path) -> Vec<ConfiguredExtension> {
    let mut entries: Vec<_> = entries.into_iter().map(|entry| configured(entry, path)).collect();
    refuse_same_names(&mut entries);
    entries
}

fn configured(entry: Entry<'_>, path: &Path) -> ConfiguredExtension {
    let at = entry.key.referenced;
    let place = Place::new(path, Some((at.line(), at.column())));
    let key = entry.key.value;
    let (enabled, config) = match entry.body {
        Body::Whole(wire) => (wire.enabled, named(*wire, &key).map_err(|error| error.at(&place))),
        Body::Failed(enabled, error) => (enabled, Err(bad_entry(&key, error, &place))),
    };
    ConfiguredExtension { key, enabled: enabled.unwrap_or(true), config, place }
}

/// Creates the extension. An entry without a name is named after its key.
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

/// Refuses all but the first of several enabled entries with the same name, because the names of tools
/// contain it.
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

/// Reader of the mapping of entries, in the order of the file.
#[derive(Clone, Copy)]
struct Entries<'s> {
    failed: &'s BTreeMap<usize, FailedEntry>,
    /// Index of the entry that is being read, to find the one that fails.
    current: &'s Cell<Option<usize>>,
}

impl<'de, 's> DeserializeSeed<'de> for Entries<'s> {
    type Value = Vec<Entry<'s>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de, 's> Visitor<'de> for Entries<'s> {
    type Value = Vec<Entry<'s>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping of extensions")
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
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

impl<'s> Entries<'s> {
    /// Reads the value of an entry as far as possible.
    fn body<'de, A: MapAccess<'de>>(&self, index: usize, map: &mut A) -> Result<Body<'s>, A::Error> {
        let Some(failed) = self.failed.get(&index) else { return Ok(Body::Whole(map.next_value()?)) };
        let enabled = if failed.unreadable {
            map.next_value::<IgnoredAny>()?;
            None
        } else {
            map.next_value::<Switch>()?.enabled
        };
        Ok(Body::Failed(enabled, &failed.error))
    }
}
