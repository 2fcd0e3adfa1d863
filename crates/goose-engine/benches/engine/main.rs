//! Speed and memory of the engine. With `--peer`, compared with llama.cpp.
//!
//! ```text
//! cargo bench -p goose-engine --bench engine -- \
//!     --model FILE [--peer] [--rounds 3] [--threads 2] [--instructions avx2]
//! ```
//!
//! Every round runs each engine once, in a separate process, one after the other: same file, same prompt
//! of about a thousand tokens, same number of threads. The engine of goose then gets a second question:
//! its state is cached, so the first token of that answer comes soon. The medians of the rounds are
//! compared with the limits below; a missed limit gives exit code 1.

#![expect(clippy::disallowed_methods, reason = "a benchmark prepares files and runs programs by itself")]

mod peer;
mod run;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use run::Figures;

/// Minimum speed of reading the prompt, relative to the peer.
const PROMPT_BAR: f64 = 1.1;
/// Minimum speed of writing the answer, relative to the peer.
const DECODE_BAR: f64 = 1.0;
/// Maximum peak of resident memory, relative to the peer.
const MEMORY_BAR: f64 = 0.9;
/// Maximum peak of resident memory, in bytes.
const MEMORY_LIMIT: f64 = 1.5e9;
/// Maximum time to the first token of a second turn, relative to the first turn.
const SECOND_TURN_BAR: f64 = 0.1;

pub(crate) type Failure = Box<dyn std::error::Error>;

/// Command-line options.
pub(crate) struct Options {
    pub(crate) model: PathBuf,
    pub(crate) threads: usize,
    pub(crate) instructions: Option<String>,
    rounds: usize,
    with_peer: bool,
    is_child: bool,
}

impl Options {
    fn read() -> Result<Self, Failure> {
        let mut options = Self {
            model: PathBuf::new(),
            threads: 2,
            instructions: None,
            rounds: 3,
            with_peer: false,
            is_child: false,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--model" => options.model = value()?.into(),
                "--rounds" => options.rounds = value()?.parse()?,
                "--threads" => options.threads = value()?.parse()?,
                "--instructions" => options.instructions = Some(value()?),
                "--peer" => options.with_peer = true,
                "--child" => options.is_child = true,
                "--bench" => {}
                other => return Err(format!("unknown argument {other}").into()),
            }
        }
        Ok(options)
    }
}

fn main() -> Result<ExitCode, Failure> {
    let options = Options::read()?;
    let mut out = std::io::stdout();
    if options.model.as_os_str().is_empty() {
        writeln!(out, "no --model FILE was given: nothing to measure")?;
        return Ok(ExitCode::SUCCESS);
    }
    if options.is_child {
        let figures = run::measure(&options)?;
        writeln!(out, "{}", figures.to_line())?;
        return Ok(ExitCode::SUCCESS);
    }
    let python = if options.with_peer { Some(peer::install()?) } else { None };
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 1..=options.rounds {
        ours.push(run::in_child(&options)?);
        writeln!(out, "round {round}: goose     {}", ours[ours.len() - 1])?;
        if let Some(python) = &python {
            theirs.push(peer::run(python, &options)?);
            writeln!(out, "round {round}: llama.cpp {}", theirs[theirs.len() - 1])?;
        }
    }
    let ours = Figures::median(&ours);
    writeln!(out, "median:  goose     {ours}")?;
    let mut held =
        bar(&mut out, "peak memory in GB, below", ours.peak_bytes / 1e9, MEMORY_LIMIT / 1e9, Side::Below)?;
    if let Some(second) = ours.second {
        held &= bar(&mut out, "second turn, at most", second, SECOND_TURN_BAR, Side::Below)?;
    }
    if !theirs.is_empty() {
        let theirs = Figures::median(&theirs);
        writeln!(out, "median:  llama.cpp {theirs}")?;
        held &= bar(&mut out, "prompt, at least", ours.prompt / theirs.prompt, PROMPT_BAR, Side::Above)?;
        held &= bar(&mut out, "decode, at least", ours.decode / theirs.decode, DECODE_BAR, Side::Above)?;
        held &=
            bar(&mut out, "memory, at most", ours.peak_bytes / theirs.peak_bytes, MEMORY_BAR, Side::Below)?;
    }
    Ok(if held { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

enum Side {
    Above,
    Below,
}

fn bar(out: &mut impl Write, what: &str, got: f64, wanted: f64, side: Side) -> Result<bool, Failure> {
    let held = match side {
        Side::Above => got >= wanted,
        Side::Below => got <= wanted,
    };
    writeln!(out, "{} {what} {wanted:.2}: {got:.2}", if held { "held  " } else { "MISSED" })?;
    Ok(held)
}
