//! Amazon's `converse-stream`, asked with an API key of Bedrock's own. Its answers are binary frames with JSON inside.

use std::collections::HashMap;

use goose_extension::{Message, MessageContent, Opaque, Reasoning, Role, Tool};
use serde_json::{Value, json};

use crate::{
    error::ProviderResult,
    http::WireHeaders,
    provider::Effort,
    reply::Usage,
    wires::{
        anthropic::claude_options,
        assembly::Assembly,
        body::{RequestBody, Schema, without_nulls, write_element},
        content::{self, Part, VisionSupport, sent_arguments},
        framing::{Framing, StreamEvent},
        names::{sent_id, sent_name},
        stream::{Decoder, stop_reason, text_at},
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

    const HEADERS: WireHeaders =
        WireHeaders { others: &[("accept", "application/vnd.amazon.eventstream")], ..WireHeaders::BEARER };

    fn encode(ask: &Ask<'_>) -> Vec<u8> {
        let (system, vision) = (ask.request.system, ask.vision());
        RequestBody::new(head(ask))
            .list("system", (!system.is_empty()).then(|| json!({ "text": system })))
            .written_list("messages", |out| {
                let write = |message: &_, _: Option<&_>, out: &mut _| write_message(message, vision, out);
                ask.history.write(ask.request.messages, write, out);
            })
            .finish()
    }
}

fn head(ask: &Ask<'_>) -> Value {
    let (config, fields) = model_options(ask);
    let tools: Vec<Value> = ask.request.tools.iter().map(tool_entry).collect();
    json!({
        "inferenceConfig": without_nulls(config),
        "additionalModelRequestFields": fields,
        "toolConfig": (!tools.is_empty()).then(|| json!({ "tools": tools })),
    })
}

fn tool_entry(tool: &Tool) -> Value {
    // An empty description is refused.
    let description = if tool.description().is_empty() { tool.name() } else { tool.description() };
    let schema = json!({ "json": Schema(tool.input_schema()) });
    json!({ "toolSpec": { "name": tool.name(), "description": description, "inputSchema": schema } })
}

/// Returns the limits, and effort as the maker of the model calls it.
fn model_options(ask: &Ask<'_>) -> (Value, Option<Value>) {
    let (model, options) = (ask.model.name.as_str(), ask.request.options);
    if model.contains("claude") {
        let claude = claude_options(ask, WIRE);
        let max_tokens = options.max_tokens.map(|wanted| claude.max_tokens(wanted));
        let fields =
            without_nulls(json!({ "thinking": claude.thinking, "output_config": claude.output_config }));
        let config = json!({ "maxTokens": max_tokens, "temperature": claude.temperature });
        return (config, Some(fields).filter(|fields| *fields != json!({})));
    }
    let config = json!({ "maxTokens": options.max_tokens, "temperature": ask.temperature() });
    let Some(effort) = options.effort.and_then(Effort::word) else { return (config, None) };
    if model.contains("nova-2") {
        // Nova refuses limits beside its highest effort.
        let config = if effort == "high" { json!({}) } else { config };
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
        write_element(out, &json!({ "role": role, "content": content }));
    }
}

fn block(part: Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({ "text": text }),
        Part::Image { mime_type, data } => {
            let format = mime_type.strip_prefix("image/").unwrap_or(mime_type);
            json!({ "image": { "format": format, "source": { "bytes": data } } })
        }
    }
}

/// Results come first, and their images after them: not every model takes images inside of results.
fn user_blocks(message: &Message, vision: VisionSupport) -> Vec<Value> {
    let (mut blocks, mut images) = (Vec::new(), Vec::new());
    for part in &message.content {
        let MessageContent::ToolResult { id, output } = part else { continue };
        let (text, pictures) = content::split_result(output, vision, "(the image follows)");
        images.extend(pictures);
        let result = json!({ "toolUseId": sent_id(id), "content": [{ "text": text }] });
        blocks.push(json!({ "toolResult": result }));
    }
    blocks.extend(images.into_iter().chain(content::parts(message, vision)).map(block));
    blocks
}

/// A thought that nothing follows is refused.
fn assistant_blocks(message: &Message) -> Vec<Value> {
    let mut blocks: Vec<Value> = message.content.iter().filter_map(assistant_block).collect();
    while blocks.last().is_some_and(|block| block.get("reasoningContent").is_some()) {
        blocks.pop();
    }
    blocks
}

fn assistant_block(part: &MessageContent) -> Option<Value> {
    match part {
        MessageContent::Block(inner) => content::part(inner, VisionSupport::Unsupported).map(block),
        MessageContent::Reasoning(thought) => thought_block(thought),
        MessageContent::ToolCall { id, name, arguments, .. } => {
            let (name, input) = (sent_name(name), sent_arguments(arguments));
            Some(json!({ "toolUse": { "toolUseId": sent_id(id), "name": name, "input": input } }))
        }
        _ => None,
    }
}

fn thought_block(thought: &Reasoning) -> Option<Value> {
    let signature = content::opaque_data(&thought.opaque, WIRE)?.get(0)?.as_str()?;
    Some(json!({ "reasoningContent": match thought.text.as_str() {
        "" => json!({ "redactedContent": signature }),
        text => json!({ "reasoningText": { "text": text, "signature": signature } }),
    } }))
}

/// Reads an answer.
#[derive(Default)]
pub(crate) struct ConverseDecoder {
    /// The open calls by the number of their block; never more than an answer may have.
    calls: HashMap<u64, usize>,
    last: Option<usize>,
}

impl Decoder for ConverseDecoder {
    const FRAMING: Framing = Framing::Frames;

    fn event(&mut self, event: &StreamEvent, reply: &mut Assembly) -> ProviderResult<()> {
        let value: Value = event.json()?;
        if let Some(exception) = event.name.strip_prefix('!') {
            return Err(reply.failure(&exception_of(exception, &value)));
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
            "messageStop" => reply.stop(stop_reason(text_at(&value, "/stopReason"))),
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
}

/// Returns an exception in the form that other services have for an error.
fn exception_of(name: &str, value: &Value) -> Value {
    let code = match name {
        "throttlingException" => 429,
        "validationException" => 400,
        "serviceUnavailableException" => 503,
        _ => 500,
    };
    let message = [text_at(value, "/message"), text_at(value, "/Message"), name];
    json!({ "code": code, "message": message.into_iter().find(|text| !text.is_empty()) })
}

/// Returns the usage. Cached input is counted apart on this wire.
fn usage_of(value: &Value) -> Usage {
    let number = |field: &str| value.pointer(field).and_then(Value::as_u64).unwrap_or(0);
    let (cached_input, cache_write) =
        (number("/usage/cacheReadInputTokens"), number("/usage/cacheWriteInputTokens"));
    let input = number("/usage/inputTokens").saturating_add(cached_input).saturating_add(cache_write);
    Usage { input, output: number("/usage/outputTokens"), cached_input, cache_write }
}
