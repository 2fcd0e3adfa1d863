//! Checks of model files: the header, whether the engine can run the model, and the SHA-256 of the file.

use std::{
    io::{self, ErrorKind, Read as _},
    path::Path,
};

use goose_engine::{EngineError, Model, ModelFacts};
use goose_fs::open_regular;
use sha2::{Digest as _, Sha256};

use super::{
    error::ModelStoreError,
    pull::{Event, Events},
};

/// First bytes of GGUF files.
const MAGIC: [u8; 4] = *b"GGUF";

/// Supported versions of the format.
const VERSIONS: std::ops::RangeInclusive<u32> = 2..=3;

/// Size of the header: magic, version, number of tensors, number of metadata values.
const HEADER_BYTES: usize = 24;

/// Checks a file's header.
///
/// # Errors
///
/// The file does not exist, cannot be read, or is not a GGUF file of a supported version.
pub fn check_header(path: &Path) -> Result<(), ModelStoreError> {
    let not = |reason: String| ModelStoreError::NotAModel { path: path.to_owned(), reason };
    let mut file = open_regular(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => ModelStoreError::NoFile { path: path.to_owned() },
        _ => ModelStoreError::io("open", path, error),
    })?;
    let mut header = [0; HEADER_BYTES];
    file.read_exact(&mut header).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => not("it is too short for a GGUF file".to_owned()),
        _ => ModelStoreError::io("read", path, error),
    })?;
    let [m0, m1, m2, m3, v0, v1, v2, v3, rest @ ..] = header;
    if [m0, m1, m2, m3] != MAGIC {
        return Err(not("it does not begin with `GGUF`".to_owned()));
    }
    let version = u32::from_le_bytes([v0, v1, v2, v3]);
    if VERSIONS.contains(&version.swap_bytes()) {
        return Err(not("its byte order is big-endian".to_owned()));
    }
    if !VERSIONS.contains(&version) {
        return Err(not(format!("GGUF version {version} is not supported")));
    }
    if rest.iter().all(|byte| *byte == 0) {
        return Err(not("it has neither tensors nor metadata".to_owned()));
    }
    Ok(())
}

/// Checks that the engine can run a model, without reading its weights.
///
/// # Errors
///
/// The file does not exist, cannot be read, or cannot be run, with the engine's reason.
pub fn check_model(path: &Path) -> Result<ModelFacts, ModelStoreError> {
    check_header(path)?;
    Model::inspect(path).map_err(|error| {
        let reason = match error {
            EngineError::Read { source, .. } => return ModelStoreError::io("read", path, source),
            EngineError::Malformed(reason) => format!("it is damaged: {reason}"),
            EngineError::Unsupported(reason) => reason,
            other => other.to_string(),
        };
        ModelStoreError::NotAModel { path: path.to_owned(), reason }
    })
}

/// Bytes that are read between two events.
const STEP_BYTES: usize = 8 * 1024 * 1024;

/// Outcome of a checksum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The file is the one in the catalogue.
    Right,
    /// The file is another one, or damaged.
    Wrong {
        /// Hash in the catalogue.
        expected: String,
        /// Hash of the file.
        found: String,
    },
    /// The model is not in the catalogue.
    Unknown {
        /// Hash of the file.
        found: String,
    },
}

/// Returns the SHA-256 of a file, in lower case. Dropping the future stops the computation.
pub(super) async fn sha256(path: &Path, events: Events<'_>) -> Result<String, ModelStoreError> {
    let failed = |error: io::Error| ModelStoreError::io("read", path, error);
    let mut file = open_regular(path).map_err(failed)?;
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
    Ok(format!("{:x}", hash.finalize()))
}
