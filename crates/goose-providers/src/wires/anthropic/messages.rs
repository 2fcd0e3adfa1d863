//! A conversation as Anthropic wants it: every message is a list of blocks, and a result holds texts and images.

use std::borrow::Cow;

use goose_extension::{Message, MessageContent, Reasoning, Role};
use serde::Serialize;
use serde_json::Value;

use super::WIRE;
use crate::wires::{
    body::write_element,
    content::{self, Part, VisionSupport},
    names,
    text::ArgumentObject,
};

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
pub(super) fn write(message: &Message, vision: VisionSupport, out: &mut Vec<u8>) {
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
