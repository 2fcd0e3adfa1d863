//! Trains the router: `cargo run --release -p goose-router --example train_router` reads `training.tsv` and replaces
//! `weights.bin` beside it. The same examples give the same file, byte for byte: with `--check`, nothing is written,
//! and the program fails if the file is another one.
//!
//! `training.tsv` has a request in each line: the mode it is for, a tab, the text, with `\n` for the end of a line.

#![expect(clippy::print_stdout, reason = "a program says what it did")]

mod regression;

/// The parts of the router that learn.
#[expect(dead_code, reason = "the router uses the rest")]
#[path = "../../src"]
mod router {
    pub(crate) mod classifier;
    pub(crate) mod features;
    pub(crate) mod lexicon;
    pub(crate) mod table;
    pub(crate) mod words;
}
use router::{classifier, features, lexicon, table, words};

use std::{fs, path::Path};

use anyhow::{Context as _, ensure};
use goose_fs::AtomicFile;

use crate::{
    classifier::LABELS,
    regression::{Example, train},
};

fn main() -> anyhow::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let text = fs::read_to_string(folder.join("training.tsv")).context("cannot read training.tsv")?;
    let examples: Vec<Example> = text
        .lines()
        .map(|line| example(line).with_context(|| format!("cannot read '{line}'")))
        .collect::<anyhow::Result<_>>()?;
    let weights = train(&examples);
    println!("{} requests, {} bytes of weights", examples.len(), weights.len());
    let path = folder.join("weights.bin");
    if std::env::args().any(|argument| argument == "--check") {
        let present = fs::read(&path).context("cannot read weights.bin")?;
        ensure!(
            present == weights,
            "weights.bin is not what the examples give: run train_router without --check"
        );
        return Ok(());
    }
    AtomicFile::new(&path).shared().write(&weights).context("cannot write weights.bin")
}

fn example(line: &str) -> anyhow::Result<Example> {
    let (name, text) = line.split_once('\t').context("no tab")?;
    let label = LABELS.iter().position(|(agent, mode)| name.split_once('/') == Some((agent, mode)));
    ensure!(!text.trim().is_empty(), "no text");
    let words = words::words(&text.replace("\\n", "\n"));
    Ok(Example::new(label.context("no such mode")?, features::features(&words)))
}
