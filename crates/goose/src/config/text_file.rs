//! Reading a small text file that a person may edit at any time: capped, and its absence is no error.

use std::{
    fs::File,
    io::{ErrorKind, Read},
    path::Path,
};

use super::{ConfigError, Place};

/// The text of a file, `None` where there is no file.
pub(super) fn read_capped(path: &Path, limit: u64) -> Result<Option<String>, ConfigError> {
    let bytes = match bytes(path, limit) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(ConfigError::Unreadable { path: path.to_owned(), reason: error.to_string() });
        }
    };
    if bytes.len() as u64 > limit {
        return Err(ConfigError::TooLarge { path: path.to_owned(), limit });
    }
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|error| not_text(path, error.as_bytes(), error.utf8_error().valid_up_to()))
}

/// At most one byte more than the limit.
fn bytes(path: &Path, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn not_text(path: &Path, bytes: &[u8], valid_up_to: usize) -> ConfigError {
    let before = bytes.get(..valid_up_to).unwrap_or_default();
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let line = before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
    let column =
        String::from_utf8_lossy(before.get(line_start..).unwrap_or_default()).chars().count() as u64 + 1;
    ConfigError::malformed(
        Place::new(path, Some((line, column))),
        "this is not UTF-8 text; save the file as UTF-8",
    )
}
