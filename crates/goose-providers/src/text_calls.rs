//! Calls that a model wrote as text, in the shapes that models are trained on: JSON with a name and
//! arguments, alone or within `<tool_call>`.

use goose_extension::JsonObject;
use serde_json::{Deserializer, Value};

use crate::reply::Arguments;

/// Mark before a call that is written as text.
pub const TEXT_CALL_MARK: &str = "<tool_call>";
const END: &str = "</tool_call>";

/// Name and arguments of a call that was written as text.
pub type TextCall = (String, Arguments);

/// Returns the calls in a text that consists of calls, and none for any other text.
pub fn parse_text_calls(text: &str) -> Vec<TextCall> {
    let is_marked = text.contains(TEXT_CALL_MARK);
    let bare = text.replace(TEXT_CALL_MARK, "\n").replace(END, "\n");
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

/// Returns the length of the beginning of a text that cannot be part of a call.
pub fn plain_text_len(text: &str) -> usize {
    if text.trim_start().starts_with(['{', '[']) {
        return 0;
    }
    let begun = (1..TEXT_CALL_MARK.len())
        .rev()
        .find(|length| text.ends_with(&TEXT_CALL_MARK[..*length]))
        .unwrap_or(0);
    text.find(TEXT_CALL_MARK).unwrap_or(text.len() - begun)
}

#[cfg(test)]
#[path = "text_calls_tests.rs"]
mod tests;
