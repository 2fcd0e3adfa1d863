//! Requests to Anthropic's messages, and to the services that offer the same; `decode` reads their answers.
//!
//! Every message is a list of blocks. Marks for the cache stand after the system prompt (which covers the tools) and at
//! the end of the conversation. Empty fields are not sent.

mod decode;

use std::{borrow::Cow, sync::Arc};

use goose_extension::{Message, MessageContent, Reasoning, Role, Tool};
use serde::Serialize;
use serde_json::Value;

use crate::{
    endpoint::Dialect,
    http::UsualKey,
    provider::Effort,
    wires::{
        body::{self, CacheControl, Places, RequestBody, Schema, write_element},
        content::{self, ArgumentObject, Part, VisionSupport},
        models::{self, ClaudeThinking},
        names,
        wire::{Ask, Codec, Wire},
    },
};

/// The name under which what belongs to this wire is kept in a conversation.
const WIRE: &str = "anthropic";

/// A model behind Anthropic's messages, or behind a service that offers the same.
pub type Anthropic = Wire<Messages>;

/// The codec.
pub struct Messages;

impl Codec for Messages {
    type Decoder = decode::AnthropicDecoder;

    const USUAL_KEY: UsualKey = UsualKey::Header("x-api-key");
    const HEADERS: &'static [(&'static str, &'static str)] = &[("anthropic-version", "2023-06-01")];

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

#[derive(Serialize)]
struct Head<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    anthropic_version: Option<&'static str>,
    stream: bool,
    max_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(flatten)]
    thinking: ThinkingFields,
}

/// The fields that make a Claude think, on every wire that reaches one.
#[derive(Serialize)]
pub(in crate::wires) struct ThinkingFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
}

/// The options of a Claude that depend on how it thinks.
pub(in crate::wires) struct ClaudeOptions {
    pub(in crate::wires) thinking: ThinkingFields,
    pub(in crate::wires) temperature: Option<f32>,
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
#[serde(tag = "type", rename_all = "snake_case")]
enum Thinking {
    Enabled {
        budget_tokens: u64,
    },
    Adaptive {
        #[serde(skip_serializing_if = "Option::is_none")]
        display: Option<&'static str>,
    },
}

#[derive(Serialize)]
struct OutputConfig {
    effort: &'static str,
}

#[derive(Serialize)]
struct ToolEntry<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: Schema<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct SystemBlock<'a> {
    r#type: &'static str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

/// The body of a request.
fn body(ask: &Ask<'_>, version: Option<&'static str>) -> Vec<u8> {
    let request = &ask.request;
    let mark = (ask.dialect != Dialect::Strict).then_some(CacheControl::MARK);
    let system = (!request.system.is_empty()).then_some(SystemBlock {
        r#type: "text",
        text: request.system,
        cache_control: mark,
    });
    let tools_mark = mark.filter(|_| system.is_none());
    RequestBody::new(&head(ask, version))
        .list("tools", tool_entries(request.tools, tools_mark))
        .list("system", system)
        .written_list("messages", |out| write_messages(ask, mark, out))
        .finish()
}

/// Only the last one is marked: a mark covers what comes before it.
fn tool_entries(tools: &[Tool], mark: Option<CacheControl>) -> impl Iterator<Item = ToolEntry<'_>> {
    tools.iter().enumerate().map(move |(at, tool)| ToolEntry {
        name: tool.name(),
        description: tool.description(),
        input_schema: Schema(tool.input_schema()),
        cache_control: mark.filter(|_| at + 1 == tools.len()),
    })
}

fn write_messages(ask: &Ask<'_>, mark: Option<CacheControl>, out: &mut Vec<u8>) {
    let vision = ask.vision();
    let messages = ask.request.messages;
    let start = out.len();
    let write = |message: &Message, _: Option<&Message>, out: &mut Vec<u8>| write(message, vision, out);
    let ends = ask.history.write(messages, write, out);
    if mark.is_some() {
        body::mark(&Places { messages, start, ends: &ends }, |_| true, out);
    }
}

fn head<'a>(ask: &'a Ask<'a>, version: Option<&'static str>) -> Head<'a> {
    let claude = claude_options(ask, WIRE);
    let known = ask.model.max_output.map(|most| most.min(MOST_DEFAULT_TOKENS));
    let wanted = ask.request.options.max_tokens.or(known).unwrap_or(DEFAULT_MAX_TOKENS).max(1);
    Head {
        model: version.is_none().then_some(ask.model.name.as_str()),
        anthropic_version: version,
        stream: true,
        max_tokens: claude.max_tokens(wanted),
        temperature: claude.temperature,
        thinking: claude.thinking,
    }
}

/// Returns what to ask of a Claude; `wire` names the thoughts that count as its own.
pub(in crate::wires) fn claude_options(ask: &Ask<'_>, wire: &str) -> ClaudeOptions {
    let options = ask.request.options;
    let way = models::claude_thinking(&ask.model.name);
    let can_think = can_think(ask.request.messages, wire);
    let effort = options.effort.filter(|effort| *effort != Effort::None && can_think);
    let thinking = effort.and_then(|effort| thinking(effort, way));
    let budget = match thinking {
        Some(Thinking::Enabled { budget_tokens }) => budget_tokens,
        _ => 0,
    };
    let adapts = matches!(way, ClaudeThinking::Adaptive | ClaudeThinking::AdaptiveOnly);
    let word = effort.filter(|_| adapts).and_then(Effort::word);
    let takes_temperature = thinking.is_none() && way != ClaudeThinking::AdaptiveOnly;
    let output_config = word.map(|effort| OutputConfig { effort });
    ClaudeOptions {
        thinking: ThinkingFields { thinking, output_config },
        temperature: options.temperature.filter(|_| takes_temperature),
        budget,
    }
}

fn thinking(effort: Effort, way: ClaudeThinking) -> Option<Thinking> {
    match way {
        ClaudeThinking::Unknown => None,
        ClaudeThinking::Budget => Some(Thinking::Enabled { budget_tokens: budget(effort) }),
        ClaudeThinking::Adaptive => Some(Thinking::Adaptive { display: None }),
        ClaudeThinking::AdaptiveOnly => Some(Thinking::Adaptive { display: Some("summarized") }),
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

#[derive(Serialize)]
struct Said<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        source: Source<'a>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: ArgumentObject<'a>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: Vec<Block<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
struct Source<'a> {
    r#type: &'static str,
    media_type: &'static str,
    data: &'a str,
}

/// Writes a message; nothing where it would be empty.
fn write(message: &Message, vision: VisionSupport, out: &mut Vec<u8>) {
    let (role, content) = match message.role {
        Role::Assistant => ("assistant", assistant_blocks(message)),
        _ => ("user", user_blocks(message, vision)),
    };
    if !content.is_empty() {
        write_element(out, &Said { role, content });
    }
}

/// Results come first: nothing may stand between a call and its result.
fn user_blocks(message: &Message, vision: VisionSupport) -> Vec<Block<'_>> {
    let results = message.content.iter().filter_map(|content| match content {
        MessageContent::ToolResult { id, output } => Some(Block::ToolResult {
            tool_use_id: names::sent_id(id),
            content: content::result_parts(output, vision).into_iter().map(block).collect(),
            is_error: output.is_error,
        }),
        _ => None,
    });
    results.chain(content::parts(message, vision).map(block)).collect()
}

fn block(part: Part<'_>) -> Block<'_> {
    match part {
        Part::Text(text) => Block::Text { text },
        Part::Image { mime_type, data } => {
            Block::Image { source: Source { r#type: "base64", media_type: mime_type, data } }
        }
    }
}

/// A thought that nothing follows is refused.
fn assistant_blocks(message: &Message) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = message.content.iter().filter_map(assistant_block).collect();
    let is_thought =
        |block: &Block<'_>| matches!(block, Block::Thinking { .. } | Block::RedactedThinking { .. });
    while blocks.last().is_some_and(is_thought) {
        blocks.pop();
    }
    blocks
}

fn assistant_block(content: &MessageContent) -> Option<Block<'_>> {
    match content {
        MessageContent::Block(inner) => content::part(inner, VisionSupport::Unsupported).map(block),
        MessageContent::Reasoning(thought) => thought_block(thought),
        MessageContent::ToolCall { id, name, arguments, .. } => Some(Block::ToolUse {
            id: names::sent_id(id),
            name: names::sent_name(name),
            input: ArgumentObject(arguments),
        }),
        _ => None,
    }
}

/// Only thoughts that were signed on this wire are taken by it.
fn thought_block(thought: &Reasoning) -> Option<Block<'_>> {
    let data = content::opaque_data(&thought.opaque, WIRE)?;
    if let Some(data) = data.get("redacted").and_then(Value::as_str) {
        return Some(Block::RedactedThinking { data });
    }
    let signature = data.get("signature").and_then(Value::as_str)?;
    Some(Block::Thinking { thinking: &thought.text, signature })
}
