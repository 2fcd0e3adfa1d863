//! Finding one's way in a folder: `tree` and `search`, both as git would see it.
//!
//! Ignored and hidden files are left out; links are not followed. Every walk has caps and stops when the
//! call is cancelled.

mod search;
mod tree;

use std::{
    fmt::Write as _,
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use goose_extension::{CallContext, FileError, HardLinks, ToolError, ToolResult};
use goose_fs::{Folder, is_link, open_file};
use ignore::WalkBuilder;
use tokio_util::sync::CancellationToken;

use crate::{
    developer::{
        files::{moved, similar_names},
        resolve_path::ResolvedPath,
    },
    local_backend::open_regular,
};

/// Maximum number of files and folders that one call visits.
const MAX_ENTRIES: usize = 200_000;

/// A walk that can be cancelled, ends by itself, and knows what it could not look at.
#[derive(Default)]
pub(in crate::developer) struct Walk {
    cancelled: Option<CancellationToken>,
    visited: AtomicUsize,
    unreadable: AtomicUsize,
    hard_linked: AtomicBool,
}

impl Walk {
    pub(in crate::developer) fn new(context: &CallContext) -> Arc<Self> {
        Arc::new(Self { cancelled: context.cancellation().cloned(), ..Self::default() })
    }

    /// Returns whether the call was cancelled.
    pub(in crate::developer) fn is_cancelled(&self) -> bool {
        self.cancelled.as_ref().is_some_and(CancellationToken::is_cancelled)
    }

    /// Counts one more entry; false at the end of the walk.
    pub(in crate::developer) fn goes_on(&self) -> bool {
        !self.is_cancelled() && self.visited.fetch_add(1, Ordering::Relaxed) < MAX_ENTRIES
    }

    /// Counts something that could not be looked at.
    pub(in crate::developer) fn miss(&self) {
        self.unreadable.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns a remark if it did not see everything.
    pub(in crate::developer) fn remark(&self) -> Option<String> {
        let mut remark = String::new();
        if self.visited.load(Ordering::Relaxed) > MAX_ENTRIES {
            let _ = writeln!(
                remark,
                "[Stopped after {MAX_ENTRIES} files and folders. Name a smaller folder to see the rest.]"
            );
        }
        let unreadable = self.unreadable.load(Ordering::Relaxed);
        if unreadable > 0 {
            let _ = writeln!(
                remark,
                "[Could not be read, for lack of permission or another reason: {unreadable}]"
            );
        }
        if self.hard_linked.load(Ordering::Relaxed) {
            remark.push_str(
                "[Left out: files with other names (hard links), which may be protected ones. Name such a file to use it.]\n",
            );
        }
        (!remark.is_empty()).then_some(remark)
    }
}

/// The open file or folder that a walk begins with. What the walk finds by its path counts only where it is found below this folder
/// as well, without any link on the way: another program may replace folders by links meanwhile.
pub(in crate::developer) struct Root {
    pub(in crate::developer) path: PathBuf,
    /// The open folder; `None` if it is a file.
    pub(in crate::developer) folder: Option<Folder>,
    hard_links: HardLinks,
    pub(in crate::developer) walk: Arc<Walk>,
}

impl Root {
    /// Opens a place, where there is something.
    ///
    /// # Errors
    ///
    /// Fails if there is nothing, or it cannot be opened.
    pub(in crate::developer) fn open(place: &ResolvedPath, walk: Arc<Walk>) -> ToolResult<Self> {
        let (given, path) = (&place.given, &place.target.path);
        let folder = match Folder::open(path) {
            Ok(folder) => Some(folder),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => None,
            Err(error) if is_link(&error) => return Err(moved(given)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let near = similar_names(path);
                return Err(ToolError::ExecutionError(format!(
                    "There is no `{given}`.{near} Use `tree` on the folder above to see what is there."
                )));
            }
            Err(error) => {
                return Err(ToolError::ExecutionError(format!(
                    "`{given}` cannot be looked at: {error}. Use `tree` on the folder above to see what is there."
                )));
            }
        };
        Ok(Self { path: path.clone(), folder, hard_links: place.target.hard_links, walk })
    }

    /// The path of something that was found, relative to the folder.
    pub(in crate::developer) fn relative<'a>(&self, found: &'a Path) -> &'a Path {
        found.strip_prefix(&self.path).unwrap_or(found)
    }

    /// Returns the walk through the folder.
    pub(in crate::developer) fn walk_builder(&self) -> WalkBuilder {
        let mut builder = WalkBuilder::new(&self.path);
        // Ignore files count outside of repositories too.
        builder.require_git(false).filter_entry(|entry| entry.file_name() != ".git");
        builder
    }

    /// Opens a regular file that was found, where it may be used.
    pub(in crate::developer) fn open_regular(&self, found: &Path) -> Option<File> {
        let open = || match &self.folder {
            Some(folder) => folder.open_file(self.relative(found)),
            None => open_file(&self.path),
        };
        match open_regular(self.hard_links, open) {
            Ok((file, _)) => return Some(file),
            Err(FileError::HardLinked) => self.walk.hard_linked.store(true, Ordering::Relaxed),
            Err(_) => {}
        }
        None
    }
}
