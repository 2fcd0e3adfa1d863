//! [`read_target`]: the content of a file that the permissions judged.

use std::io::{self, Read as _};

use goose_extension::{FileError, FileTarget};

/// Reads a judged file up to one byte more than the limit, without following links.
pub(super) fn read_target(target: &FileTarget, limit: u64) -> Result<Vec<u8>, FileError> {
    let (file, _) = target.hard_links.open(|| {
        let file = goose_fs::open_file(&target.path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a regular file").into());
        }
        if target.hard_links.permit(&metadata) { Ok((file, metadata)) } else { Err(FileError::HardLinked) }
    })?;
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
