//! Google's `streamGenerateContent`: the Gemini API, and Gemini at Google's cloud.
//!
//! Calls come whole and often without ids, results are tied to them by name and order. A thought signature signs the
//! part that it arrives on and has to go back on the same part; a signature of its own is kept as a thought without text.

use std::{borrow::Cow, collections::BTreeMap};

use goose_extension::{Message, MessageContent, Opaque, Role, Tool};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    endpoint::Endpoint,
    error::{ProviderError, ProviderResult},
    failure,
    http::UsualKey,
    provider::Effort,
    reply::{StopReason, Usage},
    wires::{
        assembly::Assembly,
        body::{RequestBody, Schema, write_element},
        content::{self, ArgumentObject, Part, VisionSupport, joined, result_text},
        framing::StreamEvent,
        models,
        names::{called_name, is_generated, sent_id, sent_name},
        stream::{self, Decoder, fail_on_error, not_events, text_at, unreadable},
        wire::{Ask, Codec, Wire},
    },
};

/// The name under which what belongs to this wire is kept in a conversation.
const WIRE: &str = "gemini";

/// Stands for the signature of a call that another model made: Gemini 3 refuses the first call of a turn without one.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// A Gemini. The endpoint's URL names the model and the operation.
pub type Gemini = Wire<GenerateContent>;

/// The codec.
pub struct GenerateContent;

impl Codec for GenerateContent {
    type Decoder = GeminiDecoder;

    const MAX_TOOLS: Option<usize> = Some(128);

    const USUAL_KEY: UsualKey = UsualKey::Header("x-goog-api-key");

    fn encode(ask: &Ask<'_>) -> Vec<u8> {
        let request = &ask.request;
        let functions: Vec<Function<'_>> = request.tools.iter().map(Function::from).collect();
        let tools = (!functions.is_empty()).then(|| BTreeMap::from([("functionDeclarations", functions)]));
        RequestBody::new(&Head::new(ask))
            .list("tools", tools)
            .written_list("contents", |out| {
                let write = |message: &Message, before: Option<&Message>, out: &mut Vec<u8>| {
                    write_message(ask, message, before, out);
                };
                ask.history.write(request.messages, write, out);
            })
            .finish()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    generation_config: GenerationConfig,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Content<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
}

#[derive(Serialize, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
struct ThinkingConfig {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    include_thoughts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u32>,
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

#[derive(Serialize)]
struct Content<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    role: &'static str,
    parts: Vec<SentPart<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SentPart<'a> {
    #[serde(flatten)]
    data: Payload<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Payload<'a> {
    Text(Cow<'a, str>),
    #[serde(rename = "inline_data")]
    InlineData {
        mime_type: &'static str,
        data: &'a str,
    },
    FunctionCall {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<Cow<'a, str>>,
        name: Cow<'a, str>,
        args: ArgumentObject<'a>,
    },
    FunctionResponse {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<Cow<'a, str>>,
        name: Cow<'a, str>,
        response: BTreeMap<&'static str, Cow<'a, str>>,
    },
}

impl<'a> From<&'a Tool> for Function<'a> {
    fn from(tool: &'a Tool) -> Self {
        let parameters_json_schema = Schema(tool.input_schema());
        Self { name: tool.name(), description: tool.description(), parameters_json_schema }
    }
}

impl<'a> From<Part<'a>> for SentPart<'a> {
    fn from(part: Part<'a>) -> Self {
        let data = match part {
            Part::Text(text) => Payload::Text(text),
            Part::Image { mime_type, data } => Payload::InlineData { mime_type, data },
        };
        Self { data, thought_signature: None }
    }
}

impl<'a> Head<'a> {
    fn new(ask: &Ask<'a>) -> Self {
        let options = ask.request.options;
        let thinking = thinking(options.effort, &ask.model.name);
        let system = (!ask.request.system.is_empty()).then(|| Part::Text(ask.request.system.into()).into());
        Self {
            generation_config: GenerationConfig {
                temperature: options.temperature,
                max_output_tokens: options.max_tokens,
                thinking_config: (thinking != ThinkingConfig::default()).then_some(thinking),
            },
            system_instruction: system.map(|part| Content { role: "", parts: vec![part] }),
        }
    }
}

/// Gemini thinks from 2.5 on, and older ones refuse to be asked for thoughts; from 3 on effort has levels, before it is
/// a budget. No effort at all cannot be asked of every model, so nothing is said then.
fn thinking(effort: Option<Effort>, model: &str) -> ThinkingConfig {
    let version = models::gemini_version(model);
    let mut config = ThinkingConfig {
        include_thoughts: version.is_some_and(|version| version >= (2, 5)) && !model.contains("image"),
        ..ThinkingConfig::default()
    };
    let levels = version.is_some_and(|version| version >= (3, 0)) || model.contains("gemma-4");
    let (level, budget) = match effort {
        None | Some(Effort::None) => return config,
        Some(Effort::Low) => ("LOW", 1_000),
        Some(Effort::Medium) => ("MEDIUM", 8_000),
        Some(Effort::High) => ("HIGH", 24_000),
    };
    if levels {
        config.thinking_level = Some(level);
    } else if version.is_none_or(|version| version >= (2, 5)) {
        config.thinking_budget = Some(budget);
    }
    config
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
            let (texts, images): (Vec<Part<'_>>, Vec<Part<'_>>) =
                content::result_parts(output, ask.vision()).into_iter().partition(Part::is_text);
            parts.extend(images.into_iter().map(SentPart::from));
            let text = if texts.is_empty() { Cow::Borrowed("(the image follows)") } else { joined(texts) };
            let data = Payload::FunctionResponse {
                id: own_id(id),
                name: sent_name(before.and_then(|before| called_name(before, id)).unwrap_or_default()),
                response: [("content", result_text(text, output.is_error))].into(),
            };
            results.push(SentPart { data, thought_signature: None });
        }
    }
    parts.extend(content::parts(message, ask.vision()).map(SentPart::from));
    write_content(out, "user", results);
    write_content(out, "user", parts);
}

fn write_content(out: &mut Vec<u8>, role: &'static str, parts: Vec<SentPart<'_>>) {
    if !parts.is_empty() {
        write_element(out, &Content { role, parts });
    }
}

fn model_parts(message: &Message, needs_signature: bool) -> Vec<SentPart<'_>> {
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
                parts.push(SentPart {
                    data: Payload::FunctionCall {
                        id: own_id(id),
                        name: sent_name(name),
                        args: ArgumentObject(arguments),
                    },
                    thought_signature: signature(opaque).or_else(|| pending.take()).or(placeholder),
                });
            }
            MessageContent::Block(block) => {
                let sent = content::part(block, VisionSupport::Unsupported).map(SentPart::from);
                parts.extend(sent.map(|part| SentPart { thought_signature: pending.take(), ..part }));
            }
            _ => {}
        }
    }
    let last = |signature| SentPart { data: Payload::Text("".into()), thought_signature: Some(signature) };
    parts.extend(pending.filter(|_| !parts.is_empty()).map(last));
    parts
}

/// Returns the id that Gemini gave. It is not told ids that it does not know.
fn own_id(id: &str) -> Option<Cow<'_, str>> {
    (!is_generated(id)).then(|| sent_id(id))
}

fn signature(opaque: &Option<Opaque>) -> Option<&str> {
    content::opaque_data(opaque, WIRE)?.get(0)?.as_str()
}

/// Reads an answer.
pub(crate) struct GeminiDecoder {
    endpoint: Endpoint,
}

impl Decoder for GeminiDecoder {
    fn new(endpoint: Endpoint) -> Self {
        Self { endpoint }
    }

    fn event(&mut self, event: &StreamEvent, reply: &mut Assembly) -> ProviderResult<()> {
        let value: Value =
            serde_json::from_str(&event.data).map_err(|error| unreadable(&error, &event.data))?;
        fail_on_error(&self.endpoint, &value)?;
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
        reply.stop(stop_of(reason));
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

fn stop_of(reason: &str) -> StopReason {
    match reason {
        "STOP" => StopReason::EndTurn,
        "MAX_TOKENS" => StopReason::MaxTokens,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY" => {
            StopReason::Refused
        }
        other => StopReason::Other(failure::clean(other)),
    }
}
