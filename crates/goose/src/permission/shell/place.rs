//! [`Folders`]: the folders that a part of a script may run in.

use std::sync::Arc;

/// How many folders are told apart.
const MAX_FOLDERS: usize = 8;

/// The longest folder that is followed.
const MAX_BYTES: usize = 1024;

/// The folders that a command may run in, as a script writes them one behind the other: `` for the working folder, `a/../b`,
/// `/x`, `~/x`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::permission) enum Folders {
    /// One of these.
    Known(Arc<[String]>),
    /// Any folder.
    Unknown,
}

impl Folders {
    /// The working folder.
    pub(super) fn here() -> Self {
        Self::Known(Arc::from([String::new()]))
    }

    /// Whether it is the working folder for certain.
    pub(in crate::permission) fn is_here(&self) -> bool {
        matches!(self, Self::Known(folders) if folders.iter().all(String::is_empty))
    }

    /// The folders that `target` may be when it is written in one of these.
    pub(in crate::permission) fn join(&self, target: &str) -> Self {
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
        Self::of(folders.iter().map(joined).collect())
    }

    /// These folders or those.
    pub(super) fn or(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Known(one), Self::Known(two)) if one == two => self.clone(),
            (Self::Known(one), Self::Known(two)) => Self::of(one.iter().chain(two.iter()).cloned().collect()),
            _ => Self::Unknown,
        }
    }

    fn of(mut folders: Vec<String>) -> Self {
        folders.sort_unstable();
        folders.dedup();
        let is_small = folders.len() <= MAX_FOLDERS && folders.iter().all(|folder| folder.len() <= MAX_BYTES);
        if is_small { Self::Known(folders.into()) } else { Self::Unknown }
    }
}

/// The folders after a command, by whether it succeeded.
#[derive(Debug, Clone)]
pub(super) struct Flow {
    pub(super) success: Folders,
    pub(super) failure: Folders,
}

impl Flow {
    /// The same folders whatever comes out.
    pub(super) fn stays(folders: Folders) -> Self {
        Self { failure: folders.clone(), success: folders }
    }

    /// The folders when it is not known what came out.
    pub(super) fn either(&self) -> Folders {
        self.success.or(&self.failure)
    }

    pub(super) fn negated(self) -> Self {
        Self { success: self.failure, failure: self.success }
    }

    /// One of two ways was taken.
    pub(super) fn or(&self, other: &Self) -> Self {
        Self { success: self.success.or(&other.success), failure: self.failure.or(&other.failure) }
    }
}
