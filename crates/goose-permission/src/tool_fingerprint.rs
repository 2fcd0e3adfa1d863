//! [`ToolFingerprint`]: a tool's definition at the time it was allowed. A tool whose definition changes
//! counts as another one.

use std::{
    fs,
    path::{Path, PathBuf},
};

use goose_extension::Tool;
use goose_fs::{AtomicFile, create_private_dir, head_chars};
use serde_json::Value;

use goose_config::digest::sha256;

/// Maximum number of removed lines, and of added lines, that are shown.
const MAX_SHOWN_LINES: usize = 10;

/// Maximum number of characters of a line that are shown.
const MAX_SHOWN_CHARS: usize = 200;

/// Largest definition that is stored to show later changes.
const MAX_STORED_BYTES: usize = 256 * 1024;

/// Definition of a tool at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolFingerprint {
    digest: String,
    /// Description and schema; `None` if only the digest is known.
    definition: Option<String>,
}

impl ToolFingerprint {
    pub(super) fn new(tool: &Tool) -> Self {
        let mut schema = Value::Object(tool.input_schema().clone());
        schema.sort_all_objects();
        let schema = serde_json::to_string_pretty(&schema).unwrap_or_default();
        let definition = format!("{}\n{schema}", tool.description());
        let prefixed = |part: &str| [&(part.len() as u64).to_le_bytes()[..], part.as_bytes()].concat();
        let digest = sha256([prefixed(tool.name()), prefixed(&definition)].concat());
        Self { digest, definition: Some(definition) }
    }

    /// Creates a fingerprint from a stored digest.
    pub(super) fn from_digest(text: &str) -> Option<Self> {
        let is_hash = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash.then(|| Self { digest: text.to_ascii_lowercase(), definition: None })
    }

    pub(super) fn digest(&self) -> &str {
        &self.digest
    }

    /// Stores the definition in a folder, to show later changes. Errors are only logged, because the check
    /// itself needs only the digest.
    pub(super) fn save(&self, folder: &Path) {
        let Some(text) = self.definition.as_ref().filter(|text| text.len() <= MAX_STORED_BYTES) else {
            return;
        };
        let write = || AtomicFile::new(&self.file(folder)).write(text.as_bytes());
        if let Err(error) = create_private_dir(folder).and_then(|()| write()) {
            tracing::debug!(%error, "a tool's definition could not be stored");
        }
    }

    fn file(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.txt", self.digest))
    }

    /// Returns the changes from this definition to `now`, line by line.
    pub(super) fn difference(&self, now: &Self, folder: &Path) -> String {
        let stored =
            || fs::read_to_string(self.file(folder)).ok().filter(|text| text.len() <= MAX_STORED_BYTES);
        match (self.definition.clone().or_else(stored), &now.definition) {
            (Some(before), Some(after)) => line_difference(&before, after),
            _ => "the earlier definition is not available".to_owned(),
        }
    }
}

/// Returns the removed and added lines between the common start and the common end.
fn line_difference(before: &str, after: &str) -> String {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(a, b)| a == b).count();
    let start = same(&mut before.iter().zip(&after));
    let end = same(&mut before[start..].iter().rev().zip(after[start..].iter().rev()));
    let gone = shown('-', &before[start..before.len() - end]);
    let new = shown('+', &after[start..after.len() - end]);
    gone.into_iter().chain(new).collect::<Vec<_>>().join("\n")
}

fn shown(sign: char, lines: &[&str]) -> Vec<String> {
    let mut shown: Vec<String> = lines
        .iter()
        .take(MAX_SHOWN_LINES)
        .map(|line| format!("{sign} {}", head_chars(line, MAX_SHOWN_CHARS)))
        .collect();
    if lines.len() > MAX_SHOWN_LINES {
        shown.push(format!("{sign} … {} more lines", lines.len() - MAX_SHOWN_LINES));
    }
    shown
}
