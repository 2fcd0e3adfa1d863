//! Trains the router's classifier: `cargo run --release -p goose --example train_router` reads `training.tsv` of the router and
//! replaces `weights.bin` beside it. The same examples give the same file.

#![expect(clippy::print_stdout, reason = "a program says what it did")]

mod training;

/// The parts of the router that the classifier is made of.
#[expect(dead_code, reason = "the router uses the rest")]
#[path = "../../src/agents/router"]
mod router {
    pub(crate) mod classifier;
    pub(crate) mod features;
    pub(crate) mod lexicon;
    pub(crate) mod words;
}

use std::{fs, path::Path};

use anyhow::Context as _;
use goose_fs::AtomicFile;
use training::{Options, examples, train};

fn main() -> anyhow::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/agents/router");
    let text = fs::read_to_string(folder.join("training.tsv")).context("cannot read training.tsv")?;
    let examples = examples(&text)?;
    let weights = train(&examples, &Options::default());
    AtomicFile::new(&folder.join("weights.bin"))
        .shared()
        .write(&weights)
        .context("cannot write weights.bin")?;
    println!("{} examples, {} bytes of weights", examples.len(), weights.len());
    Ok(())
}
