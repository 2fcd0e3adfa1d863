//! Requests to OpenAI Responses; `decode` reads its answers. A conversation is a list of items. Empty fields are not sent.

mod decode;

use std::borrow::Cow;

use goose_extension::{ContentBlock, Message, MessageContent, Reasoning, Role, Tool, ToolOutput};
use serde::Serialize;
use serde_json::Value;

use crate::{
    endpoint::Dialect,
    provider::Effort,
    wires::{
        body::{Function, RequestBody, write_element},
        content::{self, ArgumentText, Content, DataUrl, Part, Said, VisionSupport, result_text},
        models, names,
        wire::{Ask, Codec, Wire},
    },
};

/// The name under which what belongs to this wire is kept in a conversation.
const WIRE: &str = "openai-responses";

/// A model behind OpenAI's Responses, or behind a service that offers the same.
pub type OpenAiResponses = Wire<Responses>;

/// The codec.
pub struct Responses;

impl Codec for Responses {
    type Decoder = decode::ResponsesDecoder;

    const MAX_TOOLS: Option<usize> = Some(128);

    fn encode(ask: &Ask<'_>) -> Vec<u8> {
        body(ask)
    }
}

#[derive(Serialize)]
struct Head<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
}

#[derive(Serialize)]
struct Thinking {
    effort: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

#[derive(Serialize)]
struct ToolEntry<'a> {
    r#type: &'static str,
    #[serde(flatten)]
    function: Function<'a>,
    /// The default is to demand schemas of a kind that few tools have.
    strict: bool,
}

impl<'a> From<&'a Tool> for ToolEntry<'a> {
    fn from(tool: &'a Tool) -> Self {
        Self { r#type: "function", function: tool.into(), strict: false }
    }
}

/// The body of a request.
fn body(ask: &Ask<'_>) -> Vec<u8> {
    let vision = ask.vision();
    let write = |message: &Message, _: Option<&Message>, out: &mut Vec<u8>| write(message, vision, out);
    RequestBody::new(&head(ask))
        .list("tools", ask.request.tools.iter().map(ToolEntry::from))
        .written_list("input", |out| {
            ask.history.write(ask.request.messages, write, out);
        })
        .finish()
}

fn head<'a>(ask: &'a Ask<'a>) -> Head<'a> {
    let options = ask.request.options;
    let model = ask.model.name.as_str();
    let may_think = !models::is_openai_talker(model);
    let include: &[&str] =
        if may_think && ask.dialect != Dialect::Strict { &["reasoning.encrypted_content"] } else { &[] };
    Head {
        model,
        stream: true,
        store: false,
        include,
        reasoning: options.effort.filter(|_| may_think).map(|effort| thinking(effort, model)),
        max_output_tokens: options.max_tokens,
        temperature: options.temperature.filter(|_| !models::is_openai_thinker(model)),
        prompt_cache_key: ask.cache_key(),
        instructions: ask.request.system,
    }
}

/// Summaries are only asked for together with thinking: not every account may have them.
fn thinking(effort: Effort, model: &str) -> Thinking {
    match effort.word() {
        Some(effort) => Thinking { effort, summary: Some("auto") },
        None => Thinking { effort: models::least_openai_effort(model), summary: None },
    }
}

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
fn write(message: &Message, vision: VisionSupport, out: &mut Vec<u8>) {
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
