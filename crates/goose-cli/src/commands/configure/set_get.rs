//! `goose configure set`, `get` and `unset`: one key at a time.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use goose::config::{
    ConfigEditor, HIDDEN, Moderator, Origin, Secret, Settings, looks_secret, meant_setting, written_value,
};
use serde_json::Value;

use super::{choices::find_mode, keys};
use crate::{
    output::{WARNING, say},
    stderr,
};

/// Keys whose values are whole numbers.
const WHOLE_NUMBERS: [&str; 5] = [
    "GOOSE_MAX_TURNS",
    "GOOSE_MAX_TOKENS",
    "GOOSE_CONTEXT_LIMIT",
    "GOOSE_MAX_TOOL_REPETITIONS",
    "GOOSE_SUBAGENT_MAX_TURNS",
];
/// Keys whose values are numbers.
const NUMBERS: [&str; 2] = ["GOOSE_TEMPERATURE", "GOOSE_AUTO_COMPACT_THRESHOLD"];

/// Keys whose values are mappings.
const MAPPINGS: [&str; 2] = ["extensions", "profiles"];

/// Sets a key. A key with a secret's name goes to the secret store.
pub(super) fn set(
    editor: &ConfigEditor,
    settings: &Settings,
    key: &str,
    text: &str,
) -> anyhow::Result<ExitCode> {
    if looks_secret(key) {
        let place = keys::store(settings, key, &Secret::new(text), None)?;
        return say(&format!("Stored {key} in {place}."));
    }
    let value = parse_value(key, text)?;
    let changed = editor.set(key, &value)?;
    let what = if changed { "is set" } else { "already has that value" };
    warn_if_overridden(settings, key);
    if let Some(meant) = meant_setting(key) {
        stderr::line(format_args!("{WARNING}goose has no setting {key}. Did you mean {meant}?{WARNING:#}"));
    }
    say(&format!("{key} {what} in {}.", editor.path().display()))
}

/// Parses the value into the type that the key needs.
fn parse_value(key: &str, text: &str) -> anyhow::Result<Value> {
    if key.trim().is_empty() || key.contains(char::is_control) {
        bail!("'{}' is not a valid key. Use a name such as GOOSE_MODEL.", key.escape_debug());
    }
    if WHOLE_NUMBERS.contains(&key) {
        let number = text.trim().parse::<u64>().ok();
        let number =
            number.with_context(|| format!("{key} must be a whole number of 0 or more, not '{text}'."));
        return number.map(Value::from);
    }
    if NUMBERS.contains(&key) {
        let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        let number = number.with_context(|| format!("{key} must be a number, not '{text}'."))?;
        return Ok(text.trim().parse::<u64>().map_or(Value::from(number), Value::from));
    }
    let value = written_value(text);
    if MAPPINGS.contains(&key) && !value.is_object() {
        bail!(
            "{key} must be a mapping, not '{text}'. Change single entries with the other flags, or edit config.yaml."
        );
    }
    match key {
        "GOOSE_MODE" => Ok(Value::String(find_mode(text)?.to_owned())),
        "GOOSE_MODERATOR" if serde_json::from_value::<Moderator>(value.clone()).is_err() => {
            bail!("GOOSE_MODERATOR must be one of passive, truncate, summarize, not '{text}'.")
        }
        _ => Ok(value),
    }
}

/// Shows the effective value.
pub(super) fn get(settings: &Settings, key: &str) -> anyhow::Result<ExitCode> {
    if looks_secret(key) {
        let is_set = goose::config::Secrets::get(&*settings.secrets(), key)?.is_some();
        return if is_set { say(HIDDEN) } else { not_set(key) };
    }
    match settings.get::<Value>(key)? {
        Some(Value::String(_)) if settings.shown(key).as_deref() == Some(HIDDEN) => say(HIDDEN),
        Some(Value::String(text)) => say(&text),
        Some(other) => say(&other.to_string()),
        None => not_set(key),
    }
}

fn not_set(key: &str) -> anyhow::Result<ExitCode> {
    stderr::line(format_args!("{key} is not set."));
    Ok(ExitCode::FAILURE)
}

/// Removes a key; a secret from every place that stores it.
pub(super) fn unset(editor: &ConfigEditor, settings: &Settings, key: &str) -> anyhow::Result<ExitCode> {
    let mut places = if looks_secret(key) { keys::forget(settings, key)? } else { Vec::new() };
    if editor.unset(key)? {
        places.push(editor.path().display().to_string());
    }
    warn_if_overridden(settings, key);
    if places.is_empty() {
        return say(&format!("{key} is not set in {}.", editor.path().display()));
    }
    say(&format!("Removed {key} from {}.", places.join(", ")))
}

/// Warns if another source overrides the user's file.
fn warn_if_overridden(settings: &Settings, key: &str) {
    if let Some(origin @ (Origin::Environment(_) | Origin::Project(_))) = settings.origin(key) {
        stderr::line(format_args!("{origin} overrides config.yaml here."));
    }
}
