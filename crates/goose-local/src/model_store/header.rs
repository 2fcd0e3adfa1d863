//! Whether a file is a model's: at all, by its first bytes, and one that runs, which the engine says.

use std::{
    fs::File,
    io::{ErrorKind, Read as _},
    path::Path,
};

use goose_engine::{EngineError, Model, ModelFacts};

use super::error::ModelStoreError;

/// What GGUF files begin with.
const MAGIC: [u8; 4] = *b"GGUF";

/// The versions of the format that are read.
const VERSIONS: std::ops::RangeInclusive<u32> = 2..=3;

/// Magic, version, and how many tensors and values there are.
const HEADER_BYTES: usize = 24;

/// Looks at a file's header.
///
/// # Errors
///
/// Where it is not there, cannot be read, or is no GGUF file of a version that goose knows.
pub fn check_header(path: &Path) -> Result<(), ModelStoreError> {
    let not = |reason: String| ModelStoreError::NotAModel { path: path.to_owned(), reason };
    let mut file = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => ModelStoreError::NoFile { path: path.to_owned() },
        _ => ModelStoreError::io("open", path, error),
    })?;
    if !file.metadata().is_ok_and(|about| about.is_file()) {
        return Err(not("it is no file".to_owned()));
    }
    let mut header = [0; HEADER_BYTES];
    file.read_exact(&mut header).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => not("it is too short for a GGUF file".to_owned()),
        _ => ModelStoreError::io("read", path, error),
    })?;
    let [m0, m1, m2, m3, v0, v1, v2, v3, rest @ ..] = header;
    if [m0, m1, m2, m3] != MAGIC {
        return Err(not("it does not begin as GGUF files do".to_owned()));
    }
    let version = u32::from_le_bytes([v0, v1, v2, v3]);
    if VERSIONS.contains(&version.swap_bytes()) {
        return Err(not("it was made for machines with another order of bytes".to_owned()));
    }
    if !VERSIONS.contains(&version) {
        return Err(not(format!("version {version} of the format is not known")));
    }
    if rest.iter().all(|byte| *byte == 0) {
        return Err(not("there is nothing in it".to_owned()));
    }
    Ok(())
}

/// Looks whether the engine can run a file. The weights themselves are not read.
///
/// # Errors
///
/// Where it is not there, cannot be read, or cannot be run, with the engine's reason.
pub fn check_model(path: &Path) -> Result<ModelFacts, ModelStoreError> {
    check_header(path)?;
    Model::look(path).map_err(|error| match error {
        EngineError::Read { source, .. } => ModelStoreError::io("read", path, source),
        EngineError::Malformed(reason) => {
            ModelStoreError::NotAModel { path: path.to_owned(), reason: format!("it is damaged: {reason}") }
        }
        EngineError::Unsupported(reason) => ModelStoreError::NotAModel { path: path.to_owned(), reason },
        other => ModelStoreError::NotAModel { path: path.to_owned(), reason: other.to_string() },
    })
}
