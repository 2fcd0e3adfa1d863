//! `shell`: runs a command.
//!
//! | file | what it is about |
//! | --- | --- |
//! | `program.rs` | the shell and its environment |
//! | `run.rs` | one command from start to end, its output as it comes |
//! | `head_tail_buffer.rs` | the head and the tail of its output |
//! | `spill.rs` | the whole of a long output in a file |
//! | `clean.rs` | terminal output as plain text |
//! | `outcome.rs` | the result for the model |
//!
//! Background processes of a command live on until goose ends.

mod clean;
mod head_tail_buffer;
mod outcome;
mod program;
mod run;
mod spill;

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use goose_extension::{Backend, prelude::*};
use goose_fs::truncate_chars;
use parking_lot::Mutex;

use self::{program::Program, run::Run, spill::Scratch};
use super::Developer;
use crate::BuiltinOptions;

/// Default and longest time limit of a command.
const DEFAULT_SECONDS: u64 = 300;
const MAX_SECONDS: u64 = 24 * 60 * 60;

/// Maximum length of a command. The system has a limit of 128 KiB for one argument.
const MAX_COMMAND_BYTES: usize = 120 * 1024;

/// The status while a command runs.
const RUNNING: &str = "shell command running";

/// The part of a command that the extension's status shows.
const MAX_STATUS_CHARS: usize = 120;

/// Runs commands.
pub(crate) struct Shell {
    program: Program,
    scratch: Option<Scratch>,
    /// Names of variables that are set, but withheld from commands.
    withheld: Vec<String>,
    running: Arc<RunningCommands>,
}

/// The commands that run now, by the number of their call.
#[derive(Default)]
struct RunningCommands(Mutex<(u64, BTreeMap<u64, String>)>);

/// One of them, until it is dropped.
struct Registered {
    commands: Arc<RunningCommands>,
    number: u64,
}

impl RunningCommands {
    fn register(self: &Arc<Self>, command: &str) -> Registered {
        let mut commands = self.0.lock();
        commands.0 += 1;
        let number = commands.0;
        commands.1.insert(number, truncate_chars(command, MAX_STATUS_CHARS).into_owned());
        Registered { commands: Arc::clone(self), number }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.commands.0.lock().1.remove(&self.number);
    }
}

impl Shell {
    pub(crate) fn new(options: &BuiltinOptions) -> Self {
        Self {
            program: Program::new(&options.environment),
            scratch: options.scratch_dir.clone().map(Scratch::new),
            withheld: options.withheld.clone(),
            running: Arc::default(),
        }
    }

    /// The shell that runs commands.
    pub(super) fn path(&self) -> &Path {
        self.program.path()
    }

    /// Returns the description of the tool, which names the shell: scripts for bash fail in others.
    pub(super) fn describe(&self, tool: Tool) -> Tool {
        let description =
            tool.description().replacen("in the shell", &format!("in {}", self.program.name()), 1);
        tool.with_description(description)
    }

    /// Runs a command in the working folder of the call.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be started, and if it takes longer than the limit.
    pub(crate) async fn run(
        &self,
        backend: &dyn Backend,
        command: &str,
        limit: Duration,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        check(command)?;
        let started = self.program.start(backend, command, context.working_dir())?;
        let _registered = self.running.register(command);
        context.log(RichRenderable::Code { language: "sh".to_owned(), text: command.to_owned() });
        context.status(RUNNING);
        let run = Run::new(started, context, self.scratch.as_ref());
        let outcome = run.finish(limit).await?.with_withheld(command, &self.withheld);
        outcome.into_result(command, context.working_dir())
    }

    /// The commands that run now, oldest first.
    pub(super) fn running(&self) -> Vec<String> {
        self.running.0.lock().1.values().cloned().collect()
    }
}

impl Developer {
    /// Run a command in the shell. Each starts in the working folder (`cd` does not last), without stdin or terminal. Servers:
    /// `cmd >log 2>&1 &`. Returns its output, cut in the middle if long. Fails if the exit code is not 0, and at the timeout.
    #[tool(group = "command", destructive, open_world)]
    pub(super) async fn shell(
        &self,
        /// Script for the shell
        command: &str,
        /// Seconds, default 300
        #[arg(min = 1, max = MAX_SECONDS)]
        timeout_secs: Option<u64>,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        let limit = Duration::from_secs(timeout_secs.unwrap_or(DEFAULT_SECONDS).clamp(1, MAX_SECONDS));
        self.shell.run(&*self.backend(context), command, limit, context).await
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
