//! Walking through a folder.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use goose_extension::{CallContext, ToolError, ToolResult};
use ignore::WalkBuilder;
use tokio_util::sync::CancellationToken;

use crate::developer::place::Place;

/// How many files and folders one call looks at.
const MAX_ENTRIES: usize = 200_000;

/// A walk that can be cancelled, and ends by itself.
#[derive(Clone)]
pub(in crate::developer) struct Walk {
    cancelled: Option<CancellationToken>,
    left: Arc<AtomicUsize>,
    cut: Arc<AtomicBool>,
}

impl Walk {
    pub(in crate::developer) fn of(context: &CallContext) -> Self {
        Self {
            cancelled: context.cancellation().cloned(),
            left: Arc::new(AtomicUsize::new(MAX_ENTRIES)),
            cut: Arc::default(),
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

    /// Whether there was more than a call looks at.
    pub(in crate::developer) fn was_cut(&self) -> bool {
        self.cut.load(Ordering::Relaxed)
    }

    /// What is said where there was.
    pub(in crate::developer) fn remark(&self) -> Option<String> {
        self.was_cut().then(|| {
            format!("[Stopped after {MAX_ENTRIES} files and folders. Name a smaller folder to see the rest.]")
        })
    }
}

/// The place, where there is something.
pub(in crate::developer) fn must_be_there(place: &Place) -> ToolResult<PathBuf> {
    match place.path.symlink_metadata() {
        Ok(_) => Ok(place.path.clone()),
        Err(error) => Err(ToolError::ExecutionError(format!(
            "`{}` cannot be looked at: {error}. Use `tree` on the folder above to see what is there.",
            place.given
        ))),
    }
}
