//! Claims on the files that a call writes, so that tasks that run side by side do not write over each other.

use std::sync::atomic::Ordering;

use super::{Call, CallPath, Refused};
use crate::exchange::task_writes::WriteClaim;

impl CallPath {
    /// Claims the files that a call writes for its task.
    pub(super) fn claim(&self, call: &Call) -> Result<WriteClaim, Refused> {
        match &self.writer {
            Some(writer) if !call.writes.is_empty() => writer.claim(&call.writes).map_err(Refused::denied),
            _ => Ok(WriteClaim::default()),
        }
    }

    /// Notes that a call has changed files, or has not.
    pub(super) fn note_writes(&self, call: &Call, claim: WriteClaim, has_succeeded: bool) {
        if call.writes.is_empty() {
            return;
        }
        match (&self.writer, has_succeeded) {
            (_, true) => self.has_written.store(true, Ordering::Relaxed),
            // A command may have written before it failed.
            (Some(writer), false) if !call.files.is_empty() => writer.withdraw(claim),
            _ => {}
        }
    }
}
