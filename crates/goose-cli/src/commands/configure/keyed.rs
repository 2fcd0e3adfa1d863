//! `goose configure set`, `get` and `unset`: one key at a time.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use goose::config::{ConfigEditor, Moderator, Origin, Secret, Settings, looks_secret, written_value};
use serde_json::Value;

use super::{keys, modes};
use crate::{aside, output::Output};

/// The keys that are read as whole numbers, and as numbers.
const WHOLE_NUMBERS: [&str; 5] = [
    "GOOSE_MAX_TURNS",
    "GOOSE_MAX_TOKENS",
    "GOOSE_CONTEXT_LIMIT",
    "GOOSE_MAX_TOOL_REPETITIONS",
    "GOOSE_SUBAGENT_MAX_TURNS",
];
const NUMBERS: [&str; 2] = ["GOOSE_TEMPERATURE", "GOOSE_AUTO_COMPACT_THRESHOLD"];

/// The keys that are mappings.
const MAPPINGS: [&str; 2] = ["extensions", "profiles"];

/// Sets a key. What is a secret by its name goes where secrets are.
pub(super) fn set(
    editor: &ConfigEditor,
    settings: &Settings,
    key: &str,
    text: &str,
) -> anyhow::Result<ExitCode> {
    if looks_secret(key) {
        let place = keys::keep(settings, key, &Secret::new(text), None)?;
        return say(&format!("{key} is kept in {place}."));
    }
    let value = fitting(key, text)?;
    let changed = editor.set(key, &value)?;
    let what = if changed { "is set" } else { "was that already" };
    warn_of_stronger(settings, key);
    say(&format!("{key} {what} in {}.", editor.path().display()))
}

/// The value as the key's readers want it.
fn fitting(key: &str, text: &str) -> anyhow::Result<Value> {
    if key.trim().is_empty() || key.contains(char::is_control) {
        bail!("'{}' is no key. Give a name, such as GOOSE_MODEL.", key.escape_debug());
    }
    if WHOLE_NUMBERS.contains(&key) {
        let number = text.trim().parse::<u64>().ok();
        let number = number.with_context(|| format!("{key} is a whole number, 0 or more; '{text}' is not."));
        return number.map(Value::from);
    }
    if NUMBERS.contains(&key) {
        let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        let number = number.with_context(|| format!("{key} is a number; '{text}' is not."))?;
        return Ok(text.trim().parse::<u64>().map_or(Value::from(number), Value::from));
    }
    let value = written_value(text);
    if MAPPINGS.contains(&key) && !value.is_object() {
        bail!(
            "{key} is a mapping; '{text}' is not. Change one entry with the other flags, or edit config.yaml."
        );
    }
    match key {
        "GOOSE_MODE" => Ok(Value::String(modes::known(text)?.to_owned())),
        "GOOSE_MODERATOR" if serde_json::from_value::<Moderator>(value.clone()).is_err() => {
            bail!("GOOSE_MODERATOR is one of passive, truncate, summarize; '{text}' is not.")
        }
        _ => Ok(value),
    }
}

/// Shows the value that counts.
pub(super) fn get(settings: &Settings, key: &str) -> anyhow::Result<ExitCode> {
    if looks_secret(key) {
        let is_set = goose::config::Secrets::get(&*settings.secrets(), key)?.is_some();
        return if is_set { say("(hidden)") } else { not_set(key) };
    }
    match settings.get::<Value>(key)? {
        Some(Value::String(text)) => say(&text),
        Some(other) => say(&other.to_string()),
        None => not_set(key),
    }
}

fn not_set(key: &str) -> anyhow::Result<ExitCode> {
    aside::line(format_args!("{key} is not set."));
    Ok(ExitCode::FAILURE)
}

/// Takes a key away; a secret from wherever it is kept.
pub(super) fn unset(editor: &ConfigEditor, settings: &Settings, key: &str) -> anyhow::Result<ExitCode> {
    let mut places = if looks_secret(key) { keys::forget(settings, key)? } else { Vec::new() };
    if editor.unset(key)? {
        places.push(editor.path().display().to_string());
    }
    warn_of_stronger(settings, key);
    if places.is_empty() {
        return say(&format!("{key} was not in {}.", editor.path().display()));
    }
    say(&format!("{key} is no longer in {}.", places.join(", ")))
}

/// Says where a value comes from that is stronger than the user's file.
fn warn_of_stronger(settings: &Settings, key: &str) {
    if let Some(origin @ (Origin::Environment(_) | Origin::Project(_))) = settings.origin(key) {
        aside::line(format_args!("Here {origin} counts, whatever config.yaml says."));
    }
}

pub(super) fn say(line: &str) -> anyhow::Result<ExitCode> {
    let mut out = Output::new();
    let line = out.foreign(line).into_owned();
    out.line(line)?;
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}
