//! Trains the router: `cargo run --release -p goose --example train_router` reads `training.tsv` and `splitting.tsv` of the router and
//! replaces `weights.bin` beside them. The same examples give the same file, byte for byte: with `--check`, nothing is written, and
//! the program fails if the file is another one.

#![expect(clippy::print_stdout, reason = "a program says what it did")]

mod column;
mod examples;
mod modes;
mod order;
mod splits;
mod trainer;

/// The parts of the router that learn.
#[expect(dead_code, reason = "the router uses the rest")]
#[path = "../../src/agents/router"]
mod router {
    pub(crate) mod abilities;
    pub(crate) mod classifier;
    pub(crate) mod cuts;
    pub(crate) mod decision;
    pub(crate) mod features;
    pub(crate) mod intent;
    pub(crate) mod lattice;
    pub(crate) mod lexicon;
    pub(crate) mod needs;
    pub(crate) mod pieces;
    pub(crate) mod splitter;
    pub(crate) mod table;
    pub(crate) mod task_view;
    pub(crate) mod words;
}

use std::{fs, path::Path};

use anyhow::{Context as _, ensure};
use goose::agents;
use goose_fs::AtomicFile;

fn main() -> anyhow::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/agents/router");
    let read =
        |name: &str| fs::read_to_string(folder.join(name)).with_context(|| format!("cannot read {name}"));
    let mut examples = examples::singles(&read("training.tsv")?)?;
    let singles = examples.len();
    examples.extend(examples::splits(&read("splitting.tsv")?)?);
    let weights = trainer::train(&examples);
    println!(
        "{singles} requests for one mode, {} others, {} bytes of weights",
        examples.len() - singles,
        weights.len()
    );
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
