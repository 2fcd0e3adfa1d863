//! Frames of a stream of server-sent events.

use serde_json::Value;

/// An event without a name.
pub(super) fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// An event under the name of its type.
pub(super) fn event(value: &Value) -> String {
    let name = value["type"].as_str().unwrap_or("message");
    format!("event: {name}\ndata: {value}\n\n")
}
