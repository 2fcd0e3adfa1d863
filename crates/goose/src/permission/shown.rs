//! [`Shown`]: what exactly a person was asked about. A yes holds for that and for nothing else.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{
    call::CallToJudge,
    paths::{self, Bases},
    pin::{ToolPin, hex},
};

/// What a person was asked about: the tool as it described itself, its exact arguments, the folder, and where the paths
/// led.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    tool: String,
    arguments: String,
    folder: Option<Folder>,
    paths: Vec<Option<PathBuf>>,
}

/// A folder as it was: where it is, and which one it is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Folder {
    path: PathBuf,
    identity: Option<(u64, u64)>,
}

/// Why a yes no longer holds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Void {
    /// The working folder is not there.
    #[error("the working folder `{0}` is gone; nothing was run")]
    FolderGone(PathBuf),
    /// It is another one now.
    #[error("the working folder `{0}` was replaced since this was approved; nothing was run")]
    FolderReplaced(PathBuf),
    /// The tool describes itself differently.
    #[error("the tool `{0}` changed its description since this was approved; nothing was run")]
    ToolChanged(String),
    /// The arguments are others.
    #[error("these are not the arguments that were approved; nothing was run")]
    ArgumentsChanged,
    /// A link was changed.
    #[error("a path leads somewhere else since this was approved; nothing was run")]
    PathMoved,
    /// A rule denies it now.
    #[error("{0}")]
    Denied(String),
}

impl Shown {
    pub(super) fn of(call: &CallToJudge<'_>, home: Option<&Path>) -> Self {
        let bases = Bases { working: call.working_dir, home };
        let paths = call.paths().unwrap_or_default();
        Self {
            tool: ToolPin::of(call.tool).fingerprint().to_owned(),
            arguments: digest(call),
            folder: Folder::of(call.working_dir),
            paths: paths.into_iter().map(|path| bases.resolve(path).ok()).collect(),
        }
    }

    /// Compares with the call that is about to be made.
    pub(super) fn check(&self, call: &CallToJudge<'_>, home: Option<&Path>) -> Result<(), Void> {
        let now = Self::of(call, home);
        let folder = || call.working_dir.to_owned();
        match (&self.folder, &now.folder) {
            (_, None) => return Err(Void::FolderGone(folder())),
            (before, after) if before != after => return Err(Void::FolderReplaced(folder())),
            _ => {}
        }
        if now.tool != self.tool {
            return Err(Void::ToolChanged(call.name().to_owned()));
        }
        if now.arguments != self.arguments {
            return Err(Void::ArgumentsChanged);
        }
        if now.paths == self.paths { Ok(()) } else { Err(Void::PathMoved) }
    }
}

impl Folder {
    fn of(path: &Path) -> Option<Self> {
        let path = paths::resolve(path).ok()?;
        let metadata = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_dir)?;
        Some(Self { identity: identity(&metadata), path })
    }
}

#[cfg(unix)]
fn identity(metadata: &fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_: &fs::Metadata) -> Option<(u64, u64)> {
    None
}

/// The tool's name and its arguments, whatever order they come in.
fn digest(call: &CallToJudge<'_>) -> String {
    let mut arguments = Value::Object(call.arguments.clone());
    arguments.sort_all_objects();
    let mut hash = Sha256::new();
    for part in [call.name(), &arguments.to_string()] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hex(&hash.finalize())
}
