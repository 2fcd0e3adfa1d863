//! [`Lock`]: one download of a model at a time, across processes.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
    time::Duration,
};

use goose_fs::{FileLock, open_lock_file};

use super::error::ModelStoreError;

/// The interval between two attempts at a lock that is held.
const TRY_AGAIN: Duration = Duration::from_millis(200);

/// Held until it is dropped, and by no dead process. The file stays: who removes it could let two in. In it stands which
/// process holds it, for people.
pub(super) struct Lock {
    _lock: FileLock,
}

impl Lock {
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
        let open = open_lock_file(path);
        let file = open.map_err(|error| ModelStoreError::io("open", path, error))?;
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
