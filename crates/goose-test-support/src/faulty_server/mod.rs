//! A server that is faulty on purpose, written against the bare wire so that it can do what no library would let it.
//!
//! Without flags it is a plain server of MCP 2025-11-25 on stdio, with `--wire 2026-07-28` one of that version, with
//! `--http` either of them over streamable HTTP. Each flag adds one fault; they can be combined.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `options` | what can be asked for, and how |
//! | `start` | faults before the first message, and ends |
//! | `stdio`, `http` | the two ways to reach it; each gives the server an `Outlet` for its messages |
//! | `server`, `questions` | requests and what they share |
//! | `listing` | the list of tools |
//! | `call` | calls |
//! | `message` | messages as they are written; long ones are never held in memory |

mod call;
mod http;
mod listing;
mod message;
mod options;
mod questions;
mod server;
mod start;
mod stdio;

use std::{io::Write as _, sync::Arc};

use server::Server;

/// Runs the program with its arguments, until its input ends.
///
/// # Errors
///
/// A flag is unknown or its value is invalid, or a file or socket cannot be used.
pub fn run(arguments: Vec<String>) -> anyhow::Result<()> {
    if arguments.iter().any(|argument| argument == "--help") {
        return Ok(std::io::stdout().write_all(options::help().as_bytes())?);
    }
    let options = options::parse(&arguments)?;
    let grandchildren = start::begin(&options, &arguments)?;
    let serves_http = options.http.on;
    let server = Arc::new(Server::new(options, grandchildren));
    if serves_http { http::serve(server) } else { stdio::serve(&server) }
}
