//! [`PartialFile`]: a model file during its download. Its content is always a prefix of the complete
//! file. A lock allows one download of a model at a time, across processes.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use goose_fs::{FileLock, open_lock_file, sync_dir};
use rustix::fs::statvfs;

use super::error::ModelStoreError;

/// Disk space that a download leaves free.
const RESERVE_BYTES: u64 = 64 * 1024 * 1024;

/// Maximum size of the note about the process that holds a lock.
const MAX_HOLDER_BYTES: u64 = 32;

/// The file `NAME.gguf.part`.
pub(super) struct PartialFile {
    file: File,
    path: PathBuf,
    bytes: u64,
    total: u64,
}

impl PartialFile {
    /// Opens or creates the partial file of a file with `total` bytes. The caller holds the lock.
    pub(super) fn open(path: PathBuf, total: u64) -> Result<Self, ModelStoreError> {
        let open = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
        let file = open.map_err(|error| ModelStoreError::io("write", &path, error))?;
        let bytes = file.metadata().map_err(|error| ModelStoreError::io("look at", &path, error))?.len();
        let mut partial = Self { file, path, bytes, total };
        if bytes > total {
            partial.restart()?;
        }
        Ok(partial)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of bytes on disk.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the size of the complete file.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Returns the number of missing bytes.
    pub(super) fn missing(&self) -> u64 {
        self.total - self.bytes
    }

    /// Appends bytes. Appends nothing, and returns false, if they are too many.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<bool, ModelStoreError> {
        let length = bytes.len() as u64;
        if length > self.missing() {
            return Ok(false);
        }
        if let Err(error) = self.file.write_all(bytes) {
            // Some of the bytes may have been written.
            self.bytes = self.file.metadata().map_or(self.bytes, |about| about.len());
            return Err(ModelStoreError::io("write", &self.path, error));
        }
        self.bytes += length;
        Ok(true)
    }

    /// Empties the file.
    pub(super) fn restart(&mut self) -> Result<(), ModelStoreError> {
        self.file.set_len(0).map_err(|error| ModelStoreError::io("empty", &self.path, error))?;
        self.bytes = 0;
        Ok(())
    }

    /// Renames the file to its final name, after its content is on disk.
    #[expect(
        clippy::disallowed_methods,
        reason = "the partial file outlives processes, so that a download can be resumed"
    )]
    pub(super) fn finish(self, path: &Path) -> Result<(), ModelStoreError> {
        self.file.sync_all().map_err(|error| ModelStoreError::io("save", &self.path, error))?;
        fs::rename(&self.path, path).map_err(|error| ModelStoreError::io("make", path, error))?;
        if let Some(folder) = path.parent() {
            sync_dir(folder).map_err(|error| ModelStoreError::io("save", folder, error))?;
        }
        Ok(())
    }
}

/// Checks that the folder has space for `needed` bytes.
///
/// # Errors
///
/// The folder has less space.
pub(super) fn check_space(folder: &Path, needed: u64) -> Result<(), ModelStoreError> {
    let about = statvfs(folder).map_err(|error| ModelStoreError::io("look at", folder, error.into()))?;
    let free = about.f_bavail.saturating_mul(about.f_frsize);
    let needed = needed.saturating_add(RESERVE_BYTES);
    if free < needed {
        return Err(ModelStoreError::NoSpace { folder: folder.to_owned(), needed, free });
    }
    Ok(())
}

/// Interval between two attempts to take a lock.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// Waits for the lock on the downloads of a model. Calls `waiting` once if another process holds it.
pub(super) async fn wait_for_lock(path: &Path, waiting: impl FnOnce()) -> Result<FileLock, ModelStoreError> {
    let mut waiting = Some(waiting);
    loop {
        if let Some(lock) = try_lock(path)? {
            return Ok(lock);
        }
        if let Some(waiting) = waiting.take() {
            waiting();
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

/// Takes the lock, unless another process holds it. The system releases it when its process ends. The file
/// is never removed, because two processes could then hold locks on different files. It contains the id of
/// the holder, for error messages.
pub(super) fn try_lock(path: &Path) -> Result<Option<FileLock>, ModelStoreError> {
    let file = open_lock_file(path).map_err(|error| ModelStoreError::io("open", path, error))?;
    let taken = FileLock::try_new(file).map_err(|error| ModelStoreError::io("lock", path, error))?;
    let Ok(lock) = taken else { return Ok(None) };
    // The id is only informative. A full disk is reported by the download itself.
    let _ = note_holder(lock.file());
    Ok(Some(lock))
}

fn note_holder(mut file: &File) -> io::Result<()> {
    file.set_len(0)?;
    write!(file, "{}", std::process::id())
}

/// Returns the process that last took the lock, if known.
pub(super) fn holder(path: &Path) -> Option<u32> {
    let bytes = goose_fs::read_regular(path, MAX_HOLDER_BYTES).ok()?;
    str::from_utf8(&bytes).ok()?.trim().parse().ok()
}
