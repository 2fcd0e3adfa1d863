//! Requests to Anthropic's messages, and to the services that offer the same; `decode` reads their answers.
//!
//! Every message is a list of blocks. Marks for the cache stand after the system prompt (which covers the tools) and at
//! the end of the conversation.

mod decode;

use std::sync::Arc;

use goose_extension::{Message, MessageContent, Reasoning, Role, Tool};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    endpoint::Dialect,
    http::{UsualKey, WireHeaders},
    provider::Effort,
    wires::{
        body::{self, Places, RequestBody, Schema, cache_mark, without_nulls, write_element},
        content::{self, Part, VisionSupport, sent_arguments},
        models::{self, ClaudeThinking},
        names::{sent_id, sent_name},
        wire::{Ask, Codec, Wire},
    },
};

/// The name under which what belongs to this wire is kept in a conversation.
const WIRE: &str = "anthropic";

/// A model behind Anthropic's messages, or behind a service that offers the same.
pub type Anthropic = Wire<Messages>;

/// Headers of every request.
pub(crate) const ANTHROPIC_HEADERS: WireHeaders =
    WireHeaders { key: UsualKey::Header("x-api-key"), others: &[("anthropic-version", "2023-06-01")] };

/// The codec.
pub struct Messages;

impl Codec for Messages {
    type Decoder = decode::AnthropicDecoder;

    const HEADERS: WireHeaders = ANTHROPIC_HEADERS;

    fn encode(ask: &Ask<'_>) -> Vec<u8> {
        body(ask, None)
    }
}

/// A Claude at Google's cloud.
pub(crate) type VertexClaude = Wire<VertexMessages>;

/// The codec for it: the model is part of the URL, the version part of the body.
pub(crate) struct VertexMessages;

impl Codec for VertexMessages {
    type Decoder = decode::AnthropicDecoder;

    fn encode(ask: &Ask<'_>) -> Vec<u8> {
        body(ask, Some("vertex-2023-10-16"))
    }
}

/// Default limits of an answer; the wire requires a number.
const DEFAULT_MAX_TOKENS: u64 = 8_192;
const MOST_DEFAULT_TOKENS: u64 = 32_000;

/// The options of a Claude that depend on how it thinks.
pub(in crate::wires) struct ClaudeOptions {
    pub(in crate::wires) thinking: Option<Value>,
    pub(in crate::wires) output_config: Option<Value>,
    pub(in crate::wires) temperature: Option<f64>,
    /// Tokens of the answer that are reserved for thinking.
    budget: u64,
}

impl ClaudeOptions {
    /// Returns a limit for the answer that leaves room for the budget: thoughts count as output.
    pub(in crate::wires) fn max_tokens(&self, wanted: u64) -> u64 {
        if wanted > self.budget { wanted } else { self.budget.saturating_add(wanted) }
    }
}

#[derive(Serialize)]
struct ToolEntry<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: Schema<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Value>,
}

/// The body of a request.
fn body(ask: &Ask<'_>, version: Option<&'static str>) -> Vec<u8> {
    let (system, tools) = (ask.request.system, ask.request.tools);
    let mark = (ask.dialect != Dialect::Strict).then(cache_mark);
    let tools_mark = mark.as_ref().filter(|_| system.is_empty());
    let system =
        (!system.is_empty()).then(|| json!({ "type": "text", "text": system, "cache_control": mark }));
    let body = RequestBody::new(head(ask, version));
    let body = match tools_mark {
        Some(mark) => body.list("tools", marked_tools(tools, mark)),
        None => body.tools(ask, |tool, out| write_element(out, &ToolEntry::from(tool))),
    };
    body.list("system", system.map(without_nulls))
        .written_list("messages", |out| write_messages(ask, out))
        .finish()
}

impl<'a> From<&'a Tool> for ToolEntry<'a> {
    fn from(tool: &'a Tool) -> Self {
        let input_schema = Schema(tool.input_schema());
        Self { name: tool.name(), description: tool.description(), input_schema, cache_control: None }
    }
}

/// Only the last one is marked: a mark covers what comes before it.
fn marked_tools<'a>(tools: &'a [Tool], mark: &'a Value) -> impl Iterator<Item = ToolEntry<'a>> {
    tools.iter().enumerate().map(move |(at, tool)| ToolEntry {
        cache_control: (at + 1 == tools.len()).then(|| mark.clone()),
        ..ToolEntry::from(tool)
    })
}

fn write_messages(ask: &Ask<'_>, out: &mut Vec<u8>) {
    let (vision, messages, start) = (ask.vision(), ask.request.messages, out.len());
    let ends = ask.history.write(messages, |message, _, out| write(message, vision, out), out);
    if ask.dialect != Dialect::Strict {
        body::mark(&Places { messages, start, ends: &ends }, |_| true, out);
    }
}

fn head(ask: &Ask<'_>, version: Option<&'static str>) -> Value {
    let claude = claude_options(ask, WIRE);
    let known = ask.model.max_output.map(|most| most.min(MOST_DEFAULT_TOKENS));
    let wanted = ask.request.options.max_tokens.or(known).unwrap_or(DEFAULT_MAX_TOKENS).max(1);
    json!({
        "model": version.is_none().then_some(ask.model.name.as_str()),
        "anthropic_version": version,
        "stream": true,
        "max_tokens": claude.max_tokens(wanted),
        "temperature": claude.temperature,
        "thinking": claude.thinking,
        "output_config": claude.output_config,
    })
}

/// Returns what to ask of a Claude; `wire` names the thoughts that count as its own.
pub(in crate::wires) fn claude_options(ask: &Ask<'_>, wire: &str) -> ClaudeOptions {
    let options = ask.request.options;
    let way = models::claude_thinking(&ask.model.name);
    let can_think = can_think(ask.request.messages, wire);
    let effort = options.effort.filter(|effort| *effort != Effort::None && can_think);
    let thinking = effort.and_then(|effort| thinking(effort, way));
    let budget = thinking.as_ref().and_then(|thinking| thinking["budget_tokens"].as_u64()).unwrap_or(0);
    let adapts = matches!(way, ClaudeThinking::Adaptive | ClaudeThinking::AdaptiveOnly);
    let word = effort.filter(|_| adapts).and_then(Effort::word);
    let takes_temperature = thinking.is_none() && way != ClaudeThinking::AdaptiveOnly;
    ClaudeOptions {
        thinking,
        output_config: word.map(|effort| json!({ "effort": effort })),
        temperature: ask.temperature().filter(|_| takes_temperature),
        budget,
    }
}

fn thinking(effort: Effort, way: ClaudeThinking) -> Option<Value> {
    match way {
        ClaudeThinking::Unknown => None,
        ClaudeThinking::Budget => Some(json!({ "type": "enabled", "budget_tokens": budget(effort) })),
        ClaudeThinking::Adaptive => Some(json!({ "type": "adaptive" })),
        ClaudeThinking::AdaptiveOnly => Some(json!({ "type": "adaptive", "display": "summarized" })),
    }
}

fn budget(effort: Effort) -> u64 {
    match effort {
        Effort::None | Effort::Low => 2_048,
        Effort::Medium => 8_192,
        Effort::High => 24_576,
    }
}

/// Thinking cannot be switched on between a call and its result: the call would have to begin with a thought.
fn can_think(messages: &[Arc<Message>], wire: &str) -> bool {
    let Some(last) = messages.iter().rev().find(|message| message.role == Role::Assistant) else {
        return true;
    };
    let is_own_thought = |part: &MessageContent| match part {
        MessageContent::Reasoning(thought) => content::opaque_data(&thought.opaque, wire).is_some(),
        _ => false,
    };
    last.call_ids().next().is_none() || last.content.iter().any(is_own_thought)
}

/// Writes a message; nothing if it would be empty.
fn write(message: &Message, vision: VisionSupport, out: &mut Vec<u8>) {
    let (role, content) = match message.role {
        Role::Assistant => ("assistant", assistant_blocks(message)),
        _ => ("user", user_blocks(message, vision)),
    };
    if !content.is_empty() {
        write_element(out, &json!({ "role": role, "content": content }));
    }
}

/// Results come first: nothing may stand between a call and its result.
fn user_blocks(message: &Message, vision: VisionSupport) -> Vec<Value> {
    let results = message.content.iter().filter_map(|content| match content {
        MessageContent::ToolResult { id, output } => Some(without_nulls(json!({
            "type": "tool_result",
            "tool_use_id": sent_id(id),
            "content": Value::from_iter(content::result_parts(output, vision).into_iter().map(block)),
            "is_error": output.is_error.then_some(true),
        }))),
        _ => None,
    });
    results.chain(content::parts(message, vision).map(block)).collect()
}

fn block(part: Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Image { mime_type, data } => {
            json!({ "type": "image", "source": { "type": "base64", "media_type": mime_type, "data": data } })
        }
    }
}

/// A thought that nothing follows is refused.
fn assistant_blocks(message: &Message) -> Vec<Value> {
    let mut blocks: Vec<Value> = message.content.iter().filter_map(assistant_block).collect();
    let is_thought = |block: &Value| block["type"] == "thinking" || block["type"] == "redacted_thinking";
    while blocks.last().is_some_and(is_thought) {
        blocks.pop();
    }
    blocks
}

fn assistant_block(content: &MessageContent) -> Option<Value> {
    match content {
        MessageContent::Block(inner) => content::part(inner, VisionSupport::Unsupported).map(block),
        MessageContent::Reasoning(thought) => thought_block(thought),
        MessageContent::ToolCall { id, name, arguments, .. } => Some(json!({
            "type": "tool_use",
            "id": sent_id(id),
            "name": sent_name(name),
            "input": sent_arguments(arguments),
        })),
        _ => None,
    }
}

/// Only thoughts that were signed on this wire are taken by it.
fn thought_block(thought: &Reasoning) -> Option<Value> {
    let data = content::opaque_data(&thought.opaque, WIRE)?;
    if let Some(data) = data.get("redacted").and_then(Value::as_str) {
        return Some(json!({ "type": "redacted_thinking", "data": data }));
    }
    let signature = data.get("signature").and_then(Value::as_str)?;
    Some(json!({ "type": "thinking", "thinking": thought.text, "signature": signature }))
}
