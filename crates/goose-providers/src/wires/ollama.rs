//! Ollama's own API. Its OpenAI-like one cannot be told how much of a conversation to keep, and cuts the rest silently;
//! here the size is sent, and what does not fit is an error. Results name their tool, images stand beside the text, and
//! an answer is one JSON object per line.

use std::borrow::Cow;

use goose_extension::{Message, MessageContent, Role, ToolOutput};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    endpoint::Endpoint,
    error::ProviderResult,
    failure,
    provider::Effort,
    reply::{StopReason, Usage},
    wires::{
        assembly::Assembly,
        body::{RequestBody, ToolEntry, write_element},
        content::{self, ArgumentObject, Part, VisionSupport, joined, result_text},
        framing::{Framing, StreamEvent},
        names::{called_name, sent_name},
        stream::{Decoder, unreadable},
        wire::{Ask, Codec, Wire},
    },
};

/// A model that Ollama runs. [`ModelInfo::context_limit`](crate::ModelInfo::context_limit) is the room that it is given.
pub type Ollama = Wire<Native>;

/// The codec.
pub struct Native;

impl Codec for Native {
    type Decoder = OllamaDecoder;

    const HEADERS: &'static [(&'static str, &'static str)] = &[("accept", "application/x-ndjson")];

    fn encode(ask: &Ask<'_>) -> Vec<u8> {
        body(ask)
    }
}

#[derive(Serialize)]
struct Head<'a> {
    model: &'a str,
    stream: bool,
    /// Makes Ollama refuse what does not fit instead of truncating it silently. Old versions ignore it.
    truncate: bool,
    options: Options,
    #[serde(skip_serializing_if = "Option::is_none")]
    think: Option<Think>,
}

#[derive(Serialize)]
struct Options {
    num_ctx: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_predict: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Think {
    Switch(bool),
    Level(&'static str),
}

/// The body of a request.
fn body(ask: &Ask<'_>) -> Vec<u8> {
    RequestBody::new(&head(ask))
        .list("tools", ask.request.tools.iter().map(ToolEntry::from))
        .written_list("messages", |out| write_messages(ask, out))
        .finish()
}

fn write_messages(ask: &Ask<'_>, out: &mut Vec<u8>) {
    let (request, vision) = (&ask.request, ask.vision());
    if !request.system.is_empty() {
        write_system(request.system, out);
    }
    let write = |message: &Message, before: Option<&Message>, out: &mut Vec<u8>| {
        write(message, before, vision, out);
    };
    ask.history.write(request.messages, write, out);
}

fn head<'a>(ask: &'a Ask<'a>) -> Head<'a> {
    let options = ask.request.options;
    Head {
        model: &ask.model.name,
        stream: true,
        truncate: false,
        options: Options {
            num_ctx: ask.model.context_limit,
            num_predict: options.max_tokens,
            temperature: options.temperature,
        },
        think: options.effort.map(|effort| think(effort, &ask.model.name)),
    }
}

/// Most can only be told to think or not to; one family knows levels, and cannot be stopped.
fn think(effort: Effort, model: &str) -> Think {
    match effort {
        _ if !model.contains("gpt-oss") => Think::Switch(effort != Effort::None),
        effort => Think::Level(effort.word().unwrap_or("low")),
    }
}

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
fn write_system(text: &str, out: &mut Vec<u8>) {
    write_element(out, &Entry { role: "system", content: Cow::Borrowed(text), ..Entry::default() });
}

/// Writes a message, as none, one or several of the wire's. Results are tied to calls by name here, and the calls are in
/// the message `before`.
fn write(message: &Message, before: Option<&Message>, vision: VisionSupport, out: &mut Vec<u8>) {
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

/// Longest unknown stop reason.
const MAX_REASON_CHARS: usize = 100;

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

pub(in crate::wires) struct OllamaDecoder {
    endpoint: Endpoint,
}

impl Decoder for OllamaDecoder {
    const FRAMING: Framing = Framing::Lines;

    fn new(endpoint: Endpoint) -> Self {
        Self { endpoint }
    }

    fn event(&mut self, event: &StreamEvent, reply: &mut Assembly) -> ProviderResult<()> {
        let piece = serde_json::from_str(&event.data).map_err(|error| unreadable(&error, &event.data))?;
        self.piece(piece, reply)
    }
}

impl OllamaDecoder {
    fn piece(&self, piece: Piece, reply: &mut Assembly) -> ProviderResult<()> {
        if let Some(error) = piece.error.as_ref().filter(|error| !error.is_null()) {
            return Err(failure::from_value(&self.endpoint, error));
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
    reply.stop(match piece.done_reason.as_deref() {
        None | Some("stop" | "") => StopReason::EndTurn,
        Some("length") => StopReason::MaxTokens,
        Some(other) => StopReason::Other(other.chars().take(MAX_REASON_CHARS).collect()),
    });
    reply.done();
}
