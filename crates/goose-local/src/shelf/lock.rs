//! [`Lock`]: one download of a model at a time, whoever runs it.

use std::{
    fs::{File, OpenOptions},
    path::Path,
    time::Duration,
};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};

use super::error::ShelfError;

/// How often a lock that another one holds is tried.
const TRY_AGAIN: Duration = Duration::from_millis(200);

/// Held until it is dropped, and by no dead process. The file stays: who removes it could let two in.
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes it, after the one who holds it has let go. `waiting` is called once, where that is so.
    pub(super) async fn take(path: &Path, waiting: impl FnOnce()) -> Result<Self, ShelfError> {
        let open = OpenOptions::new().create(true).truncate(false).write(true).open(path);
        let file = open.map_err(|error| ShelfError::io("open", path, error))?;
        let mut waiting = Some(waiting);
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { _file: file }),
                Err(Errno::WOULDBLOCK | Errno::INTR) => {
                    if let Some(waiting) = waiting.take() {
                        waiting();
                    }
                    tokio::time::sleep(TRY_AGAIN).await;
                }
                Err(error) => return Err(ShelfError::io("lock", path, error.into())),
            }
        }
    }
}
