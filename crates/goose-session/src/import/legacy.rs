//! Messages of goose 1.x, as its exports, its database and its older `.jsonl` files have them.

use goose_extension::{ContentBlock, MessageContent, Reasoning, Role, StoredOutput, ToolOutput};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::foreign::{ForeignMessage, ForeignSession, GOOSE, Part, TextError, check_messages};
use crate::NewSession;

/// Name of a tool whose call cannot be parsed.
const UNKNOWN_TOOL: &str = "unknown";

/// Returns true if this is a message in a `.jsonl` file.
pub(super) fn is_line(line: &Value) -> bool {
    line["role"].is_string() && line["content"].is_array()
}

/// Returns the session of a `.jsonl` file: one line about the session, then one line for each message. Other lines
/// are ignored.
pub(super) fn lines(lines: Vec<Value>, id: String) -> Result<ForeignSession, TextError> {
    let mut lines = lines.into_iter().peekable();
    let about = lines.next_if(|line| line.get("role").is_none()).unwrap_or_default();
    session(&about, lines, id)
}

/// Returns the session of a JSON export.
pub(super) fn document(mut document: Value) -> Result<ForeignSession, TextError> {
    let messages = match document["conversation"].take() {
        Value::Array(messages) => messages,
        // Older versions wrap the list.
        mut other => match other["messages"].take() {
            Value::Array(messages) => messages,
            _ => return Err(TextError::Unknown),
        },
    };
    let id = document["id"].as_str().ok_or(TextError::Unknown)?.to_owned();
    session(&document, messages.into_iter(), id)
}

fn session(
    about: &Value,
    messages: impl Iterator<Item = Value>,
    id: String,
) -> Result<ForeignSession, TextError> {
    let messages: Vec<ForeignMessage> = messages.filter_map(message).collect();
    let created_at = check_messages(&messages)?;
    let said = |name: &str| about[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let folder = said("working_dir").unwrap_or_default();
    let name = said("name").or_else(|| said("description"));
    let new = NewSession { name, ..NewSession::in_folder(folder) };
    Ok(ForeignSession { program: GOOSE, id, new, created_at, messages, cost: None })
}

fn message(mut message: Value) -> Option<ForeignMessage> {
    let role = if message["role"].as_str()? == "assistant" { Role::Assistant } else { Role::User };
    let at = message["created"].as_i64().and_then(|seconds| Timestamp::from_second(seconds).ok());
    Some(ForeignMessage {
        at: at.unwrap_or(Timestamp::UNIX_EPOCH),
        role,
        parts: parts(&message["content"]),
        metadata: message["metadata"].take(),
    })
}

/// Returns the parts of a message. Types without an equivalent are left out.
pub(super) fn parts(content: &Value) -> Vec<Part> {
    content.as_array().map(|parts| parts.iter().filter_map(part).collect()).unwrap_or_default()
}

fn part(part: &Value) -> Option<Part> {
    match part["type"].as_str()? {
        "text" | "image" => {
            serde_json::from_value(part.clone()).ok().map(|block| Part::Said(MessageContent::Block(block)))
        }
        "thinking" => {
            let text = part["thinking"].as_str()?.to_owned();
            Some(Part::Said(MessageContent::Reasoning(Reasoning { text, opaque: None })))
        }
        "toolRequest" | "frontendToolRequest" => Some(Part::Said(call(part)?)),
        "toolResponse" => {
            Some(Part::Result { id: part["id"].as_str()?.to_owned(), output: output(&part["toolResult"]) })
        }
        _ => None,
    }
}

fn call(part: &Value) -> Option<MessageContent> {
    let called = &part["toolCall"]["value"];
    let name = called["name"].as_str().unwrap_or(UNKNOWN_TOOL);
    // Newer versions store the extension beside the name.
    let name = match part["_meta"]["goose_extension"].as_str() {
        Some(extension) if !name.contains("__") => format!("{extension}__{name}"),
        _ => name.to_owned(),
    };
    let arguments = match &called["arguments"] {
        Value::Null => Value::Object(serde_json::Map::new()),
        arguments => arguments.clone(),
    };
    Some(MessageContent::ToolCall { id: part["id"].as_str()?.to_owned(), name, arguments, opaque: None })
}

fn output(result: &Value) -> ToolOutput {
    #[derive(Deserialize)]
    struct Stored(#[serde(with = "StoredOutput")] ToolOutput);

    let value = &result["value"];
    if let Some(error) = result["error"].as_str() {
        return ToolOutput::error(error);
    }
    // Older versions store only the content.
    if let Some(blocks) = value.as_array() {
        return ToolOutput::content(blocks.iter().filter_map(block));
    }
    match serde_json::from_value(value.clone()) {
        Ok(Stored(output)) => output,
        Err(_) => ToolOutput::content(value["content"].as_array().into_iter().flatten().filter_map(block)),
    }
}

fn block(value: &Value) -> Option<ContentBlock> {
    serde_json::from_value(value.clone()).ok()
}
