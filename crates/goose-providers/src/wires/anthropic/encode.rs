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
        caching::{self, CacheControl, Places},
        models::{self, ClaudeThinking},
        schema::Schema,
        wire::{Ask, write_element, write_json, write_list},
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

/// The body of a request. What changes from turn to turn comes last.
pub(super) fn body(ask: &Ask<'_>) -> Vec<u8> {
    let request = &ask.request;
    let marks = ask.dialect != Dialect::Strict;
    let mut out = Vec::with_capacity(8 * 1024);
    write_json(&mut out, &head(ask));
    // The head is an object that goes on.
    out.pop();
    if !request.tools.is_empty() {
        out.push(b',');
        let marks_tools = marks && request.system.is_empty();
        write_list(&mut out, "tools", |out| write_tools(request.tools, marks_tools, out));
    }
    if !request.system.is_empty() {
        out.push(b',');
        let cache_control = marks.then_some(CacheControl::MARK);
        let block = SystemBlock { r#type: "text", text: request.system, cache_control };
        write_list(&mut out, "system", |out| write_element(out, &block));
    }
    out.push(b',');
    write_list(&mut out, "messages", |out| {
        let sight = ask.sight();
        let start = out.len();
        let ends =
            ask.history.write(request.messages, |message, _, out| messages::write(message, sight, out), out);
        if marks {
            let places = Places { messages: request.messages, start, ends: &ends };
            caching::mark(&places, |_| true, out);
        }
    });
    out.push(b'}');
    out
}

fn write_tools(tools: &[Tool], marks_last: bool, out: &mut Vec<u8>) {
    for (at, tool) in tools.iter().enumerate() {
        let entry = ToolEntry {
            name: tool.name(),
            description: tool.description(),
            input_schema: Schema(tool.input_schema()),
            cache_control: (marks_last && at + 1 == tools.len()).then_some(CacheControl::MARK),
        };
        write_element(out, &entry);
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
    let takes_temperature = thinking.is_none() && way != ClaudeThinking::AdaptiveOnly;
    Head {
        model: &ask.model.name,
        stream: true,
        max_tokens: max_tokens(ask, budget),
        temperature: options.temperature.filter(|_| takes_temperature),
        output_config: effort.filter(|_| adapts).map(|effort| OutputConfig { effort: effort_word(effort) }),
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

fn effort_word(effort: Effort) -> &'static str {
    match effort {
        Effort::None | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
    }
}

/// Thinking cannot be switched on between a call and its result: the call would have to begin with a thought.
fn can_think(messages: &[Arc<Message>]) -> bool {
    let Some(last) = messages.iter().rev().find(|message| message.role == Role::Assistant) else {
        return true;
    };
    let is_own_thought = |content: &MessageContent| match content {
        MessageContent::Reasoning(thought) => {
            thought.opaque.as_ref().is_some_and(|opaque| opaque.wire == WIRE)
        }
        _ => false,
    };
    last.call_ids().next().is_none() || last.content.iter().any(is_own_thought)
}
