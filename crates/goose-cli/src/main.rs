//! The `goose` command. `cli` parses the command line, `commands` implements it.
//!
//! - `args`: arguments that commands share; `suggest`: corrections of misspelled ones; `settings`: configuration for read-only commands; `selection`: the extensions
//!   that a command works on; `runtime`: running and ending them;
//! - `choice`: the model if none is configured; `local`: local models;
//! - `output`: standard output; `stderr`: standard error; `escape`: escaping of untrusted text; `wrap`: line breaks;
//! - `terminal_caller`: the caller at the terminal; `prompts`: questions of servers; `form`: their fields;
//! - `terminal`: display of replies and input of messages and answers; `signals`: Ctrl-C and other signals.

#![forbid(unsafe_code)]

mod args;
mod builtins;
mod choice;
mod cli;
mod commands;
mod escape;
mod form;
mod local;
mod output;
mod prompts;
mod runtime;
mod selection;
mod settings;
mod signals;
mod stderr;
mod suggest;
mod terminal;
mod terminal_caller;
mod wrap;

use std::{env, io, process::ExitCode};

use tracing_subscriber::EnvFilter;

/// Variable that enables logs on standard error and selects their levels.
const LOG_LEVELS: &str = "RUST_LOG";

fn main() -> ExitCode {
    start_logging();
    goose_process::protect_process();
    match cli::run_command(cli::parse()) {
        Ok(code) => code,
        // The reader of the output, such as `head`, has closed the pipe.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            stderr::error(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// Logs to standard error if `RUST_LOG` is set.
fn start_logging() {
    if env::var_os(LOG_LEVELS).is_some_and(|levels| !levels.is_empty()) {
        let filter = EnvFilter::from_env(LOG_LEVELS);
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).init();
    }
}
