//! [`PartialFile`]: a model file while it downloads. Whatever happens, what is in it is the beginning of the file.
//! [`DownloadLock`]: one download of a model at a time, across processes.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use goose_fs::{FileLock, open_lock_file};
use rustix::fs::statvfs;

use super::error::ModelStoreError;

/// The space that must stay free for the rest of the system.
const RESERVE_BYTES: u64 = 64 * 1024 * 1024;

/// The file `NAME.gguf.part`.
pub(super) struct PartialFile {
    file: File,
    path: PathBuf,
    bytes: u64,
    total: u64,
}

/// More came than there can be.
pub(super) struct Surplus;

impl PartialFile {
    /// Opens what is there of a file that will have so many bytes. Only who holds the lock may do this.
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

    /// Returns the bytes that are there.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the bytes of the complete file.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Returns the bytes that are missing.
    pub(super) fn missing(&self) -> u64 {
        self.total - self.bytes
    }

    /// Adds what comes next. Nothing of it is added where it would be too much.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<Result<(), Surplus>, ModelStoreError> {
        let length = bytes.len() as u64;
        if length > self.missing() {
            return Ok(Err(Surplus));
        }
        if let Err(error) = self.file.write_all(bytes) {
            // A part of it may have been written.
            self.bytes = self.file.metadata().map_or(self.bytes, |about| about.len());
            return Err(ModelStoreError::io("write", &self.path, error));
        }
        self.bytes += length;
        Ok(Ok(()))
    }

    /// Throws away what is there.
    pub(super) fn restart(&mut self) -> Result<(), ModelStoreError> {
        self.file.set_len(0).map_err(|error| ModelStoreError::io("empty", &self.path, error))?;
        self.bytes = 0;
        Ok(())
    }

    /// Gives the file its own name, for good: what it holds is on the disk before.
    #[expect(
        clippy::disallowed_methods,
        reason = "the partial file outlives processes, so that a download can be resumed"
    )]
    pub(super) fn finish(self, path: &Path) -> Result<(), ModelStoreError> {
        self.file.sync_all().map_err(|error| ModelStoreError::io("save", &self.path, error))?;
        fs::rename(&self.path, path).map_err(|error| ModelStoreError::io("make", path, error))?;
        if let Some(folder) = path.parent() {
            let synced = File::open(folder).and_then(|folder| folder.sync_all());
            synced.map_err(|error| ModelStoreError::io("save", folder, error))?;
        }
        Ok(())
    }
}

/// A path with something added to its last word.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Checks that so many bytes more fit into the folder.
///
/// # Errors
///
/// The folder has less space.
pub(super) fn check_space(folder: &Path, needed: u64) -> Result<(), ModelStoreError> {
    let free = free_bytes(folder)?;
    let needed = needed.saturating_add(RESERVE_BYTES);
    if free < needed {
        return Err(ModelStoreError::NoSpace { folder: folder.to_owned(), needed, free });
    }
    Ok(())
}

fn free_bytes(folder: &Path) -> Result<u64, ModelStoreError> {
    let about = statvfs(folder).map_err(|error| ModelStoreError::io("look at", folder, error.into()))?;
    Ok(about.f_bavail.saturating_mul(about.f_frsize))
}

/// The interval between two attempts at a lock that is held.
const TRY_AGAIN: Duration = Duration::from_millis(200);

/// Held until it is dropped, and by no dead process. The file stays: who removes it could let two in. In it stands which
/// process holds it, for people.
pub(super) struct DownloadLock {
    _lock: FileLock,
}

impl DownloadLock {
    /// Takes it, after the one who holds it has let go. `waiting` is called once, where that is so.
    pub(super) async fn take(path: &Path, waiting: impl FnOnce()) -> Result<Self, ModelStoreError> {
        let mut waiting = Some(waiting);
        loop {
            if let Some(lock) = Self::attempt(path)? {
                return Ok(lock);
            }
            if let Some(waiting) = waiting.take() {
                waiting();
            }
            tokio::time::sleep(TRY_AGAIN).await;
        }
    }

    /// Takes it, unless another one holds it.
    pub(super) fn attempt(path: &Path) -> Result<Option<Self>, ModelStoreError> {
        let file = open_lock_file(path).map_err(|error| ModelStoreError::io("open", path, error))?;
        let taken = FileLock::try_new(file).map_err(|error| ModelStoreError::io("lock", path, error))?;
        let Ok(lock) = taken else { return Ok(None) };
        // Only for people, and a full disk is said where it matters.
        let _ = note_holder(lock.file());
        Ok(Some(Self { _lock: lock }))
    }
}

fn note_holder(mut file: &File) -> io::Result<()> {
    file.set_len(0)?;
    write!(file, "{}", std::process::id())
}

/// The process that took a lock last, where that can be known.
pub(super) fn holder(path: &Path) -> Option<u32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}
