//! The scripted model server as a program, to try goose by hand: `scripted_model SCRIPT.json`.
//!
//! The script is a list of turns, each `{"text": "…"}`, `{"thinking": "…"}`,
//! `{"calls": [{"name": …, "arguments": {…}}]}` (these three also together) or `{"status": 429, "message": "…"}`;
//! `"after_ms"` delays a turn. After the last one it begins again. The address is the first line of the output; the
//! program ends when its standard input does.

use std::{io::Read as _, time::Duration};

use anyhow::Context as _;
use goose_test_support::{ModelServer, Turn};
use serde_json::Value;

fn main() -> anyhow::Result<()> {
    let path = std::env::args().nth(1).context("usage: scripted_model SCRIPT.json")?;
    let script: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    let turns: Vec<Turn> = script.iter().map(turn).collect();
    let mut next = turns.into_iter().cycle();
    let server = ModelServer::answering(move |_| next.next().unwrap_or_else(Turn::empty))?;
    announce(&server.url());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the address is this program's output")]
fn announce(url: &str) {
    println!("{url}");
}

fn turn(said: &Value) -> Turn {
    if let Some(status) = said["status"].as_u64() {
        let status = u16::try_from(status).unwrap_or(500);
        return Turn::status(status, said["message"].as_str().unwrap_or_default());
    }
    let mut turn = match said["thinking"].as_str() {
        Some(thought) => Turn::thinking(thought),
        None => Turn::empty(),
    };
    if let Some(text) = said["text"].as_str() {
        turn = text.split_inclusive(' ').fold(turn, Turn::and_text);
    }
    for call in said["calls"].as_array().map(Vec::as_slice).unwrap_or_default() {
        turn = turn.and_call(call["name"].as_str().unwrap_or_default(), call["arguments"].clone());
    }
    turn.after(Duration::from_millis(said["after_ms"].as_u64().unwrap_or_default()))
}
