//! The `goose` command. What it takes is in `cli`, what it does in `commands`.
//!
//! - `choice`: which model works where nobody has chosen one; `local`: the model inside goose;
//! - `settings`: what is configured, for commands that only look; `selection`: which extensions a command is about; `supervise`: running them, and ending them whatever happens;
//! - `output`: everything that goes to standard output; `aside`: what a person sees meanwhile; `visible`: making
//!   text of others harmless; `wrap`: lines that fit;
//! - `person`: who called, at the terminal; `dialogue`: questions of servers, put to them; `form`: the fields of these;
//!   `login`: logging in to servers;
//! - `terminal`: conversations as a person sees them, and how they answer.

#![forbid(unsafe_code)]

mod args;
mod aside;
mod choice;
mod cli;
mod commands;
mod dialogue;
mod form;
mod local;
mod logging;
mod login;
mod output;
mod person;
mod selection;
mod settings;
mod signals;
mod supervise;
mod terminal;
mod visible;
mod wrap;

use std::{io, process::ExitCode};

use clap::Parser as _;

fn main() -> ExitCode {
    logging::start();
    match cli::run_command(cli::Cli::parse()) {
        Ok(code) => code,
        // Whoever read the output has seen enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            aside::error(&format!("{error:#}"));
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
