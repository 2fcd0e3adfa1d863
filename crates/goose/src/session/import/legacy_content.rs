//! The parts of a message of goose 1.x, as ours. Kinds that mean nothing any more are left out.

use goose_extension::{ContentBlock, MessageContent, Reasoning, ToolOutput, stored_output};
use serde::Deserialize;
use serde_json::Value;

/// A part, with the results of tools apart.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Said(MessageContent),
    Result { id: String, output: ToolOutput },
}

/// The name of a tool that was called in a way nobody understood.
const UNKNOWN_TOOL: &str = "unknown";

/// All parts of a message's content.
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
    // Newer versions keep the extension beside the name.
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
    struct Stored(#[serde(with = "stored_output")] ToolOutput);

    let value = &result["value"];
    if let Some(error) = result["error"].as_str() {
        return ToolOutput::error(error);
    }
    // Older versions have the content alone.
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
