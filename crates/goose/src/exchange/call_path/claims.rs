//! Claims on the files that a call writes, so that parallel tasks do not overwrite each other's files.

use std::{path::PathBuf, sync::atomic::Ordering};

use super::{Call, CallPath, Refusal};
use crate::exchange::task_writes::WriteClaim;

impl CallPath {
    /// Claims the files that a call writes for its task.
    pub(super) fn claim(&self, call: &Call) -> Result<WriteClaim, Refusal> {
        match &self.guard.writer {
            Some(writer) if !call.writes.is_empty() => writer.claim(&call.writes).map_err(Refusal::denied),
            _ => Ok(WriteClaim::default()),
        }
    }

    /// Claims the files of calls that were permitted to an external agent, which makes them itself. The
    /// claims stay, because goose does not see if the agent writes.
    pub(in crate::exchange) fn claim_permitted(&self, calls: &[Call]) -> Result<(), Refusal> {
        let writes: Vec<PathBuf> = calls.iter().flat_map(|call| call.writes.iter().cloned()).collect();
        if writes.is_empty() {
            return Ok(());
        }
        if let Some(writer) = &self.guard.writer {
            writer.claim(&writes).map_err(Refusal::denied)?;
        }
        self.has_written.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Records if a call has changed files, and withdraws its claim if it has not.
    pub(super) fn note_writes(&self, call: &Call, claim: WriteClaim, has_succeeded: bool) {
        if call.writes.is_empty() {
            // The work of a delegate is checked like the agent's own.
            if has_succeeded && call.handle.delegates() {
                self.has_written.store(true, Ordering::Relaxed);
            }
            return;
        }
        match (&self.guard.writer, has_succeeded) {
            (_, true) => self.has_written.store(true, Ordering::Relaxed),
            // Only a call with known files: a command may have written before it failed.
            (Some(writer), false) if !call.files.is_empty() => writer.withdraw(claim),
            _ => {}
        }
    }
}
