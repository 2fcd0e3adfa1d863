//! `shell`: runs a command.
//!
//! | file | what it is about |
//! | --- | --- |
//! | `program.rs` | which shell, which environment |
//! | `run.rs` | one command from start to end |
//! | `kept.rs` | the head and the tail of its output |
//! | `spill.rs` | the whole of a long output in a file |
//! | `clean.rs` | terminal output as plain text |
//! | `live.rs` | the output as it comes |
//! | `outcome.rs` | what the model reads |
//!
//! What a command leaves running in the background lives on until goose ends.

mod clean;
mod kept;
mod live;
mod outcome;
mod program;
mod run;
mod spill;

use std::time::Duration;

use goose_extension::prelude::*;

use self::{program::Program, run::Run, spill::Scratch};
use super::Developer;
use crate::Settings;

/// How long a command may take unless told otherwise, and at most.
const DEFAULT_SECONDS: u64 = 300;
const MAX_SECONDS: u64 = 24 * 60 * 60;

/// How long a command may be. The system has a limit of 128 KiB for one argument.
const MAX_COMMAND_BYTES: usize = 120 * 1024;

/// What runs commands.
pub(super) struct Shell {
    program: Program,
    scratch: Option<Scratch>,
}

impl Shell {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            program: Program::new(&settings.environment),
            scratch: settings.scratch_dir.clone().map(Scratch::new),
        }
    }
}

impl Developer {
    /// Run a shell command in the working folder, where each call starts anew (`cd` does not last). No stdin, no
    /// terminal. Long output is cut in the middle. Servers: `cmd >log 2>&1 &`.
    #[tool(group = "command", destructive, open_world)]
    pub(super) async fn shell(
        &self,
        command: &str,
        /// Default 300
        #[arg(min = 1, max = MAX_SECONDS)]
        timeout_secs: Option<u64>,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        check(command)?;
        let limit = Duration::from_secs(timeout_secs.unwrap_or(DEFAULT_SECONDS).clamp(1, MAX_SECONDS));
        let started = self.shell.program.start(command, context.working_dir())?;
        let run = Run::new(started, context, self.shell.scratch.as_ref())?;
        run.finish(limit).await?.into_result()
    }
}

fn check(command: &str) -> ToolResult<()> {
    let problem = if command.trim().is_empty() {
        "it is empty".to_owned()
    } else if command.contains('\0') {
        "it has a NUL character in it".to_owned()
    } else if command.len() > MAX_COMMAND_BYTES {
        format!("it is longer than {MAX_COMMAND_BYTES} bytes; write a script to a file and run that")
    } else {
        return Ok(());
    };
    Err(ToolError::ExecutionError(format!("The command cannot be run: {problem}.")))
}
