//! A server that is a program: start, standard error output, and end.

use std::{os::unix::process::ExitStatusExt as _, process::ExitStatus, sync::OnceLock, time::Duration};

use goose_extension::{ToolError, ToolResult};
use goose_process::{Process, ProcessSpec, Stream, Tail};
use tokio::{
    process::{ChildStdin, ChildStdout},
    sync::Mutex,
    time::timeout,
};

use super::{
    errors::{HandshakeError, unreachable_server},
    options::ConnectOptions,
};

/// Time limit for a server to exit after its input was closed.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// Time limit for finding out why a server ended.
const EXIT_REASON_TIME: Duration = Duration::from_millis(500);

/// Lines and bytes of standard error output that an error shows.
const MAX_STDERR_LINES: usize = 10;
const MAX_STDERR_BYTES: usize = 2048;

/// A running program. Dropping it kills the program and its children.
pub(super) struct Program {
    /// Name of the program, for errors before the extension has a name.
    command: String,
    /// `None` after the stop. The lock is held during the stop, so that a second one waits for the first.
    process: Mutex<Option<Process>>,
    stderr: Tail,
    reason: OnceLock<ExitReason>,
}

/// Reason why a program has ended.
#[derive(Clone, Copy)]
enum ExitReason {
    Stopped,
    Ended(ExitStatus),
}

/// A program that was started, with our ends of its pipes.
pub(super) struct StartedProgram {
    pub(super) program: Program,
    pub(super) input: ChildStdin,
    pub(super) output: ChildStdout,
}

impl Program {
    pub(super) fn start(spec: &mut ProcessSpec) -> ToolResult<StartedProgram> {
        let name = spec.program.to_string_lossy().into_owned();
        spec.stdin(Stream::Piped).stdout(Stream::Piped).stderr(Stream::Piped);
        let mut process = goose_process::spawn(spec).map_err(|error| unreachable_server(&name, &error))?;
        let streams = (process.take_stdin(), process.take_stdout(), process.take_stderr());
        let (Some(input), Some(output), Some(stderr)) = streams else {
            return Err(unreachable_server(&name, &"its pipes are missing"));
        };
        let program = Self {
            command: name,
            process: Mutex::new(Some(process)),
            stderr: Tail::follow(stderr),
            reason: OnceLock::new(),
        };
        Ok(StartedProgram { program, input, output })
    }

    /// Returns the last output on standard error.
    pub(super) fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Records that the program is being stopped, so that its end is not reported as a crash.
    pub(super) fn mark_stopping(&self) {
        let ended =
            self.process.try_lock().ok().and_then(|mut place| place.as_mut()?.try_wait().ok().flatten());
        // An earlier reason is kept.
        let _ = self.reason.set(ended.map_or(ExitReason::Stopped, ExitReason::Ended));
    }

    /// Ends the program and its children; its input should be closed by now. No process is left when this
    /// returns, even from a second call.
    pub(super) async fn stop(&self) {
        self.mark_stopping();
        let mut place = self.process.lock().await;
        let Some(process) = place.take() else { return };
        if let Err(error) = process.stop(GRACE).await {
            tracing::warn!(%error, program = self.command, "a server could not be ended");
        }
    }

    /// Kills the program and its children now, unless it is being stopped.
    pub(super) fn kill(&self) {
        if let Ok(mut place) = self.process.try_lock() {
            drop(place.take());
        }
    }

    /// Adds the exit reason and the last output to a lost connection.
    pub(super) async fn explain(&self, name: &str, error: ToolError) -> ToolError {
        let ToolError::Disconnected(text) = error else { return error };
        match self.find_exit_reason().await {
            Some(reason) => {
                let text =
                    format!("The server `{name}` is gone: {reason}. Try again later, or do without it.");
                ToolError::Disconnected(text + &self.stderr_excerpt(Some(reason)))
            }
            None => ToolError::Disconnected(text + &self.stderr_excerpt(None)),
        }
    }

    pub(super) async fn explain_handshake(
        &self,
        failed: &HandshakeError,
        options: &ConnectOptions,
    ) -> ToolError {
        let name = options.name.as_ref().unwrap_or(&self.command);
        // After a timeout the program may exit because we closed its input; that is not the reason.
        let reason = if failed.is_late { None } else { self.find_exit_reason().await };
        let error = match reason {
            Some(reason) => unreachable_server(name, &format_args!("{reason} before the handshake")),
            None => unreachable_server(name, &failed.reason),
        };
        match error {
            ToolError::Disconnected(text) => ToolError::Disconnected(text + &self.stderr_excerpt(reason)),
            other => other,
        }
    }

    /// Returns why the program has ended, if that is known soon.
    async fn find_exit_reason(&self) -> Option<ExitReason> {
        if self.reason.get().is_none() {
            let wait_for_exit = async {
                let status = self.process.lock().await.as_mut()?.wait().await.ok()?;
                self.reason.set(ExitReason::Ended(status)).ok()
            };
            // A timeout leaves the reason unknown.
            let _ = timeout(EXIT_REASON_TIME, wait_for_exit).await;
        }
        let reason = self.reason.get().copied();
        if let Some(ExitReason::Ended(_)) = reason {
            // Wait for its last output, but not for long: a child of it may keep the stream open.
            let _ = timeout(EXIT_REASON_TIME, self.stderr.ended()).await;
        }
        reason
    }

    /// Returns the last output on standard error for an error message; empty if we stopped the program.
    fn stderr_excerpt(&self, reason: Option<ExitReason>) -> String {
        let words = shown(&self.stderr.last_lines(MAX_STDERR_LINES));
        if words.is_empty() || matches!(reason, Some(ExitReason::Stopped)) {
            return String::new();
        }
        format!(" Last output on standard error:\n{words}")
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

/// Indents and escapes the lines, and keeps the last ones.
fn shown(text: &str) -> String {
    let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let text: Vec<String> = lines.map(|line| format!("  {}", escaped(line))).collect();
    let text = text.join("\n");
    match text.len().checked_sub(MAX_STDERR_BYTES) {
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
