//! [`CommandWrites`]: the files that a command is known to write, and those of them that it changed.

use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use goose_extension::ToolAction;

use super::Call;

/// Maximum number of files of one command that are compared.
const MAX_FILES: usize = 100;

/// Files that a command names and writes, as they were before it ran.
pub(super) struct CommandWrites(Vec<(PathBuf, FileState)>);

/// State of a path, as far as it tells whether the file changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileState {
    Missing,
    Folder,
    File { bytes: u64, modified: Option<SystemTime> },
}

impl FileState {
    fn now(path: &Path) -> Self {
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => Self::Folder,
            Ok(found) => Self::File { bytes: found.len(), modified: found.modified().ok() },
            Err(_) => Self::Missing,
        }
    }
}

impl CommandWrites {
    /// Records the files before the command runs. Tools for files report their changes themselves.
    pub(super) fn before(call: &Call) -> Self {
        let is_command = matches!(call.handle.tool.action(), Some(ToolAction::Command(_)));
        let files = call.writes.iter().filter(|_| is_command).take(MAX_FILES);
        Self(files.map(|path| (path.clone(), FileState::now(path))).collect())
    }

    /// Returns the files that are different now, relative to the working folder if they are below it. New folders are
    /// left out.
    pub(super) fn changed(self, working_dir: &Path) -> Vec<String> {
        let is_changed = |(path, before): &(PathBuf, FileState)| {
            let now = FileState::now(path);
            now != *before && now != FileState::Folder
        };
        let mut changed: Vec<PathBuf> = self.0.into_iter().filter(is_changed).map(|(path, _)| path).collect();
        if changed.is_empty() {
            return Vec::new();
        }
        changed.sort();
        changed.dedup();
        let folder = working_dir.canonicalize().unwrap_or_else(|_| working_dir.to_owned());
        let shown = |path: &PathBuf| path.strip_prefix(&folder).unwrap_or(path).display().to_string();
        changed.iter().map(shown).collect()
    }
}
