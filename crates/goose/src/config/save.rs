//! Putting a new text in the place of an old one: all of it or nothing, whatever happens in between.
//!
//! A change is made under a lock of the folder, so that no other goose loses what it wrote. Whoever takes no lock (an
//! editor) is noticed, because the file is compared once more right before it is replaced; then the change is made
//! again on what is there now. The new text is written beside the file and synced before it takes its name, so a crash
//! leaves the old file or the new one, whole.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use super::{ConfigError, text_file::read_capped};

/// How long to wait for another process. One change takes milliseconds.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait before looking again.
const LOCK_PAUSE: Duration = Duration::from_millis(3);

/// How often a change is made again because somebody else changed the file meanwhile.
const MAX_ROUNDS: u32 = 5;

/// What the names of new files end with, before they take the name of the old one.
const UNFINISHED: &str = ".goose-new";

/// Who may read a file that is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// Its owner alone, whatever was before.
    Owner,
    /// Whoever could before, and for a new file whoever the system lets.
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
    make_folder(folder).map_err(failed)?;
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
        let new = New { folder, target: &target, audience };
        let unfinished = new.write(after.as_bytes(), &mut watch).map_err(failed)?;
        if read_capped(&target, limit)? == before {
            watch(SaveStep::Compared);
            unfinished.persist(&target).map_err(|error| failed(error.error))?;
            watch(SaveStep::Renamed);
            sync_folder(folder);
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

/// A text that is about to take the place of a file.
struct New<'a> {
    folder: &'a Path,
    target: &'a Path,
    audience: Audience,
}

impl New<'_> {
    fn write(&self, text: &[u8], watch: &mut impl FnMut(SaveStep)) -> io::Result<tempfile::NamedTempFile> {
        let existing = match fs::metadata(self.target) {
            Ok(existing) if existing.permissions().readonly() => {
                return Err(io::Error::other("it is write-protected; make it writable first"));
            }
            Ok(existing) => Some(existing),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let mut file = self.builder().tempfile_in(self.folder)?;
        watch(SaveStep::Created);
        file.write_all(text)?;
        watch(SaveStep::Written);
        if let Some(existing) = existing.filter(|_| self.audience == Audience::AsBefore) {
            file.as_file().set_permissions(existing.permissions())?;
        }
        file.as_file().sync_all()?;
        watch(SaveStep::Synced);
        Ok(file)
    }

    fn builder(&self) -> tempfile::Builder<'static, 'static> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".").suffix(UNFINISHED);
        #[cfg(unix)]
        {
            let mode = if self.audience == Audience::Owner { 0o600 } else { 0o666 };
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
        }
        builder
    }
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

/// goose's folders are their owner's.
fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// The lock of a folder; it ends when it is dropped, and with the process.
fn locked(folder: &Path) -> io::Result<Option<File>> {
    let file = File::open(folder)?;
    let deadline = Instant::now() + LOCK_PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(LOCK_PAUSE),
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::other(
                    "another goose has kept its folder locked for 5 seconds; try again in a moment",
                ));
            }
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Makes the new name last. Where a folder cannot be synced, the file itself is whole all the same.
fn sync_folder(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

#[cfg(test)]
#[path = "save_tests.rs"]
mod tests;
