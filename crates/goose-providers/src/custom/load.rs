//! Reading the folder. A bad file is named with its fault; the others work.

use std::{
    ffi::OsStr,
    fs::File,
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
};

use thiserror::Error;

use super::CustomProvider;

/// Largest file.
pub const MAX_PROVIDER_FILE_BYTES: u64 = 256 * 1024;

/// Most files that are read.
const MAX_PROVIDER_FILES: usize = 256;

/// Longest name of a provider.
const MAX_NAME_BYTES: usize = 64;

/// The providers of a folder.
#[derive(Debug, Default)]
pub struct CustomProviders {
    /// The providers, by file name.
    pub providers: Vec<CustomProvider>,
    /// The files that could not be read.
    pub problems: Vec<CustomProviderError>,
}

/// A file that could not be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}: {reason}", path.display())]
pub struct CustomProviderError {
    /// The file, or the folder.
    pub path: PathBuf,
    /// The problem.
    pub reason: String,
}

impl CustomProviders {
    /// Reads all `*.json` of a folder. A folder that is not there is empty.
    pub fn load(folder: &Path) -> Self {
        let mut loaded = Self::default();
        let files = match json_files(folder) {
            Ok(files) => files,
            Err(reason) => {
                loaded.problem(folder, reason);
                return loaded;
            }
        };
        if files.len() > MAX_PROVIDER_FILES {
            loaded.problem(folder, format!("more than {MAX_PROVIDER_FILES} files; the rest are ignored"));
        }
        for path in files.iter().take(MAX_PROVIDER_FILES) {
            match read(path) {
                Ok(provider) if loaded.has(&provider.name) => {
                    loaded.problem(path, format!("another file describes `{}` already", provider.name));
                }
                Ok(provider) => loaded.providers.push(provider),
                Err(reason) => loaded.problem(path, reason),
            }
        }
        loaded
    }

    fn has(&self, name: &str) -> bool {
        self.providers.iter().any(|provider| provider.name == name)
    }

    fn problem(&mut self, path: &Path, reason: String) {
        self.problems.push(CustomProviderError { path: path.to_owned(), reason });
    }
}

/// Sorted, so that it is always the same file that comes first.
fn json_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension() == Some(OsStr::new("json")))
        .take(MAX_PROVIDER_FILES.saturating_mul(4))
        .collect();
    files.sort();
    Ok(files)
}

fn read(path: &Path) -> Result<CustomProvider, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    // Opening a pipe would wait for a writer.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err("not a regular file".to_owned());
    }
    let file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(MAX_PROVIDER_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_PROVIDER_FILE_BYTES {
        return Err(format!("is larger than {MAX_PROVIDER_FILE_BYTES} bytes"));
    }
    let provider: CustomProvider =
        serde_json::from_slice(&bytes).map_err(|error| format!("does not describe a provider: {error}"))?;
    check(&provider)?;
    Ok(provider)
}

fn check(provider: &CustomProvider) -> Result<(), String> {
    let name = &provider.name;
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.chars().all(fits) {
        return Err(format!(
            "`name` may have up to {MAX_NAME_BYTES} letters, digits, `_`, `-` and `.`, because it is written in GOOSE_PROVIDER"
        ));
    }
    if provider.base_url.trim().is_empty() {
        return Err("`base_url` is empty; set it to the address of the service".to_owned());
    }
    Ok(())
}
