//! Claims on the files that a call writes, so that tasks that run side by side do not write over each other.

use std::{path::PathBuf, sync::atomic::Ordering};

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

    /// Claims the files of calls that were permitted to an external agent, which makes them by itself. They stay
    /// claimed: whether it writes is not seen here.
    pub(in crate::exchange) fn claim_permitted(&self, calls: &[Call]) -> Result<(), Refused> {
        let writes: Vec<PathBuf> = calls.iter().flat_map(|call| call.writes.iter().cloned()).collect();
        if writes.is_empty() {
            return Ok(());
        }
        if let Some(writer) = &self.writer {
            writer.claim(&writes).map_err(Refused::denied)?;
        }
        self.has_written.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Notes that a call has changed files, or has not.
    pub(super) fn note_writes(&self, call: &Call, claim: WriteClaim, has_succeeded: bool) {
        if call.writes.is_empty() {
            // What a delegate has done is checked like the agent's own work.
            if has_succeeded && call.handle.delegates() {
                self.has_written.store(true, Ordering::Relaxed);
            }
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
