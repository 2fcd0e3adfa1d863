//! The `goose` command. `cli` parses the command line, `commands` implements it.
//!
//! - `args`: arguments that commands share; `suggest`: corrections of misspelled ones; `settings`: configuration for
//!   read-only commands; `selection`: the extensions that a command works on; `runtime`: running and ending them;
//! - `choice`: the model if none is configured; `local`: local models;
//! - `log_file`: log files in the state folder;
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
mod log_file;
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

use tracing_subscriber::{
    EnvFilter, Layer as _,
    filter::{LevelFilter, Targets},
    fmt::layer,
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

use self::log_file::{LogEnd, LogFile};

/// Variable that enables logs on standard error and selects their levels.
const LOG_LEVELS: &str = "RUST_LOG";

fn main() -> ExitCode {
    let _log = start_logging();
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

/// Logs goose's own reports to a file, and to standard error what `RUST_LOG` selects.
fn start_logging() -> LogEnd {
    let is_shown = env::var_os(LOG_LEVELS).is_some_and(|levels| !levels.is_empty());
    // Each start has some reports for debugging; to format them would slow it down.
    let level = if is_shown { LevelFilter::DEBUG } else { LevelFilter::INFO };
    let own = Targets::new().with_target("goose", level);
    let file = layer().with_ansi(false).with_writer(LogFile).with_filter(own);
    let shown =
        is_shown.then(|| layer().with_writer(io::stderr).with_filter(EnvFilter::from_env(LOG_LEVELS)));
    tracing_subscriber::registry().with(file).with(shown).init();
    LogEnd
}
