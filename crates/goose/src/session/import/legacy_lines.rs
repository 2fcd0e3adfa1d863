//! A session of goose 1.x in a file of its own: one line about it, then one line for each message.

use std::path::Path;

use goose_extension::Role;
use jiff::Timestamp;
use serde_json::Value;

use super::legacy::{OldMessage, OldSession};
use crate::session::NewSession;

/// The largest file that is read.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// Reads a file. Lines that are no messages, such as the last one of a goose that was killed, are left out.
pub(super) fn read(file: &Path) -> Result<OldSession, String> {
    let size = file.metadata().map_err(|error| error.to_string())?.len();
    if size > MAX_BYTES {
        return Err(format!("it has {size} bytes; the limit is {MAX_BYTES}"));
    }
    let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).peekable();
    let about = lines.next_if(|line| line.get("role").is_none()).unwrap_or_default();
    let messages: Vec<OldMessage> = lines.filter_map(message).collect();
    let created_at = messages.first().ok_or("there are no messages in it")?.at;
    let said = |name: &str| about[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let folder = said("working_dir").unwrap_or_default();
    let new = NewSession { name: said("description"), ..NewSession::in_folder(folder) };
    let id = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(OldSession { id, new, created_at, messages, cost: None })
}

fn message(mut line: Value) -> Option<OldMessage> {
    let role = if line["role"].as_str()? == "assistant" { Role::Assistant } else { Role::User };
    let at = line["created"].as_i64().and_then(|seconds| Timestamp::from_second(seconds).ok());
    Some(OldMessage {
        at: at.unwrap_or(Timestamp::UNIX_EPOCH),
        role,
        content: line["content"].take(),
        metadata: line["metadata"].take(),
    })
}
