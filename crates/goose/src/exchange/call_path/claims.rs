//! Claims on the files that a call writes, so that parallel tasks do not overwrite each other's files.

use std::{path::PathBuf, sync::atomic::Ordering};

use super::{Call, CallPath, Refusal};
use crate::exchange::task_writes::WriteClaim;

impl CallPath {
    /// Claims the files that a call writes for its task.
    pub(super) fn claim(&self, writes: &[PathBuf]) -> Result<WriteClaim, Refusal> {
        match &self.guard.writer {
            Some(writer) => writer.claim(writes).map_err(Refusal::denied),
            None => Ok(WriteClaim::default()),
        }
    }

    /// Claims the files of calls that were permitted to an external agent, which makes them itself. The
    /// claims stay, because goose does not see if the agent writes.
    pub(in crate::exchange) fn claim_permitted(&self, calls: &[Call]) -> Result<(), Refusal> {
        let writes: Vec<PathBuf> = calls.iter().flat_map(|call| call.writes.iter().cloned()).collect();
        self.claim(&writes)?;
        self.has_written.fetch_or(!writes.is_empty(), Ordering::Relaxed);
        Ok(())
    }

    /// Records if a call has changed files, and withdraws its claim if it has not.
    pub(super) fn note_writes(&self, call: &Call, claim: WriteClaim, has_succeeded: bool) {
        if has_succeeded {
            // The work of a delegate is checked like the agent's own.
            let writes = call.handle.delegates() || !call.writes.is_empty();
            self.has_written.fetch_or(writes, Ordering::Relaxed);
        } else if let Some(writer) = self.guard.writer.as_ref().filter(|_| !call.files.is_empty()) {
            // Only a call with known files: a command may have written before it failed.
            writer.withdraw(claim);
        }
    }
}
