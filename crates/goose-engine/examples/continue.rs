//! Continues a text greedily:
//!
//! ```text
//! cargo run -p goose-engine --release --example continue -- MODEL TOKENS TEXT
//! ```
//!
//! Instead of a number of tokens, `--tokens` prints the tokens of the text, and `--next` the likeliest
//! next tokens with the logarithms of their probabilities, to compare engines.

use std::io::Write;
use std::path::Path;

use goose_engine::{Model, ModelOptions, Sequence};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, count, text] = arguments.as_slice() else {
        return Err("usage: continue MODEL TOKENS|--tokens TEXT".into());
    };
    let model = Model::open(Path::new(model), &ModelOptions::default())?;
    let mut out = std::io::stdout().lock();
    let tokens = model.tokenizer().encode(text);
    if count == "--tokens" {
        return Ok(writeln!(out, "{tokens:?}")?);
    }
    if count == "--next" {
        let mut sequence = Sequence::new(model, tokens.len())?;
        for (token, logarithm) in likeliest(sequence.feed(&tokens, &|| false)?) {
            writeln!(out, "{token} {logarithm:.4}")?;
        }
        return Ok(());
    }
    let count: usize = count.parse()?;
    let mut sequence = Sequence::new(model.clone(), tokens.len() + count)?;
    let mut next = tokens;
    for _ in 0..count {
        let logits = sequence.feed(&next, &|| false)?;
        let best =
            logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(token, _)| token as u32);
        if model.tokenizer().end_of_turn().contains(&best) {
            break;
        }
        out.write_all(model.tokenizer().bytes(best))?;
        out.flush()?;
        next = vec![best];
    }
    Ok(writeln!(out)?)
}

/// Returns the twenty likeliest tokens.
fn likeliest(logits: &[f32]) -> Vec<(usize, f64)> {
    let top = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let total: f64 = logits.iter().map(|logit| f64::from(logit - top).exp()).sum();
    let mut all: Vec<(usize, f64)> =
        logits.iter().map(|logit| f64::from(logit - top) - total.ln()).enumerate().collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all.truncate(20);
    all
}
