//! Sessions of Codex: `~/.codex/sessions/YEAR/MONTH/DAY/rollout-TIME-ID.jsonl`. The items that its model saw are
//! read, not the events that its user saw.

use goose_extension::{MessageContent, Reasoning, Role, ToolOutput};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::foreign::{ForeignMessage, ForeignSession, Part, TextError, check_messages};
use crate::NewSession;

/// Beginnings of texts that the program adds as messages of the user.
const ADDED: [&str; 5] = [
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<permissions instructions>",
    "# AGENTS.md instructions",
];

/// Returns true if this line is about a session, or an item of one.
pub(super) fn is_line(line: &Value) -> bool {
    matches!(line["type"].as_str(), Some("session_meta" | "response_item")) && line["payload"].is_object()
}

/// Returns the session of all lines.
pub(super) fn session(lines: Vec<Value>, file: String) -> Result<ForeignSession, TextError> {
    let about = lines.iter().find(|line| line["type"] == "session_meta").map(|line| &line["payload"]);
    let said = |name: &str| about.and_then(|about| about[name].as_str()).map(str::to_owned);
    let (id, folder) = (said("id").unwrap_or(file), said("cwd").unwrap_or_default());
    let mut messages: Vec<ForeignMessage> = Vec::new();
    for line in lines.iter().filter(|line| line["type"] == "response_item") {
        let Some((role, parts)) = item(&line["payload"]) else { continue };
        // Reasoning, text and calls of one answer are items of their own.
        match messages.last_mut() {
            Some(before) if role == Role::Assistant && before.role == role => before.parts.extend(parts),
            _ => messages.push(ForeignMessage { at: time(line), role, parts, metadata: Value::Null }),
        }
    }
    let created_at = check_messages(&messages)?;
    let new = NewSession::in_folder(folder);
    Ok(ForeignSession { program: "codex", id, new, created_at, messages, cost: None })
}

fn time(line: &Value) -> Timestamp {
    line["timestamp"].as_str().and_then(|at| at.parse().ok()).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Returns the role and the parts of an item.
fn item(item: &Value) -> Option<(Role, Vec<Part>)> {
    let said = |content: MessageContent| Some((Role::Assistant, vec![Part::Said(content)]));
    match item["type"].as_str()? {
        "message" => message(item),
        "reasoning" => {
            let summary = item["summary"].as_array()?.iter().filter_map(|part| part["text"].as_str());
            let text = summary.collect::<Vec<_>>().join("\n\n");
            if text.is_empty() {
                None
            } else {
                said(MessageContent::Reasoning(Reasoning { text, opaque: None }))
            }
        }
        "function_call" => {
            let arguments = item["arguments"].as_str().and_then(|text| serde_json::from_str(text).ok());
            said(call(item, item["name"].as_str()?, arguments.unwrap_or_else(|| json!({})))?)
        }
        "custom_tool_call" => said(call(item, item["name"].as_str()?, json!({ "input": item["input"] }))?),
        "local_shell_call" => said(call(item, "shell", json!({ "command": item["action"]["command"] }))?),
        "function_call_output" | "custom_tool_call_output" => {
            let id = item["call_id"].as_str()?.to_owned();
            Some((Role::User, vec![Part::Result { id, output: output(&item["output"]) }]))
        }
        _ => None,
    }
}

fn call(item: &Value, name: &str, arguments: Value) -> Option<MessageContent> {
    let id = item["call_id"].as_str()?.to_owned();
    Some(MessageContent::ToolCall { id, name: name.to_owned(), arguments, opaque: None })
}

/// Returns the words of the user or of the model.
fn message(item: &Value) -> Option<(Role, Vec<Part>)> {
    let role = match item["role"].as_str()? {
        "assistant" => Role::Assistant,
        "user" => Role::User,
        _ => return None,
    };
    let texts = item["content"].as_array()?.iter().filter_map(|part| part["text"].as_str());
    let texts: Vec<&str> = texts.filter(|text| !is_added(text)).collect();
    if texts.is_empty() || (role == Role::User && !is_of_user(item)) {
        return None;
    }
    Some((role, texts.into_iter().map(|text| Part::Said(MessageContent::text(text))).collect()))
}

fn is_added(text: &str) -> bool {
    ADDED.iter().any(|beginning| text.trim_start().starts_with(beginning))
}

/// Returns false if a newer version says that the program has added the message.
fn is_of_user(item: &Value) -> bool {
    let kinds = item["internal_chat_message_metadata_passthrough"]["content_item_kinds"].as_array();
    kinds.is_none_or(|kinds| {
        kinds.iter().any(|kind| kind.as_str().is_some_and(|kind| kind.starts_with("user.")))
    })
}

fn output(output: &Value) -> ToolOutput {
    match output {
        Value::String(text) => ToolOutput::text(text.as_str()),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            ToolOutput::text(texts.join("\n"))
        }
        // Older versions wrap the text.
        other => ToolOutput::text(other["content"].as_str().unwrap_or_default()),
    }
}
