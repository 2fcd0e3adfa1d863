//! The arguments of a call, as the command line gives them.

use std::{
    fs::File,
    io::{self, Read},
};

use anyhow::{Context as _, anyhow, ensure};
use goose_extension::{JsonObject, MAX_ARGUMENT_BYTES};
use serde_json::Value;

/// What every message about bad arguments ends with.
const ADVICE: &str = "Give a JSON object, such as --args '{\"name\": \"value\"}'.";

/// Reads arguments: JSON itself, `-` for standard input, `@FILE` for a file.
pub(super) fn read(given: &str) -> anyhow::Result<JsonObject> {
    match given.strip_prefix('@') {
        _ if given == "-" => parse(&text(io::stdin().lock(), "standard input")?, "standard input"),
        Some(path) => {
            let file = File::open(path)
                .with_context(|| format!("The arguments in {path} cannot be read (--args @{path})"))?;
            parse(&text(file, path)?, path)
        }
        None => parse(given, "--args"),
    }
}

fn text(from: impl Read, name: &str) -> anyhow::Result<String> {
    let most = MAX_ARGUMENT_BYTES as u64;
    let mut text = String::new();
    from.take(most + 1).read_to_string(&mut text).with_context(|| format!("{name} cannot be read"))?;
    ensure!(text.len() as u64 <= most, "The arguments in {name} are larger than {most} bytes. Give less.");
    Ok(text)
}

fn parse(json: &str, name: &str) -> anyhow::Result<JsonObject> {
    match serde_json::from_str(json) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(other) => Err(anyhow!("The arguments in {name} are {}, not an object. {ADVICE}", kind(&other))),
        Err(error) => Err(anyhow!("The arguments in {name} are not JSON: {error}. {ADVICE}")),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
