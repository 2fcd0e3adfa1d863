//! Sessions of Claude Code: `~/.claude/projects/FOLDER/ID.jsonl`, one line for each block of a message and for other
//! events.

use goose_extension::{ContentBlock, MessageContent, Reasoning, Role, ToolOutput};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::foreign::{ForeignMessage, ForeignSession, Part, TextError, check_messages};
use crate::NewSession;

/// Types of lines with messages.
const MESSAGES: [&str; 2] = ["user", "assistant"];

/// Fields with a title, the best one first.
const TITLES: [&str; 3] = ["customTitle", "aiTitle", "summary"];

/// Returns true if this is a message of a session.
pub(super) fn is_line(line: &Value) -> bool {
    line["sessionId"].is_string() && line["message"].is_object() && line["type"].is_string()
}

/// Returns the session of all lines.
pub(super) fn session(lines: Vec<Value>, file: String) -> Result<ForeignSession, TextError> {
    let mut messages: Vec<ForeignMessage> = Vec::new();
    let mut last = String::new();
    let text = |line: &Value, name: &str| line[name].as_str().map(str::to_owned);
    let first = |name: &str| lines.iter().find_map(|line| text(line, name));
    let name = TITLES.iter().find_map(|title| lines.iter().rev().find_map(|line| text(line, title)));
    let (id, folder) = (first("sessionId").unwrap_or(file), first("cwd").unwrap_or_default());
    for line in &lines {
        let Some(message) = message(line) else { continue };
        // The blocks of one answer come on lines of their own.
        let answer = line["message"]["id"].as_str().unwrap_or_default();
        match messages.last_mut() {
            Some(before) if !answer.is_empty() && answer == last => before.parts.extend(message.parts),
            _ => messages.push(message),
        }
        answer.clone_into(&mut last);
    }
    let created_at = check_messages(&messages)?;
    let new = NewSession { name, ..NewSession::in_folder(folder) };
    Ok(ForeignSession { program: "claude-code", id, new, created_at, messages, cost: None })
}

/// Returns the message of a line. Those of subagents, and those that the program has added, are left out.
fn message(line: &Value) -> Option<ForeignMessage> {
    let is_set = |name: &str| line[name].as_bool() == Some(true);
    if !MESSAGES.contains(&line["type"].as_str()?) || is_set("isSidechain") || is_set("isMeta") {
        return None;
    }
    let message = &line["message"];
    let role = if message["role"].as_str()? == "assistant" { Role::Assistant } else { Role::User };
    let parts: Vec<Part> = match &message["content"] {
        Value::String(text) => vec![Part::Said(MessageContent::text(text))],
        content => content.as_array()?.iter().filter_map(part).collect(),
    };
    let at = line["timestamp"].as_str().and_then(|at| at.parse().ok()).unwrap_or(Timestamp::UNIX_EPOCH);
    (!parts.is_empty()).then_some(ForeignMessage { at, role, parts, metadata: Value::Null })
}

fn part(part: &Value) -> Option<Part> {
    let text = |name: &str| part[name].as_str().map(str::to_owned);
    Some(match part["type"].as_str()? {
        "text" => Part::Said(MessageContent::text(text("text")?)),
        "image" => Part::Said(MessageContent::Block(block(part)?)),
        "thinking" => {
            Part::Said(MessageContent::Reasoning(Reasoning { text: text("thinking")?, opaque: None }))
        }
        "tool_use" => Part::Said(MessageContent::ToolCall {
            id: text("id")?,
            name: text("name")?,
            arguments: part["input"].clone(),
            opaque: None,
        }),
        "tool_result" => Part::Result { id: text("tool_use_id")?, output: output(part) },
        _ => return None,
    })
}

fn output(part: &Value) -> ToolOutput {
    let mut output = match &part["content"] {
        Value::String(text) => ToolOutput::text(text.as_str()),
        content => ToolOutput::content(content.as_array().into_iter().flatten().filter_map(block)),
    };
    output.is_error = part["is_error"].as_bool() == Some(true);
    output
}

/// Returns a text or an image.
fn block(part: &Value) -> Option<ContentBlock> {
    let block = match part["type"].as_str()? {
        "text" => json!({ "type": "text", "text": part["text"] }),
        "image" => {
            json!({ "type": "image", "data": part["source"]["data"], "mimeType": part["source"]["media_type"] })
        }
        _ => return None,
    };
    serde_json::from_value(block).ok()
}
