//! Amazon's `converse-stream`, asked with an API key of Bedrock's own. Its answers are binary frames with JSON inside.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
};

use goose_extension::{Message, MessageContent, Opaque, Reasoning, Role, Tool};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    endpoint::Endpoint,
    error::{ProviderError, ProviderResult},
    failure,
    provider::Effort,
    reply::{StopReason, Usage},
    wires::{
        anthropic::claude_options,
        assembly::Assembly,
        body::{RequestBody, Schema, write_element},
        content::{self, ArgumentObject, Part, VisionSupport, joined, result_text},
        framing::{Framing, StreamEvent},
        names::{sent_id, sent_name},
        stream::{Decoder, text_at, unreadable},
        wire::{Ask, Codec, Wire},
    },
};

/// The name under which what belongs to this wire is kept in a conversation.
const WIRE: &str = "bedrock";

/// A model at Amazon Bedrock. The endpoint's URL names the model and the operation.
pub type Bedrock = Wire<Converse>;

/// The codec.
pub struct Converse;

impl Codec for Converse {
    type Decoder = ConverseDecoder;

    const HEADERS: &'static [(&'static str, &'static str)] =
        &[("accept", "application/vnd.amazon.eventstream")];

    fn encode(ask: &Ask<'_>) -> Vec<u8> {
        let request = &ask.request;
        let system = (!request.system.is_empty()).then(|| Block::Text(request.system.into()));
        RequestBody::new(&head(ask))
            .list("system", system)
            .written_list("messages", |out| {
                let vision = ask.vision();
                let write = |message: &Message, _: Option<&Message>, out: &mut Vec<u8>| {
                    write_message(message, vision, out);
                };
                ask.history.write(request.messages, write, out);
            })
            .finish()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    inference_config: InferenceConfig,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_model_request_fields: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InferenceConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
}

#[derive(Serialize)]
struct Said<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Block<'a> {
    Text(Cow<'a, str>),
    Image { format: &'static str, source: BTreeMap<&'static str, &'a str> },
    ToolUse { tool_use_id: Cow<'a, str>, name: Cow<'a, str>, input: ArgumentObject<'a> },
    ToolResult { tool_use_id: Cow<'a, str>, content: [Box<Block<'a>>; 1] },
    ReasoningContent(Thought<'a>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Thought<'a> {
    ReasoningText { text: &'a str, signature: &'a str },
    RedactedContent(&'a str),
}

impl<'a> From<Part<'a>> for Block<'a> {
    fn from(part: Part<'a>) -> Self {
        match part {
            Part::Text(text) => Self::Text(text),
            Part::Image { mime_type, data } => Self::Image {
                format: mime_type.strip_prefix("image/").unwrap_or(mime_type),
                source: [("bytes", data)].into(),
            },
        }
    }
}

fn head(ask: &Ask<'_>) -> Head {
    let (inference_config, additional_model_request_fields) = model_options(ask);
    let tools: Vec<Value> = ask.request.tools.iter().map(tool_entry).collect();
    let tool_config = (!tools.is_empty()).then(|| json!({ "tools": tools }));
    Head { inference_config, additional_model_request_fields, tool_config }
}

fn tool_entry(tool: &Tool) -> Value {
    // An empty description is refused.
    let description = if tool.description().is_empty() { tool.name() } else { tool.description() };
    let schema = json!({ "json": Schema(tool.input_schema()) });
    json!({ "toolSpec": { "name": tool.name(), "description": description, "inputSchema": schema } })
}

/// Returns the limits, and effort as the maker of the model calls it.
fn model_options(ask: &Ask<'_>) -> (InferenceConfig, Option<Value>) {
    let (model, options) = (ask.model.name.as_str(), ask.request.options);
    let mut config = InferenceConfig { max_tokens: options.max_tokens, temperature: options.temperature };
    if model.contains("claude") {
        let claude = claude_options(ask, WIRE);
        config.max_tokens = options.max_tokens.map(|wanted| claude.max_tokens(wanted));
        config.temperature = claude.temperature;
        let fields = json!(claude.thinking);
        return (config, Some(fields).filter(|fields| *fields != json!({})));
    }
    let Some(effort) = options.effort.and_then(Effort::word) else { return (config, None) };
    if model.contains("nova-2") {
        // Nova refuses limits beside its highest effort.
        if effort == "high" {
            config = InferenceConfig { max_tokens: None, temperature: None };
        }
        let fields = json!({ "type": "enabled", "maxReasoningEffort": effort });
        return (config, Some(json!({ "reasoningConfig": fields })));
    }
    (config, model.contains("openai.").then(|| json!({ "reasoning_effort": effort })))
}

fn write_message(message: &Message, vision: VisionSupport, out: &mut Vec<u8>) {
    let (role, content) = match message.role {
        Role::Assistant => ("assistant", assistant_blocks(message)),
        _ => ("user", user_blocks(message, vision)),
    };
    if !content.is_empty() {
        write_element(out, &Said { role, content });
    }
}

/// Results come first, and their images after them: not every model takes images inside of results.
fn user_blocks(message: &Message, vision: VisionSupport) -> Vec<Block<'_>> {
    let (mut blocks, mut images) = (Vec::new(), Vec::new());
    for part in &message.content {
        let MessageContent::ToolResult { id, output } = part else { continue };
        let (texts, pictures): (Vec<Part<'_>>, Vec<Part<'_>>) =
            content::result_parts(output, vision).into_iter().partition(Part::is_text);
        images.extend(pictures.into_iter().map(Block::from));
        let text = if texts.is_empty() { Cow::Borrowed("(the image follows)") } else { joined(texts) };
        let text = result_text(text, output.is_error);
        blocks.push(Block::ToolResult { tool_use_id: sent_id(id), content: [Box::new(Block::Text(text))] });
    }
    blocks.extend(images);
    blocks.extend(content::parts(message, vision).map(Block::from));
    blocks
}

/// A thought that nothing follows is refused.
fn assistant_blocks(message: &Message) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = message.content.iter().filter_map(assistant_block).collect();
    while matches!(blocks.last(), Some(Block::ReasoningContent(_))) {
        blocks.pop();
    }
    blocks
}

fn assistant_block(part: &MessageContent) -> Option<Block<'_>> {
    match part {
        MessageContent::Block(block) => content::part(block, VisionSupport::Unsupported).map(Block::from),
        MessageContent::Reasoning(thought) => thought_block(thought),
        MessageContent::ToolCall { id, name, arguments, .. } => Some(Block::ToolUse {
            tool_use_id: sent_id(id),
            name: sent_name(name),
            input: ArgumentObject(arguments),
        }),
        _ => None,
    }
}

fn thought_block(thought: &Reasoning) -> Option<Block<'_>> {
    let signature = content::opaque_data(&thought.opaque, WIRE)?.get(0)?.as_str()?;
    Some(Block::ReasoningContent(match thought.text.as_str() {
        "" => Thought::RedactedContent(signature),
        text => Thought::ReasoningText { text, signature },
    }))
}

/// Reads an answer.
pub(crate) struct ConverseDecoder {
    endpoint: Endpoint,
    /// The open calls by the number of their block; never more than an answer may have.
    calls: HashMap<u64, usize>,
    last: Option<usize>,
}

impl Decoder for ConverseDecoder {
    const FRAMING: Framing = Framing::Frames;

    fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, calls: HashMap::new(), last: None }
    }

    fn event(&mut self, event: &StreamEvent, reply: &mut Assembly) -> ProviderResult<()> {
        let value: Value =
            serde_json::from_str(&event.data).map_err(|error| unreadable(&error, &event.data))?;
        if let Some(exception) = event.name.strip_prefix('!') {
            return Err(self.exception(exception, &value));
        }
        let index = value.get("contentBlockIndex").and_then(Value::as_u64).unwrap_or(0);
        match event.name.as_str() {
            "contentBlockStart" => {
                if let Some(tool) = value.pointer("/start/toolUse") {
                    let call = reply.begin_call(text_at(tool, "/toolUseId"), text_at(tool, "/name"))?;
                    self.calls.insert(index, call);
                    self.last = Some(call);
                }
            }
            "contentBlockDelta" => self.grow(index, &value, reply)?,
            "contentBlockStop" => {
                reply.end_thinking();
                if let Some(call) = self.calls.remove(&index) {
                    reply.end_call(call);
                }
            }
            "messageStop" => reply.stop(stop_of(text_at(&value, "/stopReason"))),
            "metadata" => {
                reply.usage(usage_of(&value));
                if reply.has_stopped() {
                    reply.done();
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl ConverseDecoder {
    fn grow(&self, index: u64, value: &Value, reply: &mut Assembly) -> ProviderResult<()> {
        reply.text(text_at(value, "/delta/text"))?;
        if let Some(call) = self.calls.get(&index).copied().or(self.last) {
            reply.add_arguments(call, text_at(value, "/delta/toolUse/input"));
        }
        reply.think(text_at(value, "/delta/reasoningContent/text"), || None)?;
        let signed = ["/delta/reasoningContent/signature", "/delta/reasoningContent/redactedContent"];
        for signature in signed.map(|at| text_at(value, at)).into_iter().filter(|text| !text.is_empty()) {
            reply.annotate_thought(signature.len(), |kept| {
                let before = kept.take().and_then(|kept| Some(kept.data.get(0)?.as_str()?.to_owned()));
                let whole = before.unwrap_or_default() + signature;
                *kept = Some(Opaque { wire: WIRE.to_owned(), data: json!([whole]) });
            })?;
        }
        Ok(())
    }

    fn exception(&self, name: &str, value: &Value) -> ProviderError {
        let code = match name {
            "throttlingException" => 429,
            "validationException" => 400,
            "serviceUnavailableException" => 503,
            _ => 500,
        };
        let message = [text_at(value, "/message"), text_at(value, "/Message"), name];
        let message = message.into_iter().find(|text| !text.is_empty());
        failure::from_value(&self.endpoint, &json!({ "code": code, "message": message }))
    }
}

/// Returns the usage. Cached input is counted apart on this wire.
fn usage_of(value: &Value) -> Usage {
    let number = |field: &str| value.pointer(field).and_then(Value::as_u64).unwrap_or(0);
    let (cached_input, cache_write) =
        (number("/usage/cacheReadInputTokens"), number("/usage/cacheWriteInputTokens"));
    let input = number("/usage/inputTokens").saturating_add(cached_input).saturating_add(cache_write);
    Usage { input, output: number("/usage/outputTokens"), cached_input, cache_write }
}

fn stop_of(reason: &str) -> StopReason {
    match reason {
        "end_turn" | "stop_sequence" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
        "guardrail_intervened" | "content_filtered" => StopReason::Refused,
        other => StopReason::Other(failure::clean(other)),
    }
}
