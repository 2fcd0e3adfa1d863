//! Being asked to end: Ctrl-C, and what the system sends.

use std::{io, process::ExitCode};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What shells add to a signal's number in the exit code.
const BY_SIGNAL: u8 = 128;

/// A signal that asks to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Ctrl-C: end what is going on.
    Interrupt,
    /// End.
    Terminate,
    /// The terminal is gone.
    HangUp,
}

impl Asked {
    /// The exit code that tells of it.
    pub(crate) fn code(self) -> ExitCode {
        let number = match self {
            Self::HangUp => 1,
            Self::Interrupt => 2,
            Self::Terminate => 15,
        };
        ExitCode::from(BY_SIGNAL + number)
    }

    /// The exit code, where goose itself is asked to end and not only what it does.
    pub(crate) fn leaves(self) -> Option<ExitCode> {
        if self == Self::Interrupt { None } else { Some(self.code()) }
    }
}

/// The signals that ask to end. From its making on they do not end the process by themselves any more.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    /// Begins to listen.
    ///
    /// # Errors
    ///
    /// Where signals cannot be waited for.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one.
    ///
    /// # Errors
    ///
    /// Where signals cannot be waited for any more.
    pub(crate) async fn next(&mut self) -> io::Result<Asked> {
        let (received, asked) = tokio::select! {
            received = self.interrupt.recv() => (received, Asked::Interrupt),
            received = self.terminate.recv() => (received, Asked::Terminate),
            received = self.hang_up.recv() => (received, Asked::HangUp),
        };
        received.map(|()| asked).ok_or_else(|| io::Error::other("signals cannot be waited for"))
    }
}

impl Signals {
    /// Does some work, unless a signal comes first; the work is dropped then.
    ///
    /// # Errors
    ///
    /// Where signals cannot be waited for any more.
    pub(crate) async fn unless_asked<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> io::Result<Result<T, Asked>> {
        tokio::select! {
            done = work => Ok(Ok(done)),
            asked = self.next() => asked.map(Err),
        }
    }
}

/// Waits for a signal that asks to end, and returns the exit code that tells of it. From the first poll on, these
/// signals do not end the process by themselves any more.
///
/// # Errors
///
/// Where signals cannot be waited for.
pub(crate) async fn asked_to_end() -> io::Result<ExitCode> {
    Ok(Signals::listen()?.next().await?.code())
}
