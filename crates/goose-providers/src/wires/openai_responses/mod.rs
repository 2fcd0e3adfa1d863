//! Requests to OpenAI Responses; `decode` reads its answers. A conversation is a list of items.

mod decode;

use goose_extension::{Message, MessageContent, Reasoning, Role, Tool, ToolOutput};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    endpoint::Dialect,
    provider::Effort,
    wires::{
        body::{Function, RequestBody, without_nulls, write_element},
        content::{self, Part, VisionSupport, data_url, result_text, sent_arguments},
        models,
        names::{sent_id, sent_name},
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

    const MAX_IMAGE_BYTES: usize = content::LARGE_IMAGE_BYTES;

    fn encode(ask: &Ask<'_>) -> Vec<u8> {
        RequestBody::new(head(ask))
            .tools(ask, |tool, out| write_element(out, &ToolEntry::from(tool)))
            .written_list("input", |out| {
                let vision = ask.vision();
                ask.history.write(ask.request.messages, |message, _, out| write(message, vision, out), out);
            })
            .finish()
    }
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

fn head(ask: &Ask<'_>) -> Value {
    let options = ask.request.options;
    let model = ask.model.name.as_str();
    let may_think = !models::is_openai_talker(model);
    let keeps_thoughts = may_think && ask.dialect != Dialect::Strict;
    json!({
        "model": model,
        "stream": true,
        "store": false,
        "include": keeps_thoughts.then_some(["reasoning.encrypted_content"]),
        "reasoning": options.effort.filter(|_| may_think).map(|effort| thinking(effort, model)),
        "max_output_tokens": options.max_tokens,
        "temperature": ask.temperature().filter(|_| !models::is_openai_thinker(model)),
        "prompt_cache_key": ask.cache_key(),
        "instructions": Some(ask.request.system).filter(|system| !system.is_empty()),
    })
}

/// Summaries are only asked for together with thinking: not every account may have them.
fn thinking(effort: Effort, model: &str) -> Value {
    match effort.word() {
        Some(effort) => json!({ "effort": effort, "summary": "auto" }),
        None => json!({ "effort": models::least_openai_effort(model) }),
    }
}

fn input_part(part: Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({ "type": "input_text", "text": text }),
        Part::Image { mime_type, data } => {
            json!({ "type": "input_image", "image_url": data_url(mime_type, data) })
        }
    }
}

/// Writes a message, as none, one or several items.
fn write(message: &Message, vision: VisionSupport, out: &mut Vec<u8>) {
    match message.role {
        Role::Assistant => write_assistant(message, out),
        _ => write_user(message, vision, out),
    }
}

fn write_user(message: &Message, vision: VisionSupport, out: &mut Vec<u8>) {
    for content in &message.content {
        if let MessageContent::ToolResult { id, output } = content {
            write_result(id, output, vision, out);
        }
    }
    let parts: Vec<Part<'_>> = content::parts(message, vision).collect();
    if !parts.is_empty() {
        let content = content::text_or_list(parts, input_part);
        write_element(out, &json!({ "role": "user", "content": content }));
    }
}

fn write_result(id: &str, output: &ToolOutput, vision: VisionSupport, out: &mut Vec<u8>) {
    let mut parts = content::result_parts(output, vision);
    if let Some(Part::Text(text)) = parts.iter_mut().find(|part| part.is_text()) {
        *text = result_text(std::mem::take(text), output.is_error);
    }
    let output = content::text_or_list(parts, input_part);
    write_element(out, &json!({ "type": "function_call_output", "call_id": sent_id(id), "output": output }));
}

/// In the order in which it was said: a thought belongs to what follows it, and is refused where nothing does.
fn write_assistant(message: &Message, out: &mut Vec<u8>) {
    let is_thought = |content: &MessageContent| matches!(content, MessageContent::Reasoning(_));
    let last = message.content.iter().rposition(|content| !is_thought(content));
    let content = message.content.iter().take(last.map_or(0, |last| last + 1));
    content.filter_map(assistant_item).for_each(|item| write_element(out, &item));
}

fn assistant_item(content: &MessageContent) -> Option<Value> {
    match content {
        MessageContent::Block(block) => match content::part(block, VisionSupport::Unsupported)? {
            Part::Text(text) => Some(json!({ "role": "assistant", "content": text })),
            Part::Image { .. } => None,
        },
        MessageContent::Reasoning(thought) => thought_item(thought),
        MessageContent::ToolCall { id, name, arguments, .. } => Some(json!({
            "type": "function_call",
            "call_id": sent_id(id),
            "name": sent_name(name),
            "arguments": sent_arguments(arguments).to_string(),
        })),
        _ => None,
    }
}

/// Only thoughts that were sealed on this wire mean anything to it.
fn thought_item(thought: &Reasoning) -> Option<Value> {
    let kept = content::opaque_data(&thought.opaque, WIRE)?;
    let sealed = kept.get("encrypted_content").filter(|sealed| sealed.is_string())?;
    let text = content::sendable(&thought.text);
    let summary = (!text.is_empty()).then(|| json!({ "type": "summary_text", "text": text }));
    Some(without_nulls(json!({
        "type": "reasoning",
        "id": kept.get("id").filter(|id| id.is_string()),
        "summary": Value::from_iter(summary),
        "encrypted_content": sealed,
    })))
}
