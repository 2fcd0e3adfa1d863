//! [`ToolPin`]: what a tool was when somebody allowed it. A tool that describes itself differently later is another one.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use goose_extension::Tool;
use goose_fs::{AtomicFile, create_private_dir, head_chars};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// How many lines that are gone, and how many new ones, are shown.
const MAX_SHOWN_LINES: usize = 10;

/// How much of a line is shown.
const MAX_SHOWN_CHARS: usize = 200;

/// The longest description, with its schema, that is kept to show what changed.
const MAX_KEPT_BYTES: usize = 256 * 1024;

/// A tool as it described itself at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolPin {
    fingerprint: String,
    /// The description and the schema, line by line; not known where only the fingerprint was kept.
    text: Option<String>,
}

impl ToolPin {
    pub(super) fn of(tool: &Tool) -> Self {
        let mut schema = Value::Object(tool.input_schema().clone());
        schema.sort_all_objects();
        let schema = serde_json::to_string_pretty(&schema).unwrap_or_default();
        let text = format!("{}\n{schema}", tool.description());
        let mut hash = Sha256::new();
        for part in [tool.name(), text.as_str()] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self { fingerprint: hex(&hash.finalize()), text: Some(text) }
    }

    /// Of which only the fingerprint is known.
    pub(super) fn from_fingerprint(text: &str) -> Option<Self> {
        let is_hash = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash.then(|| Self { fingerprint: text.to_ascii_lowercase(), text: None })
    }

    pub(super) fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Keeps the text in a folder, so that a later change can be shown. Losing it costs only that.
    pub(super) fn keep(&self, folder: &Path) {
        let Some(text) = self.text.as_ref().filter(|text| text.len() <= MAX_KEPT_BYTES) else { return };
        let write = || AtomicFile::new(&self.file(folder)).write(text.as_bytes());
        if let Err(error) = create_private_dir(folder).and_then(|()| write()) {
            tracing::debug!(%error, "a tool's description is not kept");
        }
    }

    fn file(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.txt", self.fingerprint))
    }

    /// What changed from this to `now`, for a person; one line each.
    pub(super) fn difference(&self, now: &Self, folder: &Path) -> String {
        let kept = || fs::read_to_string(self.file(folder)).ok().filter(|text| text.len() <= MAX_KEPT_BYTES);
        match (self.text.clone().or_else(kept), &now.text) {
            (Some(before), Some(after)) => line_difference(&before, after),
            _ => "what it was is not known any more".to_owned(),
        }
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The lines that are gone and the lines that are new, around what stayed at both ends.
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
