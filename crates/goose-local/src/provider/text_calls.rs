//! Calls that a model wrote as text, in the shapes that models are trained on: JSON with a name and
//! arguments, alone or within `<tool_call>`.

use goose_extension::JsonObject;
use goose_providers::Arguments;
use serde_json::{Deserializer, Value};

/// Mark before a call.
pub(super) const MARK: &str = "<tool_call>";
const END: &str = "</tool_call>";

/// Name and arguments of a call.
pub(super) type TextCall = (String, Arguments);

/// Returns the calls in a text that consists of calls, and none for any other text.
pub(super) fn parse(text: &str) -> Vec<TextCall> {
    let is_marked = text.contains(MARK);
    let bare = text.replace(MARK, "\n").replace(END, "\n");
    let bare = bare.trim().trim_start_matches("```json").trim_matches('`');
    let mut found: Vec<TextCall> = Vec::new();
    for value in Deserializer::from_str(bare).into_iter::<Value>() {
        match value {
            Ok(Value::Array(all)) => found.extend(all.iter().filter_map(call)),
            Ok(one) => found.extend(call(&one)),
            Err(error) if is_marked => {
                let arguments = Arguments::Malformed { raw: bare.to_owned(), why: error.to_string() };
                found.push((String::new(), arguments));
                break;
            }
            Err(_) => break,
        }
    }
    found
}

fn call(value: &Value) -> Option<TextCall> {
    let name = value.get("name")?.as_str()?.to_owned();
    let arguments = match value.get("arguments").or_else(|| value.get("parameters"))? {
        Value::Object(arguments) => arguments.clone(),
        Value::String(text) => serde_json::from_str::<JsonObject>(text).ok()?,
        _ => return None,
    };
    Some((name, Arguments::Object(arguments)))
}

/// Returns the length of the beginning that cannot be part of a call.
pub(super) fn plain_len(text: &str) -> usize {
    if text.trim_start().starts_with(['{', '[']) {
        return 0;
    }
    let begun = (1..MARK.len()).rev().find(|length| text.ends_with(&MARK[..*length])).unwrap_or(0);
    text.find(MARK).unwrap_or(text.len() - begun)
}

#[cfg(test)]
#[path = "text_calls_tests.rs"]
mod tests;
