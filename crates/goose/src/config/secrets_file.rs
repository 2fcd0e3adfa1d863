//! `secrets.yaml`: `NAME: value` lines, for one pair of eyes.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use super::{
    ConfigError, Place, Secret, Secrets,
    text_file::read_capped,
    yaml::{self, Pick},
};

/// The largest `secrets.yaml` that is read.
pub const MAX_SECRETS_BYTES: u64 = 1024 * 1024;

/// Secrets in a file. It is read each time, so that a changed secret counts from the next start on, and never
/// written. Messages about it show names and lines, never values.
#[derive(Debug)]
pub struct FileSecrets {
    path: PathBuf,
    warned: AtomicBool,
}

impl FileSecrets {
    /// The secrets in a file, which need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), warned: AtomicBool::new(false) }
    }

    /// Whether others on this machine may read the file.
    pub fn is_readable_by_others(&self) -> bool {
        readable_by_others(&self.path)
    }

    fn warn_once(&self) {
        if self.is_readable_by_others() && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                path = %self.path.display(),
                "others on this machine can read the secrets in this file; run 'chmod 600' on it"
            );
        }
    }

    fn malformed(&self, name: &str, error: &serde_saphyr::Error) -> ConfigError {
        let message = format!(
            "cannot look up '{name}': expected 'NAME: value' lines, each with a text; fix this line, goose leaves the \
             file as it is"
        );
        ConfigError::malformed(Place::new(&self.path, yaml::position(error)), message)
    }
}

impl Secrets for FileSecrets {
    fn get(&self, name: &str) -> Result<Option<Secret>, ConfigError> {
        let Some(text) = read_capped(&self.path, MAX_SECRETS_BYTES)? else { return Ok(None) };
        self.warn_once();
        let found: Option<Option<String>> =
            yaml::read(&text, Pick::value(name)).map_err(|error| self.malformed(name, &error))?;
        Ok(found.flatten().map(Secret::new))
    }
}

#[cfg(unix)]
fn readable_by_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;

    const GROUP_AND_OTHERS: u32 = 0o077;
    path.metadata().is_ok_and(|found| found.permissions().mode() & GROUP_AND_OTHERS != 0)
}

#[cfg(not(unix))]
fn readable_by_others(_path: &Path) -> bool {
    false
}
