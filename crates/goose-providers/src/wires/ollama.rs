//! Ollama's own API. Its OpenAI-like one cannot be told how much of a conversation to keep, and cuts the rest silently;
//! here the size is sent, and what does not fit is an error. Results name their tool, images stand beside the text, and
//! an answer is one JSON object per line.

use goose_extension::{Message, MessageContent, Role};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    endpoint::Dialect,
    error::ProviderResult,
    http::WireHeaders,
    provider::{Effort, ModelInfo, Request},
    reply::{StopReason, Usage},
    wires::{
        assembly::Assembly,
        body::{RequestBody, ToolEntry, without_nulls, write_element},
        content::{self, Part, VisionSupport, joined, sent_arguments},
        framing::{Framing, StreamEvent},
        history::History,
        names::{called_name, sent_name},
        stream::{Decoder, stop_reason},
        wire::{Ask, Codec, Wire},
    },
};

/// A model that Ollama runs. [`ModelInfo::context_limit`](crate::ModelInfo::context_limit) is the room that it is
/// given.
pub type Ollama = Wire<Native>;

/// The codec.
pub struct Native;

impl Codec for Native {
    type Decoder = OllamaDecoder;

    const HEADERS: WireHeaders =
        WireHeaders { others: &[("accept", "application/x-ndjson")], ..WireHeaders::BEARER };

    const MAX_IMAGE_BYTES: usize = content::LARGE_IMAGE_BYTES;

    fn encode(ask: &Ask<'_>) -> Vec<u8> {
        RequestBody::new(head(ask))
            .tools(ask, |tool, out| write_element(out, &ToolEntry::from(tool)))
            .written_list("messages", |out| write_messages(ask, out))
            .finish()
    }
}

/// Returns the messages and tools of a request in the form that the chat templates of models take, with arguments as
/// objects.
pub fn chat_request(model: &ModelInfo, request: Request<'_>) -> Value {
    let (history, max_image_bytes) = (&History::default(), content::LARGE_IMAGE_BYTES);
    let ask = Ask { request, model, dialect: Dialect::Full, history, max_image_bytes };
    serde_json::from_slice(&Native::encode(&ask)).unwrap_or_default()
}

fn write_messages(ask: &Ask<'_>, out: &mut Vec<u8>) {
    let (request, vision) = (&ask.request, ask.vision());
    if !request.system.is_empty() {
        write_element(out, &json!({ "role": "system", "content": request.system }));
    }
    let write = |message: &Message, before: Option<&Message>, out: &mut Vec<u8>| match message.role {
        Role::Assistant => write_assistant(message, out),
        _ => write_user(message, before, vision, out),
    };
    ask.history.write(request.messages, write, out);
}

fn head(ask: &Ask<'_>) -> Value {
    let options = ask.request.options;
    let limits = json!({
        "num_ctx": ask.model.context_limit,
        "num_predict": options.max_tokens,
        "temperature": ask.temperature(),
    });
    json!({
        "model": ask.model.name,
        "stream": true,
        // Makes Ollama refuse what does not fit instead of truncating it silently. Old versions ignore it.
        "truncate": false,
        "options": without_nulls(limits),
        "format": options.schema,
        "think": options.effort.map(|effort| think(effort, &ask.model.name)),
    })
}

/// Most can only be told to think or not to; one family knows levels, and cannot be stopped.
fn think(effort: Effort, model: &str) -> Value {
    match effort {
        _ if !model.contains("gpt-oss") => json!(effort != Effort::None),
        effort => json!(effort.word().unwrap_or("low")),
    }
}

/// Writes a message of the user. Results are tied to calls by name here, and the calls are in the message `before`.
fn write_user(message: &Message, before: Option<&Message>, vision: VisionSupport, out: &mut Vec<u8>) {
    for part in &message.content {
        if let MessageContent::ToolResult { id, output } = part {
            let name = before.and_then(|message| called_name(message, id)).unwrap_or_default();
            let (text, images) = content::split_result(output, vision, "");
            let images = image_data(&images);
            let said =
                json!({ "role": "tool", "content": text, "images": images, "tool_name": sent_name(name) });
            write_element(out, &without_nulls(said));
        }
    }
    let (texts, images): (Vec<_>, Vec<_>) = content::parts(message, vision).partition(Part::is_text);
    if !images.is_empty() || !texts.is_empty() {
        let said = json!({ "role": "user", "content": joined(texts), "images": image_data(&images) });
        write_element(out, &without_nulls(said));
    }
}

fn image_data<'a>(images: &[Part<'a>]) -> Option<Vec<&'a str>> {
    let data = images.iter().filter_map(|image| match image {
        Part::Image { data, .. } => Some(*data),
        Part::Text(_) => None,
    });
    (!images.is_empty()).then(|| data.collect())
}

fn write_assistant(message: &Message, out: &mut Vec<u8>) {
    let texts = content::own_texts(message);
    let calls: Vec<Value> = message.content.iter().filter_map(call_entry).collect();
    if texts.is_empty() && calls.is_empty() {
        return;
    }
    let calls = (!calls.is_empty()).then_some(calls);
    let said = json!({ "role": "assistant", "content": joined(texts), "tool_calls": calls });
    write_element(out, &without_nulls(said));
}

fn call_entry(part: &MessageContent) -> Option<Value> {
    let MessageContent::ToolCall { name, arguments, .. } = part else { return None };
    Some(json!({ "function": { "name": sent_name(name), "arguments": sent_arguments(arguments) } }))
}

#[derive(Deserialize)]
struct Piece {
    message: Option<Said>,
    #[serde(default)]
    done: bool,
    done_reason: Option<String>,
    prompt_eval_count: Option<u64>,
    prompt_eval_cached_count: Option<u64>,
    eval_count: Option<u64>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Said {
    content: Option<String>,
    thinking: Option<String>,
    reasoning_content: Option<String>,
    tool_calls: Option<Vec<Asked>>,
}

#[derive(Deserialize)]
struct Asked {
    id: Option<String>,
    function: Option<Function>,
}

#[derive(Deserialize)]
struct Function {
    #[serde(default)]
    name: String,
    #[serde(default)]
    arguments: Value,
}

#[derive(Default)]
pub(in crate::wires) struct OllamaDecoder;

impl Decoder for OllamaDecoder {
    const FRAMING: Framing = Framing::Lines;

    fn event(&mut self, event: &StreamEvent, reply: &mut Assembly) -> ProviderResult<()> {
        let piece: Piece = event.json()?;
        if let Some(error) = &piece.error {
            return Err(reply.failure(error));
        }
        if let Some(said) = &piece.message {
            take(said, reply)?;
        }
        if piece.done {
            end(&piece, reply);
        }
        Ok(())
    }
}

fn take(said: &Said, reply: &mut Assembly) -> ProviderResult<()> {
    let thinking = said.thinking.as_deref().or(said.reasoning_content.as_deref());
    reply.think(thinking.unwrap_or_default(), || None)?;
    reply.text(said.content.as_deref().unwrap_or_default())?;
    for asked in said.tool_calls.iter().flatten() {
        let Some(function) = &asked.function else { continue };
        let call = reply.begin_call(asked.id.as_deref().unwrap_or_default(), &function.name)?;
        match &function.arguments {
            Value::Null => {}
            Value::String(text) => reply.set_arguments(call, text),
            value => reply.set_arguments(call, &value.to_string()),
        }
        reply.end_call(call);
    }
    Ok(())
}

fn end(piece: &Piece, reply: &mut Assembly) {
    if piece.prompt_eval_count.is_some() || piece.eval_count.is_some() {
        let input = piece.prompt_eval_count.unwrap_or(0);
        reply.usage(Usage {
            input,
            output: piece.eval_count.unwrap_or(0),
            cached_input: piece.prompt_eval_cached_count.unwrap_or(0).min(input),
            cache_write: 0,
        });
    }
    let reason = piece.done_reason.as_deref().filter(|reason| !reason.is_empty());
    reply.stop(reason.map_or(StopReason::EndTurn, stop_reason));
    reply.done();
}
