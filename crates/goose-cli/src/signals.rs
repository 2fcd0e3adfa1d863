//! Signals that ask the process to end: Ctrl-C, terminate and hang-up.

use std::{io, process::ExitCode};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Offset of a signal's number in the exit code, as in shells.
const BY_SIGNAL: u8 = 128;

/// A signal that asks to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitSignal {
    /// Ctrl-C: cancels the current work.
    Interrupt,
    /// Ends the process.
    Terminate,
    /// The terminal was closed.
    HangUp,
}

impl ExitSignal {
    /// Returns the exit code for this signal.
    pub(crate) fn code(self) -> ExitCode {
        let number = match self {
            Self::HangUp => 1,
            Self::Interrupt => 2,
            Self::Terminate => 15,
        };
        ExitCode::from(BY_SIGNAL + number)
    }

    /// Returns the exit code if goose must quit, and `None` if only the current work is cancelled.
    pub(crate) fn leaves(self) -> Option<ExitCode> {
        if self == Self::Interrupt { None } else { Some(self.code()) }
    }
}

/// A listener for these signals. Once it exists, they no longer end the process by themselves.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    /// Starts to listen.
    ///
    /// # Errors
    ///
    /// Fails if the handlers cannot be installed.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal.
    ///
    /// # Errors
    ///
    /// Fails if signals can no longer be received.
    pub(crate) async fn next(&mut self) -> io::Result<ExitSignal> {
        let (received, asked) = tokio::select! {
            received = self.interrupt.recv() => (received, ExitSignal::Interrupt),
            received = self.terminate.recv() => (received, ExitSignal::Terminate),
            received = self.hang_up.recv() => (received, ExitSignal::HangUp),
        };
        received.map(|()| asked).ok_or_else(|| io::Error::other("signals can no longer be received"))
    }

    /// Runs work until it ends or a signal arrives, which drops it.
    ///
    /// # Errors
    ///
    /// Fails if signals can no longer be received.
    pub(crate) async fn unless_signalled<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> io::Result<Result<T, ExitSignal>> {
        tokio::select! {
            done = work => Ok(Ok(done)),
            asked = self.next() => asked.map(Err),
        }
    }
}

/// Waits for a signal and returns its exit code. From the first poll on, these signals no longer end the process by
/// themselves.
///
/// # Errors
///
/// Fails if signals cannot be received.
pub(crate) async fn wait_for_exit_signal() -> io::Result<ExitCode> {
    Ok(Signals::listen()?.next().await?.code())
}
