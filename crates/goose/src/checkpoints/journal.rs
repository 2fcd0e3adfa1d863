//! The journal of a session: one JSON object for each line. Lines are only appended; one that a killed process left
//! unfinished is skipped.

use std::{collections::HashSet, path::PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Entry of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub(super) enum Record {
    /// A file is about to be changed.
    Changed(Change),
    /// A change was not made.
    Failed {
        /// Number of the change.
        id: u64,
    },
    /// A command was started.
    Command {
        /// Number of the last stored step of the session.
        step: u64,
        at: Timestamp,
        /// Beginning of its first line.
        text: String,
    },
    /// Changes were taken back.
    Restored {
        /// Numbers of the changes.
        ids: Vec<u64>,
    },
}

/// Change of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Change {
    /// Number of the change, from 1.
    pub(super) id: u64,
    /// Number of the last stored step of the session.
    pub(super) step: u64,
    pub(super) at: Timestamp,
    /// Real path, with all links resolved.
    #[serde(with = "path_form")]
    pub(super) path: PathBuf,
    pub(super) before: Before,
    /// Hash of the new content.
    pub(super) after: String,
    /// Topmost folder that was created for the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) folder: Option<StoredPath>,
}

/// Path in a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct StoredPath(#[serde(with = "path_form")] pub(super) PathBuf);

/// State of a file before a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(super) enum Before {
    /// There was no file.
    Missing,
    /// There is a copy.
    Kept {
        hash: String,
        mode: u32,
        /// True if the file had other names.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_linked: bool,
    },
    /// An earlier change of the same reply had written this content, so it was not copied.
    Known { hash: String, mode: u32 },
    /// The file was too large to be copied.
    TooLarge { size: u64 },
    /// The copy failed.
    NotKept { reason: String },
}

impl Before {
    /// Returns the hash and the mode of a file whose content is known.
    pub(super) fn known(&self) -> Option<(&str, u32)> {
        match self {
            Self::Kept { hash, mode, .. } | Self::Known { hash, mode } => Some((hash, *mode)),
            _ => None,
        }
    }
}

/// Parses the lines that can be read.
pub(super) fn parse(text: &[u8]) -> Vec<Record> {
    text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// Returns the changes that were made and not taken back, in order.
pub(super) fn active(records: &[Record]) -> Vec<Change> {
    let restored = records.iter().filter_map(|record| match record {
        Record::Restored { ids } => Some(ids),
        _ => None,
    });
    let restored: HashSet<u64> = restored.flatten().copied().collect();
    let mut changes = made(records);
    changes.retain(|change| !restored.contains(&change.id));
    changes
}

/// Returns the changes that were made, in order.
pub(super) fn made(records: &[Record]) -> Vec<Change> {
    let failed = records.iter().filter_map(|record| match record {
        Record::Failed { id } => Some(*id),
        _ => None,
    });
    let failed: HashSet<u64> = failed.collect();
    let changes = records.iter().filter_map(|record| match record {
        Record::Changed(change) if !failed.contains(&change.id) => Some(change),
        _ => None,
    });
    changes.cloned().collect()
}

/// A path as text, or as bytes if it is not UTF-8.
mod path_form {
    use std::{
        ffi::OsString,
        os::unix::ffi::{OsStrExt as _, OsStringExt as _},
        path::{Path, PathBuf},
    };

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Text(PathBuf),
        Bytes(Vec<u8>),
    }

    pub(super) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => path.as_os_str().as_bytes().serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        Ok(match Form::deserialize(deserializer)? {
            Form::Text(path) => path,
            Form::Bytes(bytes) => OsString::from_vec(bytes).into(),
        })
    }
}
