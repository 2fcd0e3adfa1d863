//! [`TrustStore`]: which projects' files the person has agreed to, and with which content.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    ConfigError, Paths, Place, ProjectFile,
    file::read_capped,
    save::{self, Audience},
    yaml,
};

/// The largest list that is read.
const MAX_TRUST_BYTES: u64 = 4 * 1024 * 1024;

/// The most files that are trusted at a time.
const MAX_TRUSTED: usize = 10_000;

/// What the list begins with.
const HEAD: &str = "# The project files that goose may use, and the SHA-256 of what was agreed to.\n";

/// Whether a project's file may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The person has agreed to exactly this content.
    Trusted,
    /// The person has agreed to it, but it has changed since.
    Changed,
    /// The person was never asked, or has taken it back.
    Unknown,
}

/// The list of trusted files. It is read each time, so that processes can share it.
#[derive(Debug, Clone)]
pub struct TrustStore {
    path: PathBuf,
}

/// The list, as it is written.
#[derive(Default, Serialize, Deserialize)]
struct Page {
    #[serde(default)]
    trusted: BTreeMap<PathBuf, String>,
}

impl TrustStore {
    /// The list in goose's state folder.
    pub fn new(paths: &Paths) -> Self {
        Self { path: paths.state.join("trusted.yaml") }
    }

    /// The file with the list.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a file may be used as it is now.
    ///
    /// # Errors
    ///
    /// Where the list cannot be read. Nothing is trusted then.
    pub fn check(&self, file: &ProjectFile) -> Result<Trust, ConfigError> {
        let text = read_capped(&self.path, MAX_TRUST_BYTES)?.unwrap_or_default();
        Ok(match self.parse(&text)?.trusted.get(file.path()) {
            Some(hash) if *hash == file.hash() => Trust::Trusted,
            Some(_) => Trust::Changed,
            None => Trust::Unknown,
        })
    }

    /// Remembers that the person has agreed to a file as it is now.
    pub fn trust(&self, file: &ProjectFile) -> Result<(), ConfigError> {
        self.update(|trusted| {
            trusted.insert(file.path().to_owned(), file.hash());
        })
    }

    /// Forgets a file. Whether it was there.
    pub fn forget(&self, path: &Path) -> Result<bool, ConfigError> {
        let mut was_there = false;
        self.update(|trusted| was_there = trusted.remove(path).is_some())?;
        Ok(was_there)
    }

    fn update(&self, mut change: impl FnMut(&mut BTreeMap<PathBuf, String>)) -> Result<(), ConfigError> {
        save::update(&self.path, MAX_TRUST_BYTES, Audience::Owner, |text| {
            let mut page = self.parse(text)?;
            change(&mut page.trusted);
            if page.trusted.len() > MAX_TRUSTED {
                return Err(self.unwritable(format!("it has {MAX_TRUSTED} files already; remove some lines")));
            }
            let lines = serde_saphyr::to_string(&page).map_err(|error| self.unwritable(error.to_string()))?;
            Ok(format!("{HEAD}{lines}"))
        })?;
        Ok(())
    }

    fn parse(&self, text: &str) -> Result<Page, ConfigError> {
        let page = yaml::read(text, std::marker::PhantomData::<Option<Page>>).map_err(|error| {
            let place = Place::new(&self.path, yaml::position(&error));
            ConfigError::malformed(place, format!("{}; fix it or remove the file", yaml::message(&error)))
        })?;
        Ok(page.unwrap_or_default())
    }

    fn unwritable(&self, reason: String) -> ConfigError {
        ConfigError::Unwritable { path: self.path.clone(), reason }
    }
}
