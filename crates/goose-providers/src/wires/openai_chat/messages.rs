//! A conversation as OpenAI chat wants it: results are messages of their own, and hold only text; their images follow in
//! a message of the user.

use std::borrow::Cow;

use goose_extension::{Message, MessageContent, Opaque, Role, ToolOutput};
use serde::Serialize;
use serde_json::Value;

use super::{WIRE, details};
use crate::endpoint::Dialect;
use crate::wires::{
    content::{self, Part, Sight},
    names,
    text::{ArgumentText, DataUrl, joined, result_text},
    wire::write_element,
};

#[derive(Serialize)]
struct UserMessage<'a> {
    role: &'static str,
    content: Content<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<ContentPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentPart<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl<'a> },
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: DataUrl<'a>,
}

#[derive(Serialize)]
struct ToolMessage<'a> {
    role: &'static str,
    tool_call_id: Cow<'a, str>,
    content: Cow<'a, str>,
}

#[derive(Serialize)]
struct AssistantMessage<'a> {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasoning_details: Vec<&'a Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<CallEntry<'a>>,
}

#[derive(Serialize)]
struct CallEntry<'a> {
    id: Cow<'a, str>,
    r#type: &'static str,
    function: FunctionCall<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a Value>,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    name: Cow<'a, str>,
    arguments: ArgumentText<'a>,
}

/// What the reader of a conversation can take.
#[derive(Clone, Copy)]
pub(super) struct Reader {
    pub(super) sight: Sight,
    pub(super) dialect: Dialect,
    pub(super) form: TextForm,
}

/// How what the user says is written where it is nothing but text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TextForm {
    /// As such: not everybody takes lists.
    Plain,
    /// As a list of one.
    Parts,
}

/// Whether the last thing that was written is a text in parts. Results are not.
pub(super) fn ends_in_text(written: &[u8]) -> bool {
    written.ends_with(br#""}]}"#)
}

/// Writes a message, as none, one or several of the wire's.
pub(super) fn write(message: &Message, reader: Reader, out: &mut Vec<u8>) {
    match message.role {
        Role::Assistant => write_assistant(message, reader.dialect, out),
        _ => write_user(message, reader, out),
    }
}

fn write_user(message: &Message, reader: Reader, out: &mut Vec<u8>) {
    let sight = reader.sight;
    let mut parts = Vec::new();
    for content in &message.content {
        if let MessageContent::ToolResult { id, output } = content {
            parts.extend(write_result(id, output, sight, out));
        }
    }
    let blocks = message.content.iter().filter_map(|content| match content {
        MessageContent::Block(block) => content::part(block, sight),
        _ => None,
    });
    parts.extend(blocks);
    if let Some(content) = user_content(parts, reader.form) {
        write_element(out, &UserMessage { role: "user", content });
    }
}

/// Writes a result, and gives back its images.
fn write_result<'a>(id: &'a str, output: &'a ToolOutput, sight: Sight, out: &mut Vec<u8>) -> Vec<Part<'a>> {
    let (images, texts): (Vec<Part<'a>>, Vec<Part<'a>>) =
        content::result_parts(output, sight).into_iter().partition(|part| matches!(part, Part::Image { .. }));
    let text = if texts.is_empty() { Cow::Borrowed("(see the next message)") } else { joined(texts) };
    let content = result_text(text, output.is_error);
    write_element(out, &ToolMessage { role: "tool", tool_call_id: names::sent_id(id), content });
    images
}

fn user_content(parts: Vec<Part<'_>>, form: TextForm) -> Option<Content<'_>> {
    if parts.is_empty() {
        return None;
    }
    if form == TextForm::Plain && parts.iter().all(|part| matches!(part, Part::Text(_))) {
        return Some(Content::Text(joined(parts)));
    }
    let entry = |part| match part {
        Part::Text(text) => ContentPart::Text { text },
        Part::Image { mime_type, data } => {
            ContentPart::ImageUrl { image_url: ImageUrl { url: DataUrl { mime_type, data } } }
        }
    };
    Some(Content::Parts(parts.into_iter().map(entry).collect()))
}

fn write_assistant(message: &Message, dialect: Dialect, out: &mut Vec<u8>) {
    let texts: Vec<Part<'_>> = message
        .content
        .iter()
        .filter_map(|content| match content {
            // A model that is written to cannot say images; what is none is said in words.
            MessageContent::Block(block) => content::part(block, Sight::Blind),
            _ => None,
        })
        .collect();
    let mut tool_calls: Vec<CallEntry<'_>> = message.content.iter().filter_map(call_entry).collect();
    if texts.is_empty() && tool_calls.is_empty() {
        return;
    }
    let (mut reasoning_content, mut reasoning_details) = (None, Vec::new());
    if dialect == Dialect::Strict {
        tool_calls.iter_mut().for_each(|call| call.extra_content = None);
    } else {
        reasoning_content = wanted_thoughts(message).filter(|_| !tool_calls.is_empty());
        reasoning_details = details::of(message);
    }
    let content = (!texts.is_empty()).then(|| joined(texts));
    let said =
        AssistantMessage { role: "assistant", content, reasoning_content, reasoning_details, tool_calls };
    write_element(out, &said);
}

fn call_entry(content: &MessageContent) -> Option<CallEntry<'_>> {
    let MessageContent::ToolCall { id, name, arguments, opaque } = content else { return None };
    Some(CallEntry {
        id: names::sent_id(id),
        r#type: "function",
        function: FunctionCall { name: names::sent_name(name), arguments: ArgumentText(arguments) },
        extra_content: opaque.as_ref().filter(|opaque| opaque.wire == WIRE).map(|opaque| &opaque.data),
    })
}

/// Services that call it `reasoning_content` want to see again what the model thought before it asked for tools.
/// Everybody else either ignores or refuses it.
fn wanted_thoughts(message: &Message) -> Option<String> {
    let mut thoughts = String::new();
    for content in &message.content {
        if let MessageContent::Reasoning(thought) = content
            && thought.opaque.as_ref().is_some_and(is_reasoning_content)
        {
            thoughts.push_str(&content::sendable(&thought.text));
        }
    }
    (!thoughts.is_empty()).then_some(thoughts)
}

fn is_reasoning_content(opaque: &Opaque) -> bool {
    opaque.wire == WIRE && opaque.data == super::chunk::REASONING_CONTENT
}
