//! [`Folders`]: the folders that a part of a script may run in.

use std::sync::Arc;

/// Maximum number of possible folders.
const MAX_FOLDERS: usize = 8;

/// Longest path of a folder.
const MAX_BYTES: usize = 1024;

/// Folders that a command may run in, as joined from the `cd` commands of a script: an empty text for the
/// working folder, `a/../b`, `/x`, `~/x`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Folders {
    /// One of these.
    Known(Arc<[String]>),
    /// Any folder.
    Unknown,
}

impl Folders {
    /// Returns the working folder.
    pub(super) fn here() -> Self {
        Self::Known(Arc::from([String::new()]))
    }

    /// Returns true if it is certainly the working folder.
    pub(crate) fn is_here(&self) -> bool {
        matches!(self, Self::Known(folders) if folders.iter().all(String::is_empty))
    }

    /// Returns the folders that `target` may be, relative to one of these.
    pub(crate) fn join(&self, target: &str) -> Self {
        let Self::Known(folders) = self else {
            return match target.starts_with(['/', '~']) {
                true => Self::Known(Arc::from([target.to_owned()])),
                false => Self::Unknown,
            };
        };
        let joined = |folder: &String| match folder.as_str() {
            _ if target.starts_with(['/', '~']) => target.to_owned(),
            "" => target.to_owned(),
            folder => format!("{folder}/{target}"),
        };
        Self::from_paths(folders.iter().map(joined).collect())
    }

    /// Returns the union of two sets of folders.
    pub(super) fn or(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Known(one), Self::Known(two)) if one == two => self.clone(),
            (Self::Known(one), Self::Known(two)) => {
                Self::from_paths(one.iter().chain(two.iter()).cloned().collect())
            }
            _ => Self::Unknown,
        }
    }

    fn from_paths(mut folders: Vec<String>) -> Self {
        folders.sort_unstable();
        folders.dedup();
        let is_small = folders.len() <= MAX_FOLDERS && folders.iter().all(|folder| folder.len() <= MAX_BYTES);
        if is_small { Self::Known(folders.into()) } else { Self::Unknown }
    }
}

/// Folders after a command that succeeded, and after one that failed.
#[derive(Debug, Clone)]
pub(super) struct Flow {
    pub(super) success: Folders,
    pub(super) failure: Folders,
}

impl Flow {
    /// Creates a flow with the same folders for both results.
    pub(super) fn stays(folders: Folders) -> Self {
        Self { failure: folders.clone(), success: folders }
    }

    /// Returns the folders if the result is not known.
    pub(super) fn either(&self) -> Folders {
        self.success.or(&self.failure)
    }

    pub(super) fn negated(self) -> Self {
        Self { success: self.failure, failure: self.success }
    }

    /// Returns the flow after one of two branches.
    pub(super) fn or(&self, other: &Self) -> Self {
        Self { success: self.success.or(&other.success), failure: self.failure.or(&other.failure) }
    }
}
