//! Being asked to end: Ctrl-C, and what the system sends.

use std::{io, process::ExitCode};

use tokio::signal::unix::{SignalKind, signal};

/// What shells add to a signal's number in the exit code.
const BY_SIGNAL: u8 = 128;

/// The signals that ask to end, with their numbers.
const ENDINGS: [(SignalKind, u8); 3] =
    [(SignalKind::interrupt(), 2), (SignalKind::terminate(), 15), (SignalKind::hangup(), 1)];

/// Waits for a signal that asks to end, and returns the exit code that tells of it. From the first poll on, these
/// signals do not end the process by themselves any more.
///
/// # Errors
///
/// Where signals cannot be waited for.
pub(crate) async fn asked_to_end() -> io::Result<ExitCode> {
    let [interrupt, terminate, hangup] = ENDINGS;
    tokio::select! {
        code = one(interrupt) => code,
        code = one(terminate) => code,
        code = one(hangup) => code,
    }
}

async fn one((kind, number): (SignalKind, u8)) -> io::Result<ExitCode> {
    let mut signal = signal(kind)?;
    signal.recv().await;
    Ok(ExitCode::from(BY_SIGNAL + number))
}
