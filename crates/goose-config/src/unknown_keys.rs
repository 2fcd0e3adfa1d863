//! [`unknown_keys`]: the keys of a file that goose does not know, with the known key that was probably meant.

use std::{fmt, path::Path, sync::LazyLock};

use crate::{
    Place,
    error::line_and_column,
    file::ConfigFile,
    keys::EXTENSIONS,
    known_settings::{PROFILE_SETTINGS, SETTINGS},
    serde_repr::FIELDS,
    yaml_tree::{self, Node, NodeKind},
};

/// Maximum number of typing errors in a key.
const MAX_ERRORS: usize = 2;

/// Number of characters of a key for each error: short keys with two errors are other keys.
const CHARS_PER_ERROR: usize = 4;

/// Path segment that stands for every key of a mapping and every item of a list.
pub const ANY: &str = "*";

static CONFIG_KEYS: LazyLock<Vec<&str>> =
    LazyLock::new(|| SETTINGS.iter().map(|setting| setting.key).collect());

static PROFILE_KEYS: LazyLock<Vec<&str>> =
    LazyLock::new(|| PROFILE_SETTINGS.iter().map(|setting| setting.key).collect());

/// Key that goose does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKey {
    /// Key, as written.
    pub key: String,
    /// Position of the key.
    pub place: Place,
    /// Known key that was probably meant.
    pub meant: Option<String>,
}

impl fmt::Display for UnknownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: unknown key '{}'", self.place, self.key)?;
        match &self.meant {
            Some(meant) => write!(f, "; did you mean '{meant}'?"),
            None => write!(f, ", which is ignored"),
        }
    }
}

/// Keys that the mappings at a path may have.
#[derive(Debug, Clone, Copy)]
pub struct KnownKeys<'k> {
    /// Path from the root of the document, with [`ANY`] for every key or item.
    pub path: &'k [&'k str],
    /// Known keys.
    pub keys: &'k [&'k str],
    /// True if other keys may have a meaning elsewhere. Then only likely misspellings are reported.
    pub is_open: bool,
}

impl ConfigFile {
    /// Returns the keys that goose does not know. Other top-level keys may be settings of services or of other
    /// programs, so only likely misspellings count there.
    pub fn unknown_keys(&self) -> Vec<UnknownKey> {
        unknown_keys(
            self.path(),
            self.text(),
            &[
                KnownKeys { path: &[], keys: &CONFIG_KEYS, is_open: true },
                KnownKeys { path: &["profiles", ANY], keys: &PROFILE_KEYS, is_open: false },
                KnownKeys { path: &[EXTENSIONS, ANY], keys: &FIELDS, is_open: true },
            ],
        )
    }
}

/// Returns the top-level key of `config.yaml` that was probably meant by an unknown one.
pub fn meant_setting(key: &str) -> Option<&'static str> {
    let is_known = CONFIG_KEYS.contains(&key);
    if is_known { None } else { nearest(key, &CONFIG_KEYS) }
}

/// Returns the unknown keys of a profile's file.
pub fn unknown_profile_keys(path: &Path, text: &str) -> Vec<UnknownKey> {
    unknown_keys(path, text, &[KnownKeys { path: &[], keys: &PROFILE_KEYS, is_open: false }])
}

/// Returns the unknown keys of a YAML or JSON text. A text that cannot be parsed has none.
pub fn unknown_keys(file: &Path, text: &str, known: &[KnownKeys<'_>]) -> Vec<UnknownKey> {
    let Ok(Some(root)) = yaml_tree::parse(text) else { return Vec::new() };
    let mut found = Vec::new();
    for known in known {
        for mapping in at(&root, known.path) {
            for entry in mapping.entries().unwrap_or_default() {
                let Some(key) = entry.key.as_deref().filter(|key| !known.keys.contains(key)) else {
                    continue;
                };
                let meant = nearest(key, known.keys).map(str::to_owned);
                if meant.is_some() || !known.is_open {
                    let place = Place::new(file, Some(line_and_column(text, entry.key_range.start)));
                    found.push(UnknownKey { key: key.to_owned(), place, meant });
                }
            }
        }
    }
    found
}

/// Returns the line and column of the node at a path of keys and indices, or of the nearest node above it.
pub fn yaml_position(text: &str, path: &[String]) -> Option<(u64, u64)> {
    let root = yaml_tree::parse(text).ok()??;
    let (mut node, mut start) = (&root, root.range.start);
    for segment in path {
        let next = match &node.kind {
            NodeKind::Sequence(items) => segment.parse().ok().and_then(|index: usize| items.get(index)),
            _ => node.entry(segment).map(|entry| &entry.value),
        };
        let Some(next) = next else { break };
        start = node.entry(segment).map_or(next.range.start, |entry| entry.key_range.start);
        node = next;
    }
    Some(line_and_column(text, start))
}

/// Returns the nodes at a path.
fn at<'n>(root: &'n Node, path: &[&str]) -> Vec<&'n Node> {
    let mut nodes = vec![root];
    for segment in path {
        nodes = nodes.into_iter().flat_map(|node| below(node, segment)).collect();
    }
    nodes
}

fn below<'n>(node: &'n Node, segment: &str) -> Vec<&'n Node> {
    match (&node.kind, segment) {
        (NodeKind::Sequence(items), ANY) => items.iter().collect(),
        (_, ANY) => node.entries().unwrap_or_default().iter().map(|entry| &entry.value).collect(),
        (_, key) => node.entry(key).map(|entry| &entry.value).into_iter().collect(),
    }
}

/// Returns the known key with the fewest typing errors, if they are few. Upper and lower case are the same.
fn nearest<'k>(key: &str, known: &[&'k str]) -> Option<&'k str> {
    let typed = key.to_ascii_lowercase();
    let rated = known.iter().map(|known| (strsim::osa_distance(&typed, &known.to_ascii_lowercase()), *known));
    let (errors, known) = rated.min_by_key(|(errors, _)| *errors)?;
    (errors <= MAX_ERRORS.min(key.chars().count() / CHARS_PER_ERROR)).then_some(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let file = ConfigFile::from_text(Path::new("c.yaml"), text.to_owned()).unwrap();
        file.unknown_keys().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn misspelled_keys_are_named_with_what_was_meant() {
        let text = "GOOSE_MODEE: auto\nprofiles:\n  fast:\n    temprature: 1\n    colour: red\n\
                    extensions:\n  a: {type: stdio, cmd: x, arg: []}\nextentions: {}\n";
        assert_eq!(
            shown(text),
            [
                "c.yaml:1:1: unknown key 'GOOSE_MODEE'; did you mean 'GOOSE_MODE'?",
                "c.yaml:8:1: unknown key 'extentions'; did you mean 'extensions'?",
                "c.yaml:4:5: unknown key 'temprature'; did you mean 'temperature'?",
                "c.yaml:5:5: unknown key 'colour', which is ignored",
            ]
        );
    }

    #[test]
    fn keys_of_others_are_not_reported() {
        let text = "GOOSE_PROVIDER: openai\nactive_provider: openai\nproviders: {openai: {model: a}}\n\
                    MY_TOKEN: x\nOPENAI_HOST: y\nGOOSE_SEARCH_PATHS: []\nslash_commands: []\n\
                    extensions:\n  a: {type: stdio, cmd: x, args: [], bundled: true, new_field: 1}\n";
        assert_eq!(shown(text), [""; 0]);
        assert_eq!(meant_setting("GOOSE_TEMPERATUR"), Some("GOOSE_TEMPERATURE"));
        assert_eq!(meant_setting("goose_model"), Some("GOOSE_MODEL"));
        assert_eq!(meant_setting("GOOSE_MODEL"), None);
        assert_eq!(meant_setting("MY_SETTING"), None);
    }

    #[test]
    fn a_path_has_a_position() {
        let text = "name: a\nmodes:\n  - slug: x\n    tool_groups: [read,\n      [edit]]\n";
        let path =
            |path: &[&str]| yaml_position(text, &path.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(path(&["modes", "0", "tool_groups", "1"]), Some((5, 7)));
        assert_eq!(path(&["modes", "0", "slug"]), Some((3, 5)));
        assert_eq!(path(&["modes", "7"]), Some((2, 1)));
    }
}
