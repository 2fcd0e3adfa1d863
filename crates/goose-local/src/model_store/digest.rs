//! Whether a file is the right one: its SHA-256, read piece by piece.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use sha2::{Digest as _, Sha256};

use super::{
    error::ModelStoreError,
    event::{Event, Events},
};

/// How much is read between two looks at the world.
const STEP_BYTES: usize = 8 * 1024 * 1024;

/// What came of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// It is the file of the catalogue.
    Right,
    /// It is another one, or damaged.
    Wrong {
        /// The hash that it should have.
        expected: String,
        /// The one that it has.
        found: String,
    },
    /// It is a model's file of which the catalogue knows nothing, with this hash.
    Unknown {
        /// Its hash.
        found: String,
    },
}

/// The SHA-256 of a file, in lower case. Dropping it ends it.
pub(super) async fn sha256(path: &Path, events: Events<'_>) -> Result<String, ModelStoreError> {
    let failed = |error: io::Error| ModelStoreError::io("read", path, error);
    let mut file = File::open(path).map_err(failed)?;
    let total = file.metadata().map_err(failed)?.len();
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    loop {
        let step = tokio::task::spawn_blocking(move || {
            let mut piece = Vec::with_capacity(STEP_BYTES);
            file.by_ref().take(STEP_BYTES as u64).read_to_end(&mut piece)?;
            hash.update(&piece);
            Ok((file, hash, piece.len() as u64))
        });
        let read;
        (file, hash, read) = step.await.map_err(io::Error::other).flatten().map_err(failed)?;
        if read == 0 {
            break;
        }
        bytes += read;
        events(Event::Checked { bytes, total });
    }
    let mut text = String::new();
    for byte in hash.finalize() {
        // Writing into a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}
