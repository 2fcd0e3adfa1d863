//! A conversation as OpenAI Responses wants it: a flat list of messages, thoughts, calls and results.

use std::borrow::Cow;

use goose_extension::{ContentBlock, Message, MessageContent, Reasoning, Role, ToolOutput};
use serde::Serialize;
use serde_json::Value;

use super::WIRE;
use crate::wires::{
    body::write_element,
    content::{self, Part, VisionSupport},
    names,
    text::{ArgumentText, Content, DataUrl, Said, result_text},
};

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputPart<'a> {
    InputText { text: Cow<'a, str> },
    InputImage { image_url: DataUrl<'a> },
}

impl<'a> From<Part<'a>> for InputPart<'a> {
    fn from(part: Part<'a>) -> Self {
        match part {
            Part::Text(text) => Self::InputText { text },
            Part::Image { mime_type, data } => Self::InputImage { image_url: DataUrl { mime_type, data } },
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Reasoning {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a Value>,
        summary: Vec<Summary<'a>>,
        encrypted_content: &'a Value,
    },
    FunctionCall {
        call_id: Cow<'a, str>,
        name: Cow<'a, str>,
        arguments: ArgumentText<'a>,
    },
    FunctionCallOutput {
        call_id: Cow<'a, str>,
        output: Content<'a, InputPart<'a>>,
    },
}

#[derive(Serialize)]
struct Summary<'a> {
    r#type: &'static str,
    text: Cow<'a, str>,
}

/// Writes a message, as none, one or several items.
pub(super) fn write(message: &Message, vision: VisionSupport, out: &mut Vec<u8>) {
    match message.role {
        Role::Assistant => write_assistant(message, out),
        _ => write_user(message, vision, out),
    }
}

fn write_user(message: &Message, vision: VisionSupport, out: &mut Vec<u8>) {
    let mut parts = Vec::new();
    for content in &message.content {
        match content {
            MessageContent::ToolResult { id, output } => write_result(id, output, vision, out),
            MessageContent::Block(block) => parts.extend(content::part(block, vision)),
            _ => {}
        }
    }
    if !parts.is_empty() {
        write_element(out, &said("user", Content::new(parts)));
    }
}

fn write_result(id: &str, output: &ToolOutput, vision: VisionSupport, out: &mut Vec<u8>) {
    let mut parts = content::result_parts(output, vision);
    if let Some(Part::Text(text)) = parts.iter_mut().find(|part| part.is_text()) {
        *text = result_text(std::mem::take(text), output.is_error);
    }
    write_element(
        out,
        &Item::FunctionCallOutput { call_id: names::sent_id(id), output: Content::new(parts) },
    );
}

fn said<'a>(role: &'static str, content: Content<'a, InputPart<'a>>) -> Said<'a, InputPart<'a>> {
    Said { role, content }
}

/// In the order in which it was said: a thought belongs to what follows it, and is refused where nothing does.
fn write_assistant(message: &Message, out: &mut Vec<u8>) {
    let is_thought = |content: &MessageContent| matches!(content, MessageContent::Reasoning(_));
    let last = message.content.iter().rposition(|content| !is_thought(content));
    for content in message.content.iter().take(last.map_or(0, |last| last + 1)) {
        match content {
            MessageContent::Block(block) => write_text(block, out),
            MessageContent::Reasoning(thought) => write_thought(thought, out),
            MessageContent::ToolCall { id, name, arguments, .. } => write_element(
                out,
                &Item::FunctionCall {
                    call_id: names::sent_id(id),
                    name: names::sent_name(name),
                    arguments: ArgumentText(arguments),
                },
            ),
            _ => {}
        }
    }
}

fn write_text(block: &ContentBlock, out: &mut Vec<u8>) {
    if let Some(Part::Text(text)) = content::part(block, VisionSupport::Unsupported) {
        write_element(out, &said("assistant", Content::Text(text)));
    }
}

/// Only thoughts that were sealed on this wire mean anything to it.
fn write_thought(thought: &Reasoning, out: &mut Vec<u8>) {
    let Some(kept) = content::opaque_data(&thought.opaque, WIRE) else { return };
    let Some(encrypted_content) = kept.get("encrypted_content").filter(|sealed| sealed.is_string()) else {
        return;
    };
    let summary = match content::sendable(&thought.text) {
        text if text.is_empty() => Vec::new(),
        text => vec![Summary { r#type: "summary_text", text }],
    };
    let id = kept.get("id").filter(|id| id.is_string());
    write_element(out, &Item::Reasoning { id, summary, encrypted_content });
}
