//! Restoring files by a [`RestorePlan`]: bytes, modes and absence.

use std::{
    ffi::OsStr,
    fs::{self, Permissions},
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use goose_extension::FileError;
use goose_fs::{Folder, open_file};

use super::{
    Checkpoints,
    journal::{Before, Record},
    plan::{FilePlan, Found, Intention, RestorePlan, file_target, not_copied},
};

/// Result for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Real path.
    pub path: PathBuf,
    /// Outcome.
    pub outcome: FileOutcome,
}

/// Outcome for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileOutcome {
    /// It has its earlier content and mode.
    Restored,
    /// It was removed.
    Removed,
    /// It was as it had been already.
    Unchanged,
    /// The user keeps what others have changed.
    Kept,
    /// It cannot be restored, for this reason.
    Impossible(String),
    /// It could not be written, for this reason. It can be tried again.
    Failed(String),
}

impl Checkpoints {
    /// Restores the files of a plan. Those that others have changed are restored only if `is_agreed` says so. Blocks.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be recorded that the changes were taken back. The files are restored then.
    pub fn restore(
        &self,
        plan: &RestorePlan,
        is_agreed: impl Fn(&FilePlan) -> bool,
    ) -> io::Result<Vec<Restored>> {
        // The last file first, so that folders are empty when their turn comes.
        let mut restored: Vec<Restored> = Vec::with_capacity(plan.files.len());
        for file in plan.files.iter().rev() {
            let outcome = match file.conflict {
                Some(_) if !is_agreed(file) => FileOutcome::Kept,
                _ => self.restore_file(file).unwrap_or_else(|error| FileOutcome::Failed(error.to_string())),
            };
            restored.push(Restored { path: file.path.clone(), outcome });
        }
        restored.reverse();
        let is_over = |result: &Restored| !matches!(result.outcome, FileOutcome::Failed(_));
        let over = plan.files.iter().zip(&restored).filter(|(_, result)| is_over(result));
        let ids = over.flat_map(|(file, _)| file.ids.iter().copied()).collect();
        let mut state = self.state.lock();
        state.written.clear();
        state.open(self)?.append(&Record::Restored { ids })?;
        drop(state);
        Ok(restored)
    }

    fn restore_file(&self, file: &FilePlan) -> Result<FileOutcome, FileError> {
        match &file.intention {
            Intention::Impossible(reason) => return Ok(FileOutcome::Impossible(reason.clone())),
            Intention::Nothing => {
                if file.target == Before::Missing {
                    remove_empty_folders(file);
                }
                return Ok(FileOutcome::Unchanged);
            }
            Intention::Restore | Intention::Remove => {}
        }
        // The user may have thought about a question for a while.
        if self.find(&file.path, &file.target) != file.found {
            return Err(FileError::Changed);
        }
        match &file.target {
            Before::Kept { hash, mode, .. } | Before::Known { hash, mode } => {
                self.write_back(file, hash, *mode)
            }
            _ => {
                remove(&file.path)?;
                remove_empty_folders(file);
                Ok(FileOutcome::Removed)
            }
        }
    }

    fn write_back(&self, file: &FilePlan, hash: &str, mode: u32) -> Result<FileOutcome, FileError> {
        let bytes = match self.copy(hash) {
            Ok(bytes) => bytes,
            Err(error) => return Ok(FileOutcome::Impossible(not_copied(&error.to_string()))),
        };
        let target = file_target(&file.path, &file.target);
        match &file.found {
            Found::File { hash: found, mode: present, version } => {
                // First, because a file without write permission is not replaced. A replaced file keeps its mode.
                if *present != mode {
                    set_mode(&file.path, mode)?;
                }
                if found.as_deref() != Some(hash) {
                    self.inner.replace(&target, &bytes, Some(version))?;
                }
            }
            _ => {
                self.inner.replace(&target, &bytes, None)?;
                set_mode(&file.path, mode)?;
            }
        }
        Ok(FileOutcome::Restored)
    }
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    open_file(path)?.set_permissions(Permissions::from_mode(mode))
}

fn remove(path: &Path) -> io::Result<()> {
    let folder = Folder::open(path.parent().unwrap_or(Path::new("/")))?;
    folder.remove_file(path.file_name().unwrap_or(OsStr::new("")))
}

/// Removes the folders that were created for a file, as far as they are empty.
fn remove_empty_folders(file: &FilePlan) {
    let Some(top) = file.folders.iter().min_by_key(|folder| folder.components().count()) else { return };
    for folder in file.path.ancestors().skip(1).take_while(|folder| folder.starts_with(top)) {
        // One that is not empty stays, and so do those around it.
        if fs::remove_dir(folder).is_err() && folder.exists() {
            return;
        }
    }
}
