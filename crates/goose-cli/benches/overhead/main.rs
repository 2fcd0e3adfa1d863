//! Measures the cost of goose itself when the model takes no time: `cargo bench -p goose-cli --bench overhead`, or
//! `just bench-overhead`. It prints each figure with its bar and exits with 1 where a bar is missed.
//!
//! A scripted model server on loopback answers at once: twenty times with a call of the shell tool (`echo hi 7`), then
//! with `done`. Each program gets a new home and a small folder to work in. Programs take turns, round by round,
//! because the machine's speed varies; medians are compared.
//!
//! - *first*: from just before the program is started until its first request is there, whole;
//! - *turn*: from an answer to the next request: reading the answer, running the shell, storing, asking again. The time
//!   in which the scripted server itself parses a request is not the program's;
//! - *whole*: from start to exit; *memory*: the largest sum over the program and its children (PSS), in rounds of their
//!   own; *body*: bytes of the first request;
//! - *flat*: the CPU time of turns around the 10th and around the 1,000th of one session, each less than what the floor
//!   takes for the same turns, as that is what sending and receiving the growing conversation costs anybody;
//! - *copies*: turns that change a file, in a session, which keeps a copy of it, and in `goose run`, which keeps none.
//!
//! The *floor* is this program, started again: reqwest, tokio and `sh -c`, and nothing else. Where npm can be reached,
//! the goose that people use today and codex are measured beside it (`--no-peers` leaves them out; they are installed
//! into `target/peers`). `--rounds N` takes fewer or more rounds.

#![expect(clippy::disallowed_methods, reason = "a benchmark prepares files and runs programs by itself")]

mod copies;
mod cpu;
mod flat;
mod floor;
mod memory;
mod peers;
mod program;
mod report;
mod rounds;
mod text_order;

use report::Report;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, url, ..] = arguments.as_slice()
        && flag == "--floor"
    {
        return floor::run(url);
    }
    if arguments.iter().any(|argument| argument == "--text-order") {
        return text_order::write(&program::goose());
    }
    let rounds = number_after(&arguments, "--rounds").unwrap_or(15);
    let mut report = Report::default();
    let mut programs = vec![program::floor()?, program::goose(), program::session()];
    if !arguments.iter().any(|argument| argument == "--no-peers") {
        programs.extend(peers::install());
    }
    rounds::measure(&programs, rounds, &mut report)?;
    flat::measure(&programs[..2], &mut report)?;
    copies::measure(rounds, &mut report)?;
    report.finish()
}

fn number_after(arguments: &[String], flag: &str) -> Option<usize> {
    let place = arguments.iter().position(|argument| argument == flag)?;
    arguments.get(place + 1)?.parse().ok()
}
