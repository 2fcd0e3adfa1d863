//! The program that an agent is: starting it, ending it, and how it ended.

use std::{os::unix::process::ExitStatusExt as _, process::ExitStatus, time::Duration};

use goose::agent_manager::acp_mcp_adapter::{AgentError, ConnectRequest};
use goose_extension::visible;
use goose_process::{Process, ProcessSpec, Stream, Tail};
use tokio::{
    process::{ChildStdin, ChildStdout},
    sync::Mutex,
    time::timeout,
};

/// The time that a program has to end after its input was closed.
const GRACE: Duration = Duration::from_secs(1);

/// The time to wait for the reason why a program ended.
const LOOK_TIME: Duration = Duration::from_millis(500);

/// The lines and bytes of a program's standard error that an error shows.
const SHOWN_LINES: usize = 10;
const SHOWN_BYTES: usize = 2048;

/// A running program. When this is dropped, it and whatever it started are killed.
pub(super) struct Program {
    process: Mutex<Option<Process>>,
    stderr: Tail,
}

impl Program {
    /// Starts the program of an agent.
    pub(super) fn start(request: &ConnectRequest) -> Result<(Self, ChildStdin, ChildStdout), AgentError> {
        let command = request.connection.command.as_deref().unwrap_or_default();
        let mut spec = ProcessSpec::new(command);
        spec.args(&request.connection.args)
            .env_clear()
            .envs(request.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(request.working_dir.join(request.connection.cwd.clone().unwrap_or_default()))
            .without_terminal()
            .stdin(Stream::Piped)
            .stdout(Stream::Piped)
            .stderr(Stream::Piped);
        let unusable = |why: &dyn std::fmt::Display| {
            AgentError::Broken(format!("The agent `{}` cannot be started: `{command}`: {why}.", request.name))
        };
        let mut process = goose_process::spawn(&spec).map_err(|error| unusable(&error))?;
        let streams = (process.take_stdin(), process.take_stdout(), process.take_stderr());
        let (Some(input), Some(output), Some(stderr)) = streams else {
            return Err(unusable(&"its streams are not ours"));
        };
        let program = Self { process: Mutex::new(Some(process)), stderr: Tail::follow(stderr) };
        Ok((program, input, output))
    }

    /// Ends it and whatever it started. It may end by itself first, if it is `gently`.
    pub(super) async fn stop(&self, gently: bool) {
        let Some(process) = self.process.lock().await.take() else { return };
        let grace = if gently { GRACE } else { Duration::ZERO };
        if let Err(error) = process.stop(grace).await {
            tracing::warn!(%error, "an agent could not be ended");
        }
    }

    /// The way it ended, if that shows soon, and its last words.
    pub(super) async fn last_words(&self) -> String {
        let ended = async { self.process.lock().await.as_mut()?.wait().await.ok() };
        let ended = timeout(LOOK_TIME, ended).await.ok().flatten();
        if ended.is_some() {
            // Its last words may still be on their way; a process that it started may hold the stream open.
            let _ = timeout(LOOK_TIME, self.stderr.ended()).await;
        }
        let status = ended.map(|status| format!(" It ended {}.", how(status))).unwrap_or_default();
        let lines = self.stderr.last_lines(SHOWN_LINES);
        let words = lines.trim();
        let words = &words[words.ceil_char_boundary(words.len().saturating_sub(SHOWN_BYTES))..];
        match words.is_empty() {
            true => status,
            false => format!("{status} It last said on standard error:\n{}\n", visible(words)),
        }
    }
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("with exit code {code}"),
        (None, Some(signal)) => format!("by signal {signal}"),
        (None, None) => format!("({status})"),
    }
}
