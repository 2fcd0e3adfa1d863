//! [`ApprovalSnapshot`]: the exact call that the user was asked about. An approval is valid only for this
//! call.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{
    call::CallToJudge,
    paths::{self, Bases, KnownFolders},
    tool_fingerprint::ToolFingerprint,
};
use goose_config::digest::json_digest;

/// Call that the user was asked about: the definition of the tool, the exact arguments, the folder, and the
/// resolved paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalSnapshot {
    tool: String,
    arguments: String,
    folder: Option<Folder>,
    paths: Vec<Option<PathBuf>>,
}

/// Path and identity of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Folder {
    path: PathBuf,
    identity: (u64, u64),
}

/// Reason why an approval is no longer valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StaleApproval {
    /// The working folder no longer exists.
    #[error("the working folder `{0}` no longer exists; nothing was run")]
    FolderGone(PathBuf),
    /// The working folder was replaced.
    #[error("the working folder `{0}` was replaced since this was approved; nothing was run")]
    FolderReplaced(PathBuf),
    /// The definition of the tool changed.
    #[error("the tool `{0}` changed its description since this was approved; nothing was run")]
    ToolChanged(String),
    /// The arguments differ.
    #[error("these are not the arguments that were approved; nothing was run")]
    ArgumentsChanged,
    /// A path resolves to another file.
    #[error("a path resolves to another file since this was approved; nothing was run")]
    PathMoved,
    /// A rule denies the call now.
    #[error("{0}")]
    Denied(String),
}

impl ApprovalSnapshot {
    pub(super) fn new(call: &CallToJudge<'_>, home: Option<&Path>) -> Self {
        let known = KnownFolders::default();
        let bases = Bases { working: call.working_dir, home, known: &known };
        let paths = call.paths().unwrap_or_default();
        Self {
            tool: ToolFingerprint::new(call.tool).digest().to_owned(),
            arguments: digest(call),
            folder: Folder::open(call.working_dir),
            paths: paths.into_iter().map(|path| bases.resolve(path).ok()).collect(),
        }
    }

    /// Compares the snapshot with the call that is about to run.
    pub(super) fn check(&self, call: &CallToJudge<'_>, home: Option<&Path>) -> Result<(), StaleApproval> {
        let now = Self::new(call, home);
        let folder = || call.working_dir.to_owned();
        match (&self.folder, &now.folder) {
            (_, None) => return Err(StaleApproval::FolderGone(folder())),
            (before, after) if before != after => return Err(StaleApproval::FolderReplaced(folder())),
            _ => {}
        }
        if now.tool != self.tool {
            return Err(StaleApproval::ToolChanged(call.name().to_owned()));
        }
        if now.arguments != self.arguments {
            return Err(StaleApproval::ArgumentsChanged);
        }
        if now.paths == self.paths { Ok(()) } else { Err(StaleApproval::PathMoved) }
    }
}

impl Folder {
    fn open(path: &Path) -> Option<Self> {
        let path = paths::resolve(path).ok()?;
        let metadata = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_dir)?;
        Some(Self { identity: (metadata.dev(), metadata.ino()), path })
    }
}

/// Returns a digest of the tool's name and the arguments, whose order does not matter.
fn digest(call: &CallToJudge<'_>) -> String {
    json_digest(json!([call.name(), call.arguments]))
}
