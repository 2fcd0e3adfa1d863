//! Walking through a folder.

use std::{
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use goose_extension::{CallContext, ToolError, ToolResult};
use ignore::WalkBuilder;
use tokio_util::sync::CancellationToken;

use crate::developer::{files::similar_names, resolve_path::ResolvedPath};

/// How many files and folders one call looks at.
const MAX_ENTRIES: usize = 200_000;

/// A walk that can be cancelled, ends by itself, and knows what it could not look at.
#[derive(Clone)]
pub(in crate::developer) struct Walk {
    cancelled: Option<CancellationToken>,
    left: Arc<AtomicUsize>,
    cut: Arc<AtomicBool>,
    unreadable: Arc<AtomicUsize>,
}

impl Walk {
    pub(in crate::developer) fn of(context: &CallContext) -> Self {
        Self {
            cancelled: context.cancellation().cloned(),
            left: Arc::new(AtomicUsize::new(MAX_ENTRIES)),
            cut: Arc::default(),
            unreadable: Arc::default(),
        }
    }

    /// How a folder is walked through.
    pub(in crate::developer) fn builder(folder: &Path) -> WalkBuilder {
        let mut builder = WalkBuilder::new(folder);
        // Ignore files count outside of repositories too.
        builder.require_git(false).filter_entry(|entry| entry.file_name() != ".git");
        builder
    }

    /// Whether the call was cancelled.
    pub(in crate::developer) fn is_cancelled(&self) -> bool {
        self.cancelled.as_ref().is_some_and(CancellationToken::is_cancelled)
    }

    /// Whether to look at one more entry.
    pub(in crate::developer) fn goes_on(&self) -> bool {
        if self.is_cancelled() {
            return false;
        }
        let taken = self.left.try_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if taken.is_err() {
            self.cut.store(true, Ordering::Relaxed);
        }
        taken.is_ok()
    }

    /// Counts something that could not be looked at.
    pub(in crate::developer) fn miss(&self) {
        self.unreadable.fetch_add(1, Ordering::Relaxed);
    }

    /// What is said where it did not see everything.
    pub(in crate::developer) fn remark(&self) -> Option<String> {
        let mut remark = String::new();
        if self.cut.load(Ordering::Relaxed) {
            let _ = writeln!(
                remark,
                "[Stopped after {MAX_ENTRIES} files and folders. Name a smaller folder to see the rest.]"
            );
        }
        match self.unreadable.load(Ordering::Relaxed) {
            0 => {}
            count => {
                let _ = writeln!(
                    remark,
                    "[Could not be read, for lack of permission or another reason: {count}]"
                );
            }
        }
        (!remark.is_empty()).then_some(remark)
    }
}

/// The place, where there is something.
pub(in crate::developer) fn must_be_there(place: &ResolvedPath) -> ToolResult<PathBuf> {
    let given = &place.given;
    // Where a link leads nowhere, there is nothing.
    match place.path.metadata() {
        Ok(_) => Ok(place.path.clone()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let near = similar_names(&place.path);
            Err(ToolError::ExecutionError(format!(
                "There is no `{given}`.{near} Use `tree` on the folder above to see what is there."
            )))
        }
        Err(error) => Err(ToolError::ExecutionError(format!(
            "`{given}` cannot be looked at: {error}. Use `tree` on the folder above to see what is there."
        ))),
    }
}
