//! Whether there is room.

use std::path::Path;

use rustix::fs::statvfs;

use super::error::ModelStoreError;

/// What must be free besides, so that the machine can go on.
const RESERVE_BYTES: u64 = 64 * 1024 * 1024;

/// # Errors
///
/// Where so many bytes more do not fit into the folder.
pub(super) fn check(folder: &Path, needed: u64) -> Result<(), ModelStoreError> {
    let free = free(folder)?;
    let needed = needed.saturating_add(RESERVE_BYTES);
    if free < needed {
        return Err(ModelStoreError::NoSpace { folder: folder.to_owned(), needed, free });
    }
    Ok(())
}

fn free(folder: &Path) -> Result<u64, ModelStoreError> {
    let about = statvfs(folder).map_err(|error| ModelStoreError::io("look at", folder, error.into()))?;
    Ok(about.f_bavail.saturating_mul(about.f_frsize))
}
