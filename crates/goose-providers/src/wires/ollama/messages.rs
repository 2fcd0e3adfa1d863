//! A conversation as Ollama wants it: results name their tool, and images stand beside the text.

use std::borrow::Cow;

use goose_extension::{Message, MessageContent, Role, ToolOutput};
use serde::Serialize;

use crate::wires::{
    body::write_element,
    content::{self, Part, VisionSupport},
    names::{called_name, sent_name},
    text::{ArgumentObject, joined, result_text},
};

#[derive(Serialize, Default)]
struct Entry<'a> {
    role: &'static str,
    content: Cow<'a, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<CallEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
struct CallEntry<'a> {
    function: FunctionCall<'a>,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    name: Cow<'a, str>,
    arguments: ArgumentObject<'a>,
}

/// Writes who the model is and how it works.
pub(super) fn write_system(text: &str, out: &mut Vec<u8>) {
    write_element(out, &Entry { role: "system", content: Cow::Borrowed(text), ..Entry::default() });
}

/// Writes a message, as none, one or several of the wire's. Results are tied to calls by name here, and the calls are in
/// the message `before`.
pub(super) fn write(message: &Message, before: Option<&Message>, vision: VisionSupport, out: &mut Vec<u8>) {
    match message.role {
        Role::Assistant => write_assistant(message, out),
        _ => write_user(message, before, vision, out),
    }
}

fn write_user(message: &Message, before: Option<&Message>, vision: VisionSupport, out: &mut Vec<u8>) {
    for part in &message.content {
        if let MessageContent::ToolResult { id, output } = part {
            let name = before.and_then(|message| called_name(message, id)).unwrap_or_default();
            write_result(name, output, vision, out);
        }
    }
    let (images, texts) = apart(content::parts(message, vision));
    if !images.is_empty() || !texts.is_empty() {
        write_element(out, &Entry { role: "user", content: joined(texts), images, ..Entry::default() });
    }
}

fn write_result(name: &str, output: &ToolOutput, vision: VisionSupport, out: &mut Vec<u8>) {
    let (images, texts) = apart(content::result_parts(output, vision));
    write_element(
        out,
        &Entry {
            role: "tool",
            content: result_text(joined(texts), output.is_error),
            images,
            tool_name: Some(sent_name(name)),
            ..Entry::default()
        },
    );
}

fn apart<'a>(parts: impl IntoIterator<Item = Part<'a>>) -> (Vec<&'a str>, Vec<Part<'a>>) {
    let mut images = Vec::new();
    let mut texts = Vec::new();
    for part in parts {
        match part {
            Part::Image { data, .. } => images.push(data),
            text => texts.push(text),
        }
    }
    (images, texts)
}

fn write_assistant(message: &Message, out: &mut Vec<u8>) {
    let texts = content::own_texts(message);
    let tool_calls: Vec<CallEntry<'_>> = message.content.iter().filter_map(call_entry).collect();
    if texts.is_empty() && tool_calls.is_empty() {
        return;
    }
    write_element(out, &Entry { role: "assistant", content: joined(texts), tool_calls, ..Entry::default() });
}

fn call_entry(part: &MessageContent) -> Option<CallEntry<'_>> {
    let MessageContent::ToolCall { name, arguments, .. } = part else { return None };
    let function = FunctionCall { name: sent_name(name), arguments: ArgumentObject(arguments) };
    Some(CallEntry { function })
}
