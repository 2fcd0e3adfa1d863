//! How a process ended, without reaping it.
//!
//! A process that was not reaped keeps its number, and its group's. That is why nothing here reaps: the group can be
//! signalled safely as long as its leader is there, dead or alive.

use std::{io, os::unix::process::ExitStatusExt as _, process::ExitStatus};

use rustix::process::{Pid, WaitId, WaitIdOptions, WaitIdStatus};
use tokio::signal::unix::{SignalKind, signal};

/// Waits until a child of ours has ended. Cancel-safe.
pub(crate) async fn wait(child: Pid) -> io::Result<ExitStatus> {
    // Listening comes first: an end between the look and the listening would be missed.
    let mut ends = signal(SignalKind::child())?;
    loop {
        if let Some(status) = look(child)? {
            return Ok(status);
        }
        ends.recv().await;
    }
}

/// How a child of ours has ended, if it has.
pub(crate) fn look(child: Pid) -> io::Result<Option<ExitStatus>> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(rustix::process::waitid(WaitId::Pid(child), options)?.as_ref().map(status))
}

/// The status as `wait` encodes it: the code in the second byte, or the signal in the first.
fn status(ended: &WaitIdStatus) -> ExitStatus {
    const CORE_DUMPED: i32 = 0x80;
    let raw = match (ended.exit_status(), ended.terminating_signal()) {
        (Some(code), _) => (code & 0xff) << 8,
        (None, Some(signal)) if ended.dumped() => signal | CORE_DUMPED,
        (None, signal) => signal.unwrap_or_default(),
    };
    ExitStatus::from_raw(raw)
}
