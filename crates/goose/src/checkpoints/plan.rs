//! [`RestorePlan`]: what taking changes back would do to each file, and which files others have changed since.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use goose_extension::{FileRead, FileTarget, FileVersion, HardLinks};

use super::{
    Checkpoints, MAX_FILE_BYTES, MODE_BITS,
    journal::{self, Before, Change},
};
use crate::config::digest::sha256;

/// Files to restore, as they are now and as they would be.
#[derive(Debug)]
pub struct RestorePlan {
    /// Files, in the order in which they were first changed.
    pub files: Vec<FilePlan>,
}

/// A file to restore.
#[derive(Debug)]
pub struct FilePlan {
    /// Real path.
    pub path: PathBuf,
    /// Consequence for the file.
    pub intention: Intention,
    /// Change by someone else, which would be lost.
    pub conflict: Option<Conflict>,
    /// Numbers of the changes.
    pub(super) ids: Vec<u64>,
    /// State that is restored.
    pub(super) target: Before,
    /// State that was found.
    pub(super) found: Found,
    /// Topmost folders that were created for the file.
    pub(super) folders: Vec<PathBuf>,
}

/// Consequence for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Intention {
    /// It gets its earlier content and mode.
    Restore,
    /// It is removed: it was not there.
    Remove,
    /// It is as it was already.
    Nothing,
    /// It cannot be restored, for this reason.
    Impossible(String),
}

/// Change of a file that goose did not make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conflict {
    /// Its content is not what goose wrote last.
    Changed,
    /// It was deleted.
    Deleted,
    /// Its permissions were changed.
    Permissions,
    /// Its content was changed between two changes of goose.
    Between,
}

impl Conflict {
    /// Returns a description, to follow the name of a file.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Changed => "was changed since goose wrote it",
            Self::Deleted => "was deleted since goose wrote it",
            Self::Permissions => "has other permissions since goose wrote it",
            Self::Between => "was changed by others between two changes of goose",
        }
    }
}

/// A file as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    Missing,
    File {
        /// `None` if it is too large to be compared.
        hash: Option<String>,
        mode: u32,
        version: FileVersion,
    },
    /// It cannot be read, for this reason.
    Unreadable(String),
}

impl Found {
    /// Returns true if this is the state before a change.
    pub(super) fn is(&self, before: &Before) -> bool {
        match (self, before) {
            (Self::Missing, Before::Missing) => true,
            (Self::File { hash: Some(hash), mode, .. }, _) => before.known() == Some((hash, *mode)),
            _ => false,
        }
    }

    /// Returns how this differs from what the last of some changes wrote.
    fn conflict(&self, changes: &[Change]) -> Option<Conflict> {
        let last = changes.last()?;
        // The process may have been killed between the record and the change.
        if self.is(&last.before) {
            return None;
        }
        let Self::File { hash, mode, .. } = self else { return Some(Conflict::Deleted) };
        if hash.as_ref() != Some(&last.after) {
            return Some(Conflict::Changed);
        }
        if last.before.known().is_some_and(|(_, before)| before != *mode) {
            return Some(Conflict::Permissions);
        }
        let is_chain = |pair: &[Change]| match pair {
            [earlier, later] => later.before.known().is_some_and(|(hash, _)| hash == earlier.after),
            _ => true,
        };
        (!changes.windows(2).all(is_chain)).then_some(Conflict::Between)
    }
}

impl Checkpoints {
    /// Plans to restore the files that were changed at or after a step. Reads them all, so call it from a thread that
    /// may block.
    ///
    /// # Errors
    ///
    /// Fails if the records cannot be read.
    pub fn plan(&self, step: u64) -> io::Result<RestorePlan> {
        let mut changes = self.active()?;
        changes.retain(|change| change.step >= step);
        let mut files: Vec<FilePlan> =
            by_path(changes).into_iter().map(|(path, changes)| self.plan_file(path, &changes)).collect();
        files.sort_by_key(|file| file.ids.first().copied());
        Ok(RestorePlan { files })
    }

    fn plan_file(&self, path: PathBuf, changes: &[Change]) -> FilePlan {
        let target = changes.first().map_or(Before::Missing, |first| first.before.clone());
        let found = self.find(&path, &target);
        let intention = intention(&target, &found);
        let is_open = matches!(intention, Intention::Restore | Intention::Remove);
        let conflict = found.conflict(changes).filter(|_| is_open);
        FilePlan {
            path,
            intention,
            conflict,
            ids: changes.iter().map(|change| change.id).collect(),
            target,
            found,
            folders: changes.iter().filter_map(|change| Some(change.folder.clone()?.0)).collect(),
        }
    }

    /// Looks at a file that is to get an earlier state.
    pub(super) fn find(&self, path: &Path, target: &Before) -> Found {
        let file = file_target(path, target);
        let (hash, version) = match self.inner.read(&file, MAX_FILE_BYTES) {
            Ok(FileRead::Missing) => return Found::Missing,
            Ok(FileRead::Content { bytes, version }) => (Some(sha256(&bytes)), version),
            Ok(FileRead::TooLarge { version, .. }) => (None, version),
            Err(error) => return Found::Unreadable(error.to_string()),
        };
        match fs::symlink_metadata(path) {
            Ok(metadata) => Found::File { hash, mode: metadata.mode() & MODE_BITS, version },
            Err(error) => Found::Unreadable(error.to_string()),
        }
    }

    /// Returns all files that the session has changed, as they were before and as they are now.
    ///
    /// # Errors
    ///
    /// Fails if the records cannot be read.
    pub fn differences(&self) -> io::Result<Vec<Difference>> {
        let changes = journal::made(&self.records()?);
        let all = by_path(changes).into_iter().filter_map(|(path, changes)| {
            let before = changes.into_iter().next()?.before;
            let found = self.find(&path, &before);
            (!found.is(&before)).then(|| Difference {
                after: self.content_now(&path, &before),
                before: self.content_before(&before),
                path,
            })
        });
        Ok(all.collect())
    }

    fn content_before(&self, before: &Before) -> Content {
        match before {
            Before::Missing => Content::Missing,
            Before::TooLarge { size } => Content::Unknown(too_large(*size)),
            Before::NotKept { reason } => Content::Unknown(not_copied(reason)),
            Before::Kept { hash, .. } | Before::Known { hash, .. } => match self.copy(hash) {
                Ok(bytes) => Content::Bytes(bytes),
                Err(error) => Content::Unknown(not_copied(&error.to_string())),
            },
        }
    }

    fn content_now(&self, path: &Path, before: &Before) -> Content {
        match self.inner.read(&file_target(path, before), MAX_FILE_BYTES) {
            Ok(FileRead::Missing) => Content::Missing,
            Ok(FileRead::Content { bytes, .. }) => Content::Bytes(bytes),
            Ok(FileRead::TooLarge { size, .. }) => Content::Unknown(too_large(size)),
            Err(error) => Content::Unknown(error.to_string()),
        }
    }

    /// Returns a copy.
    pub(super) fn copy(&self, hash: &str) -> io::Result<Vec<u8>> {
        self.state.lock().open(self)?.kept(hash)
    }
}

/// File that differs from what it was when the session began.
#[derive(Debug)]
pub struct Difference {
    /// Real path.
    pub path: PathBuf,
    /// Content before the first change.
    pub before: Content,
    /// Content now.
    pub after: Content,
}

/// Content of a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Content {
    /// There is no file.
    Missing,
    /// All of it.
    Bytes(Vec<u8>),
    /// Not known, for this reason.
    Unknown(String),
}

/// Returns the file to read and write. A file that had one name may not have got others, which could be files that must
/// not be used.
pub(super) fn file_target(path: &Path, target: &Before) -> FileTarget {
    let had_links = !matches!(target, Before::Kept { is_linked: false, .. } | Before::Missing);
    let hard_links = if had_links { HardLinks::Allowed } else { HardLinks::Refused };
    FileTarget { path: path.to_owned(), hard_links }
}

fn intention(target: &Before, found: &Found) -> Intention {
    if let Found::Unreadable(reason) = found {
        return Intention::Impossible(reason.clone());
    }
    match target {
        _ if found.is(target) => Intention::Nothing,
        Before::Missing => Intention::Remove,
        Before::Kept { .. } | Before::Known { .. } => Intention::Restore,
        Before::TooLarge { size } => Intention::Impossible(too_large(*size)),
        Before::NotKept { reason } => Intention::Impossible(not_copied(reason)),
    }
}

fn too_large(size: u64) -> String {
    let (size, limit) = (size / 1_000_000, MAX_FILE_BYTES / 1_000_000);
    format!("it is too large: {size} MB, at most {limit} MB are copied")
}

pub(super) fn not_copied(reason: &str) -> String {
    format!("there is no copy of it: {reason}")
}

/// Groups changes by file.
fn by_path(changes: Vec<Change>) -> BTreeMap<PathBuf, Vec<Change>> {
    let mut all = BTreeMap::<PathBuf, Vec<Change>>::new();
    for change in changes {
        all.entry(change.path.clone()).or_default().push(change);
    }
    all
}
