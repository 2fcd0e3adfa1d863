//! Putting a new text in the place of an old one: all of it or nothing, whatever happens in between.
//!
//! A change is made under a lock of the folder, so that no other goose loses what it wrote. Whoever takes no lock (an
//! editor) is noticed, because the file is compared once more right before it is replaced; then the change is made
//! again on what is there now. The new text is written beside the file and synced before it takes its name, so a crash
//! leaves the old file or the new one, whole.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use goose_fs::{AtomicFile, Draft, FileLock, create_private_dir, sync_dir};

use super::{ConfigError, file::read_capped};

/// The longest wait for another process. One change takes milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// How often a change is made again because somebody else changed the file meanwhile.
const MAX_ROUNDS: u32 = 5;

/// What the names of new files end with, before they take the name of the old one.
const UNFINISHED: &str = ".goose-new";

/// Who may read a file that is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// Its owner alone, whatever was before.
    Owner,
    /// Whoever could before, and for a new file its owner alone.
    AsBefore,
}

/// The steps of a save, so that a test can end the process at each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SaveStep {
    Locked,
    Created,
    Written,
    Synced,
    Compared,
    Renamed,
}

/// Changes a file's text with a function, which is called again where the file changes meanwhile. A file that is not
/// there is empty. Whether anything changed.
pub(super) fn update(
    path: &Path,
    limit: u64,
    audience: Audience,
    change: impl FnMut(&str) -> Result<String, ConfigError>,
) -> Result<bool, ConfigError> {
    update_watched(path, limit, audience, change, |_| {})
}

/// The same, watched step by step.
pub(super) fn update_watched(
    path: &Path,
    limit: u64,
    audience: Audience,
    mut change: impl FnMut(&str) -> Result<String, ConfigError>,
    mut watch: impl FnMut(SaveStep),
) -> Result<bool, ConfigError> {
    let failed = |reason: io::Error| unwritable(path, reason.to_string());
    let target = resolved(path).map_err(failed)?;
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    create_private_dir(folder).map_err(failed)?;
    let _lock = locked(folder).map_err(failed)?;
    watch(SaveStep::Locked);
    sweep(folder);
    for _ in 0..MAX_ROUNDS {
        let before = read_capped(&target, limit)?;
        let after = change(before.as_deref().unwrap_or_default())?;
        if before.as_deref().unwrap_or_default() == after {
            return Ok(false);
        }
        if after.len() as u64 > limit {
            return Err(unwritable(path, format!("it would be larger than {limit} bytes; remove something")));
        }
        let draft = write_draft(&target, audience, after.as_bytes(), &mut watch).map_err(failed)?;
        if read_capped(&target, limit)? == before {
            watch(SaveStep::Compared);
            draft.commit().map_err(failed)?;
            watch(SaveStep::Renamed);
            // Where a folder cannot be synced, the file itself is whole all the same.
            let _ = sync_dir(folder);
            return Ok(true);
        }
    }
    Err(unwritable(path, "another program keeps changing it; close it and try again".to_owned()))
}

fn unwritable(path: &Path, reason: String) -> ConfigError {
    ConfigError::Unwritable { path: path.to_owned(), reason }
}

/// The file behind links, so that a link stays one. A link that leads nowhere is an error.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Ok(target) => Ok(target),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => Ok(path.to_owned()),
        Err(error) => Err(error),
    }
}

/// Writes the new text beside the target, complete and flushed to the disk.
fn write_draft(
    target: &Path,
    audience: Audience,
    text: &[u8],
    watch: &mut impl FnMut(SaveStep),
) -> io::Result<Draft> {
    let existing = match fs::metadata(target) {
        Ok(existing) if existing.permissions().readonly() => {
            return Err(io::Error::other("it is write-protected; make it writable first"));
        }
        Ok(existing) => Some(existing),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let options = AtomicFile::new(target).temporary_name(".", UNFINISHED);
    let mut draft = options.create()?;
    watch(SaveStep::Created);
    draft.write_all(text)?;
    watch(SaveStep::Written);
    if let Some(existing) = existing.filter(|_| audience == Audience::AsBefore) {
        draft.file().set_permissions(existing.permissions())?;
    }
    draft.file().sync_all()?;
    watch(SaveStep::Synced);
    Ok(draft)
}

/// Removes what saves of before left behind when they were killed. Nobody else saves now: we have the lock.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && name.ends_with(UNFINISHED) {
            // It takes up room, and nothing else.
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn locked(folder: &Path) -> io::Result<FileLock> {
    FileLock::wait(File::open(folder)?, LOCK_TIMEOUT).map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => {
            io::Error::other("another goose has kept its folder locked for 5 seconds; try again in a moment")
        }
        _ => error,
    })
}

#[cfg(test)]
#[path = "save_tests.rs"]
mod tests;
