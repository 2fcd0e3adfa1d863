//! Goes on with a text, greedily: `cargo run -p goose-local --release --example continue -- MODEL TOKENS TEXT…`
//!
//! With `--tokens` in place of the number, it shows the tokens of the text.

use std::io::Write;
use std::path::Path;

use goose_local::{Model, ModelOptions, Sequence};

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
