//! A recording as a file: its form, and how it is read and written.

use std::{fs, io, path::Path};

use goose_extension::{ToolError, ToolResult};
use goose_fs::AtomicFile;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::HOW_TO_RECORD;

/// Maximum size of a recording.
pub(super) const MAX_TAPE_BYTES: usize = 64 << 20;

/// The version of the form.
const FORMAT: u32 = 1;

/// The number of a tape's first connection.
const FIRST: u32 = 1;

/// A whole recording.
#[derive(Serialize, Deserialize)]
pub(super) struct Document {
    format: u32,
    /// The recorded events.
    server: String,
    pub(super) messages: Vec<Entry>,
}

/// Something that happened on a connection.
#[derive(Serialize, Deserialize)]
pub(super) struct Entry {
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub(super) connection: u32,
    /// The request on whose stream it came; 0 for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stream: Option<u64>,
    #[serde(flatten)]
    pub(super) event: Event,
}

/// A recorded event.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Event {
    /// We sent a message.
    Client(Value),
    /// The server sent a message.
    Server(Value),
    /// A request of ours could not be sent.
    Unsent(u64),
    /// The server ended the connection.
    Closed {},
}

fn first() -> u32 {
    FIRST
}

fn is_first(connection: &u32) -> bool {
    *connection == FIRST
}

impl Document {
    pub(super) fn new(server: String, messages: Vec<Entry>) -> Self {
        Self { format: FORMAT, server, messages }
    }

    pub(super) fn load(file: &Path) -> ToolResult<Self> {
        let text = read(file).map_err(|error| unusable(file, &error))?;
        let document: Self = serde_json::from_str(&text).map_err(|error| unusable(file, &error))?;
        if document.format != FORMAT {
            let reason = format!("its format is {}, and {FORMAT} was expected", document.format);
            return Err(unusable(file, &reason));
        }
        Ok(document)
    }

    /// Replaces the file atomically.
    pub(super) fn save(&self, file: &Path) -> ToolResult<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        if text.len() > MAX_TAPE_BYTES {
            return Err(too_large(file));
        }
        replace(file, &text).map_err(|error| {
            ToolError::ExecutionError(format!(
                "The recording `{}` could not be written: {error}. Check the folder and its permissions.",
                file.display()
            ))
        })
    }
}

fn read(file: &Path) -> io::Result<String> {
    if fs::metadata(file)?.len() > MAX_TAPE_BYTES as u64 {
        return Err(io::Error::other(format!("it is larger than {} MiB", MAX_TAPE_BYTES >> 20)));
    }
    fs::read_to_string(file)
}

fn unusable(file: &Path, reason: &dyn std::fmt::Display) -> ToolError {
    ToolError::ExecutionError(format!(
        "The recording `{}` cannot be replayed: {reason}. {HOW_TO_RECORD}",
        file.display()
    ))
}

pub(super) fn too_large(file: &Path) -> ToolError {
    ToolError::ExecutionError(format!(
        "The recording `{}` would be larger than {} MiB and was not written. Record less in one test.",
        file.display(),
        MAX_TAPE_BYTES >> 20
    ))
}

fn replace(file: &Path, text: &str) -> io::Result<()> {
    if fs::read_to_string(file).is_ok_and(|present| present == text) {
        return Ok(());
    }
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    AtomicFile::new(file).shared().write(text.as_bytes())
}
