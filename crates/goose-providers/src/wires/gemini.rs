//! Google's `streamGenerateContent`: the Gemini API, and Gemini at Google's cloud.
//!
//! Calls come whole and often without ids, results are tied to them by name and order. A thought signature signs the
//! part that it arrives on and has to go back on the same part; a signature of its own is kept as a thought without
//! text.

use std::{borrow::Cow, collections::BTreeMap};

use goose_extension::{Message, MessageContent, Opaque, Role, Tool};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    error::{ProviderError, ProviderResult},
    failure,
    http::{UsualKey, WireHeaders},
    provider::Effort,
    reply::Usage,
    wires::{
        assembly::Assembly,
        body::{RequestBody, Schema, without_nulls, write_element},
        content::{self, Part, VisionSupport, sent_arguments},
        framing::StreamEvent,
        models,
        names::{called_name, is_generated, sent_id, sent_name},
        stream::{self, Decoder, not_events, stop_reason, text_at},
        wire::{Ask, Codec, Wire},
    },
};

/// The name under which what belongs to this wire is kept in a conversation.
const WIRE: &str = "gemini";

/// Stands for the signature of a call that another model made: Gemini 3 refuses the first call of a turn without one.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// A Gemini. The endpoint's URL names the model and the operation.
pub type Gemini = Wire<GenerateContent>;

/// The header with the key.
pub(crate) const GEMINI_HEADERS: WireHeaders =
    WireHeaders { key: UsualKey::Header("x-goog-api-key"), others: &[] };

/// The codec.
pub struct GenerateContent;

impl Codec for GenerateContent {
    type Decoder = GeminiDecoder;

    const MAX_TOOLS: Option<usize> = Some(128);

    const HEADERS: WireHeaders = GEMINI_HEADERS;

    const MAX_IMAGE_BYTES: usize = content::LARGE_IMAGE_BYTES;

    fn encode(ask: &Ask<'_>) -> Vec<u8> {
        let request = &ask.request;
        let functions: Vec<Function<'_>> = request.tools.iter().map(Function::from).collect();
        let tools = (!functions.is_empty()).then(|| BTreeMap::from([("functionDeclarations", functions)]));
        RequestBody::new(head(ask))
            .list("tools", tools)
            .written_list("contents", |out| {
                let write =
                    |message: &_, before: Option<&_>, out: &mut _| write_message(ask, message, before, out);
                ask.history.write(request.messages, write, out);
            })
            .finish()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Function<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    /// Takes any JSON Schema; the older `parameters` refuses `$ref` and more.
    parameters_json_schema: Schema<'a>,
}

impl<'a> From<&'a Tool> for Function<'a> {
    fn from(tool: &'a Tool) -> Self {
        let parameters_json_schema = Schema(tool.input_schema());
        Self { name: tool.name(), description: tool.description(), parameters_json_schema }
    }
}

fn head(ask: &Ask<'_>) -> Value {
    let (system, options) = (ask.request.system, ask.request.options);
    let thinking = without_nulls(thinking(options.effort, &ask.model.name));
    let config = json!({
        "temperature": ask.temperature(),
        "maxOutputTokens": options.max_tokens,
        "thinkingConfig": Some(thinking).filter(|thinking| *thinking != json!({})),
    });
    let instruction = (!system.is_empty()).then(|| json!({ "parts": [{ "text": system }] }));
    json!({ "generationConfig": without_nulls(config), "systemInstruction": instruction })
}

/// Gemini thinks from 2.5 on, and older ones refuse to be asked for thoughts; from 3 on effort has levels, before it is
/// a budget. No effort at all cannot be asked of every model, so nothing is said then.
fn thinking(effort: Option<Effort>, model: &str) -> Value {
    let version = models::gemini_version(model);
    let shows = version.is_some_and(|version| version >= (2, 5)) && !model.contains("image");
    let has_levels = version.is_some_and(|version| version >= (3, 0)) || model.contains("gemma-4");
    let has_budget = !has_levels && version.is_none_or(|version| version >= (2, 5));
    let (level, budget) = match effort {
        None | Some(Effort::None) => (None, None),
        Some(Effort::Low) => (Some("LOW"), Some(1_000)),
        Some(Effort::Medium) => (Some("MEDIUM"), Some(8_000)),
        Some(Effort::High) => (Some("HIGH"), Some(24_000)),
    };
    json!({
        "includeThoughts": shows.then_some(true),
        "thinkingLevel": level.filter(|_| has_levels),
        "thinkingBudget": budget.filter(|_| has_budget),
    })
}

fn write_message(ask: &Ask<'_>, message: &Message, before: Option<&Message>, out: &mut Vec<u8>) {
    if message.role == Role::Assistant {
        let needs_signature =
            models::gemini_version(&ask.model.name).is_some_and(|version| version >= (3, 0));
        return write_content(out, "model", model_parts(message, needs_signature));
    }
    let (mut results, mut parts) = (Vec::new(), Vec::new());
    for part in &message.content {
        if let MessageContent::ToolResult { id, output } = part {
            let (text, images) = content::split_result(output, ask.vision(), "(the image follows)");
            parts.extend(images);
            let name = before.and_then(|before| called_name(before, id)).unwrap_or_default();
            let response =
                json!({ "id": own_id(id), "name": sent_name(name), "response": { "content": text } });
            results.push(json!({ "functionResponse": without_nulls(response) }));
        }
    }
    parts.extend(content::parts(message, ask.vision()));
    write_content(out, "user", results);
    write_content(out, "user", parts.into_iter().map(sent_part).collect());
}

fn write_content(out: &mut Vec<u8>, role: &'static str, parts: Vec<Value>) {
    if !parts.is_empty() {
        write_element(out, &json!({ "role": role, "parts": parts }));
    }
}

fn sent_part(part: Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({ "text": text }),
        Part::Image { mime_type, data } => {
            json!({ "inline_data": { "mime_type": mime_type, "data": data } })
        }
    }
}

fn model_parts(message: &Message, needs_signature: bool) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut pending = None;
    let mut is_first_call = true;
    for part in &message.content {
        match part {
            MessageContent::Reasoning(thought) => {
                pending = signature(&thought.opaque).or(pending);
            }
            MessageContent::ToolCall { id, name, arguments, opaque } => {
                let placeholder = (needs_signature && is_first_call).then_some(NO_SIGNATURE);
                is_first_call = false;
                let call =
                    json!({ "id": own_id(id), "name": sent_name(name), "args": sent_arguments(arguments) });
                let call = json!({ "functionCall": without_nulls(call) });
                parts.push(signed(call, signature(opaque).or_else(|| pending.take()).or(placeholder)));
            }
            MessageContent::Block(block) => {
                let sent = content::part(block, VisionSupport::Unsupported).map(sent_part);
                parts.extend(sent.map(|part| signed(part, pending.take())));
            }
            _ => {}
        }
    }
    if pending.is_some() && !parts.is_empty() {
        parts.push(signed(json!({ "text": "" }), pending));
    }
    parts
}

fn signed(mut part: Value, signature: Option<&str>) -> Value {
    if let Some(signature) = signature {
        part["thoughtSignature"] = signature.into();
    }
    part
}

/// Returns the id that Gemini gave. It is not told ids that it does not know.
fn own_id(id: &str) -> Option<Cow<'_, str>> {
    (!is_generated(id)).then(|| sent_id(id))
}

fn signature(opaque: &Option<Opaque>) -> Option<&str> {
    content::opaque_data(opaque, WIRE)?.get(0)?.as_str()
}

/// Reads an answer.
#[derive(Default)]
pub(crate) struct GeminiDecoder;

impl Decoder for GeminiDecoder {
    fn event(&mut self, event: &StreamEvent, reply: &mut Assembly) -> ProviderResult<()> {
        let value: Value = event.json()?;
        reply.fail_on_error(&value)?;
        if !value.is_object() {
            return Err(not_events());
        }
        read_chunk(&value, reply)?;
        // The reason to stop is in the last chunk, and nothing marks the end besides.
        if reply.has_stopped() {
            reply.done();
        }
        Ok(())
    }

    /// Without `alt=sse` the chunks are the elements of a list.
    fn whole(&mut self, answer: Value, reply: &mut Assembly) -> ProviderResult<()> {
        let chunks = match answer {
            Value::Array(chunks) => chunks,
            chunk => vec![chunk],
        };
        chunks.into_iter().try_for_each(|chunk| read_chunk(&stream::whole(chunk, "candidates")?, reply))
    }
}

fn read_chunk(chunk: &Value, reply: &mut Assembly) -> ProviderResult<()> {
    let blocked = text_at(chunk, "/promptFeedback/blockReason");
    if !blocked.is_empty() {
        let message = format!("the service blocked the request ({})", failure::clean(blocked));
        return Err(ProviderError::Refused { status: None, message });
    }
    let parts = chunk.pointer("/candidates/0/content/parts").and_then(Value::as_array);
    parts.into_iter().flatten().try_for_each(|part| read_part(part, reply))?;
    let reason = text_at(chunk, "/candidates/0/finishReason");
    if !reason.is_empty() {
        reply.usage(usage_of(chunk));
        reply.stop(stop_reason(reason));
    }
    Ok(())
}

fn read_part(part: &Value, reply: &mut Assembly) -> ProviderResult<()> {
    let signature = part.get("thoughtSignature").filter(|signature| signature.is_string());
    let opaque = signature.map(|text| Opaque { wire: WIRE.to_owned(), data: json!([text]) });
    if let Some(function) = part.get("functionCall") {
        let call = reply.begin_call(text_at(function, "/id"), text_at(function, "/name"))?;
        if let Some(arguments) = function.get("args") {
            reply.set_arguments(call, &arguments.to_string());
        }
        opaque.into_iter().try_for_each(|opaque| reply.attach(call, opaque))?;
        reply.end_call(call);
        return Ok(());
    }
    let (text, is_thought) = (text_at(part, "/text"), part.get("thought") == Some(&Value::Bool(true)));
    if is_thought {
        reply.think(text, || None)?;
    }
    if let Some(opaque) = opaque {
        let bytes = opaque.data.to_string().len();
        reply.annotate_thought(bytes, |kept| *kept = Some(opaque))?;
    }
    if is_thought { Ok(()) } else { reply.text(text) }
}

/// Returns the usage. On this wire cached input is part of the input, but thoughts are not part of the output.
fn usage_of(chunk: &Value) -> Usage {
    let usage = chunk.get("usageMetadata").unwrap_or(&Value::Null);
    let number = |field: &str| usage.get(field).and_then(Value::as_u64).unwrap_or(0);
    Usage {
        input: number("promptTokenCount").saturating_add(number("toolUsePromptTokenCount")),
        output: number("candidatesTokenCount").saturating_add(number("thoughtsTokenCount")),
        cached_input: number("cachedContentTokenCount"),
        cache_write: 0,
    }
}
