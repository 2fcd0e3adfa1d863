//! A request as Anthropic wants it, with marks for its cache: after the system prompt (which covers the tools), and at the
//! end of the conversation. Fields that say nothing are not sent.

use std::sync::Arc;

use goose_extension::{Message, MessageContent, Role, Tool};
use serde::Serialize;

use super::{WIRE, messages};
use crate::{
    endpoint::Dialect,
    request::Effort,
    wires::{
        body::RequestBody,
        caching::{self, CacheControl, Places},
        content,
        models::{self, ClaudeThinking},
        tools::Schema,
        wire::Ask,
    },
};

/// How many tokens an answer may have where nobody says so; the wire wants a number.
const DEFAULT_MAX_TOKENS: u64 = 8_192;
const MOST_DEFAULT_TOKENS: u64 = 32_000;

#[derive(Serialize)]
struct Head<'a> {
    model: &'a str,
    stream: bool,
    max_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
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
pub(super) fn body(ask: &Ask<'_>) -> Vec<u8> {
    let request = &ask.request;
    let mark = (ask.dialect != Dialect::Strict).then_some(CacheControl::MARK);
    let system = (!request.system.is_empty()).then_some(SystemBlock {
        r#type: "text",
        text: request.system,
        cache_control: mark,
    });
    let tools_mark = mark.filter(|_| system.is_none());
    RequestBody::new(&head(ask))
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
    let sight = ask.sight();
    let messages = ask.request.messages;
    let start = out.len();
    let write =
        |message: &Message, _: Option<&Message>, out: &mut Vec<u8>| messages::write(message, sight, out);
    let ends = ask.history.write(messages, write, out);
    if mark.is_some() {
        caching::mark(&Places { messages, start, ends: &ends }, |_| true, out);
    }
}

fn head<'a>(ask: &'a Ask<'a>) -> Head<'a> {
    let options = ask.request.options;
    let way = models::claude_thinking(&ask.model.name);
    let effort = options.effort.filter(|effort| *effort != Effort::None && can_think(ask.request.messages));
    let thinking = effort.and_then(|effort| thinking(effort, way));
    let budget = match thinking {
        Some(Thinking::Enabled { budget_tokens }) => budget_tokens,
        _ => 0,
    };
    let adapts = matches!(way, ClaudeThinking::Adaptive | ClaudeThinking::AdaptiveOnly);
    let word = effort.filter(|_| adapts).and_then(Effort::word);
    let takes_temperature = thinking.is_none() && way != ClaudeThinking::AdaptiveOnly;
    Head {
        model: &ask.model.name,
        stream: true,
        max_tokens: max_tokens(ask, budget),
        temperature: options.temperature.filter(|_| takes_temperature),
        output_config: word.map(|effort| OutputConfig { effort }),
        thinking,
    }
}

/// What a model thinks counts as output, and a budget must fit in.
fn max_tokens(ask: &Ask<'_>, budget: u64) -> u64 {
    let known = ask.model.max_output.map(|most| most.min(MOST_DEFAULT_TOKENS));
    let wanted = ask.request.options.max_tokens.or(known).unwrap_or(DEFAULT_MAX_TOKENS).max(1);
    if wanted > budget { wanted } else { budget.saturating_add(wanted) }
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
fn can_think(messages: &[Arc<Message>]) -> bool {
    let Some(last) = messages.iter().rev().find(|message| message.role == Role::Assistant) else {
        return true;
    };
    let is_own_thought = |part: &MessageContent| match part {
        MessageContent::Reasoning(thought) => content::kept(&thought.opaque, WIRE).is_some(),
        _ => false,
    };
    last.call_ids().next().is_none() || last.content.iter().any(is_own_thought)
}
