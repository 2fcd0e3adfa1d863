//! A server that is a program: starting it, what it says on standard error, and how it ends.

use std::{os::unix::process::ExitStatusExt as _, process::ExitStatus, sync::OnceLock, time::Duration};

use goose_extension::{ToolError, ToolResult};
use goose_process::{Process, ProcessSpec, Stream, Tail};
use tokio::{
    process::{ChildStdin, ChildStdout},
    sync::Mutex,
    time::timeout,
};

use super::{
    errors::{GreetingError, unreachable_server},
    options::ConnectOptions,
};

/// Time that a server has to end after its input was closed.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// Time to wait for the reason why a server ended.
const LOOK_TIME: Duration = Duration::from_millis(500);

/// Lines and bytes of a server's standard error that an error shows.
const SHOWN_LINES: usize = 10;
const SHOWN_BYTES: usize = 2048;

/// A running program. When this is dropped, it and whatever it started are killed.
pub(super) struct Program {
    /// The program's name, for errors before the extension has one.
    command: String,
    /// `None` when it was stopped. Held while it is stopped, until nothing is left.
    process: Mutex<Option<Process>>,
    stderr: Tail,
    reason: OnceLock<ExitReason>,
}

/// Why a program is not there any more.
#[derive(Clone, Copy)]
enum ExitReason {
    Stopped,
    Ended(ExitStatus),
}

/// A program that was started, and its ends of the pipes.
pub(super) struct Started {
    pub(super) program: Program,
    pub(super) input: ChildStdin,
    pub(super) output: ChildStdout,
}

impl Program {
    pub(super) fn start(spec: &mut ProcessSpec) -> ToolResult<Started> {
        let name = spec.program.to_string_lossy().into_owned();
        spec.stdin(Stream::Piped).stdout(Stream::Piped).stderr(Stream::Piped);
        let mut process = goose_process::spawn(spec).map_err(|error| unreachable_server(&name, &error))?;
        let streams = (process.take_stdin(), process.take_stdout(), process.take_stderr());
        let (Some(input), Some(output), Some(stderr)) = streams else {
            return Err(unreachable_server(&name, &"its streams are not ours"));
        };
        let program = Self {
            command: name,
            process: Mutex::new(Some(process)),
            stderr: Tail::follow(stderr),
            reason: OnceLock::new(),
        };
        Ok(Started { program, input, output })
    }

    /// The last output on standard error.
    pub(super) fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// It is about to be stopped: if it ends from now on, that is why.
    pub(super) fn is_stopping(&self) {
        let ended =
            self.process.try_lock().ok().and_then(|mut place| place.as_mut()?.try_wait().ok().flatten());
        // It may be known already.
        let _ = self.reason.set(ended.map_or(ExitReason::Stopped, ExitReason::Ended));
    }

    /// Ends it and whatever it started; its input should be closed by now. When this returns, nothing is left, also
    /// if it is stopped twice.
    pub(super) async fn stop(&self) {
        self.is_stopping();
        let mut place = self.process.lock().await;
        let Some(process) = place.take() else { return };
        if let Err(error) = process.stop(GRACE).await {
            tracing::warn!(%error, program = self.command, "a server could not be ended");
        }
    }

    /// Kills it and whatever it started, now, unless it is being stopped already.
    pub(super) fn kill(&self) {
        if let Ok(mut place) = self.process.try_lock() {
            drop(place.take());
        }
    }

    /// A lost connection, with what the program had to say about it.
    pub(super) async fn explain(&self, name: &str, error: ToolError) -> ToolError {
        let ToolError::Disconnected(text) = error else { return error };
        match self.find_exit_reason().await {
            Some(reason) => {
                let text =
                    format!("The server `{name}` is gone: {reason}. Try again later, or do without it.");
                ToolError::Disconnected(text + &self.last_words(Some(reason)))
            }
            None => ToolError::Disconnected(text + &self.last_words(None)),
        }
    }

    pub(super) async fn explain_greeting(
        &self,
        failed: &GreetingError,
        options: &ConnectOptions,
    ) -> ToolError {
        let name = options.name.as_ref().unwrap_or(&self.command);
        // One that was late is ending now because we have hung up; that is not the reason.
        let reason = if failed.is_late { None } else { self.find_exit_reason().await };
        let error = match reason {
            Some(reason) => unreachable_server(name, &format_args!("{reason} before it had greeted")),
            None => unreachable_server(name, &failed.reason),
        };
        match error {
            ToolError::Disconnected(text) => ToolError::Disconnected(text + &self.last_words(reason)),
            other => other,
        }
    }

    /// Why it is gone, where that shows soon.
    async fn find_exit_reason(&self) -> Option<ExitReason> {
        if self.reason.get().is_none() {
            let looking = async {
                let status = self.process.lock().await.as_mut()?.wait().await.ok()?;
                self.reason.set(ExitReason::Ended(status)).ok()
            };
            // Where it shows later, it is not known yet.
            let _ = timeout(LOOK_TIME, looking).await;
        }
        let reason = self.reason.get().copied();
        if let Some(ExitReason::Ended(_)) = reason {
            // Its last words may still be on their way; a process that it started may hold the stream open.
            let _ = timeout(LOOK_TIME, self.stderr.ended()).await;
        }
        reason
    }

    /// The last output on standard error, fit to be shown; empty if we stopped it.
    fn last_words(&self, reason: Option<ExitReason>) -> String {
        let words = shown(&self.stderr.last_lines(SHOWN_LINES));
        if words.is_empty() || matches!(reason, Some(ExitReason::Stopped)) {
            return String::new();
        }
        format!(" It last said on standard error:\n{words}")
    }
}

impl std::fmt::Display for ExitReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stopped => write!(f, "it was stopped"),
            Self::Ended(status) => match (status.code(), status.signal()) {
                (Some(code), _) => write!(f, "it ended with exit code {code}"),
                (None, Some(signal)) => write!(f, "it was ended by signal {signal}"),
                (None, None) => write!(f, "it ended ({status})"),
            },
        }
    }
}

/// Lines, each indented, without anything that would act on a terminal, and not too many.
fn shown(text: &str) -> String {
    let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let text: Vec<String> = lines.map(|line| format!("  {}", escaped(line))).collect();
    let text = text.join("\n");
    match text.len().checked_sub(SHOWN_BYTES) {
        None | Some(0) => text,
        Some(excess) => format!("  …{}", &text[text.ceil_char_boundary(excess)..]),
    }
}

fn escaped(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    for letter in line.chars() {
        if letter.is_control() && letter != '\t' {
            text.extend(letter.escape_default());
        } else {
            text.push(letter);
        }
    }
    text
}
