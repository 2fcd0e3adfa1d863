//! A conversation as Anthropic wants it: every message is a list of blocks, and a result holds texts and images.

use std::borrow::Cow;

use goose_extension::{Message, MessageContent, Reasoning, Role};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

use super::WIRE;
use crate::wires::{
    content::{self, Part, Sight},
    names,
    wire::write_element,
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
        input: Input<'a>,
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

/// A call's arguments; what was no object is sent as an empty one.
struct Input<'a>(&'a Value);

impl Serialize for Input<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_object() {
            self.0.serialize(serializer)
        } else {
            serializer.serialize_map(Some(0))?.end()
        }
    }
}

/// Writes a message; nothing where it would be empty.
pub(super) fn write(message: &Message, sight: Sight, out: &mut Vec<u8>) {
    let (role, content) = match message.role {
        Role::Assistant => ("assistant", assistant_blocks(message)),
        _ => ("user", user_blocks(message, sight)),
    };
    if !content.is_empty() {
        write_element(out, &Said { role, content });
    }
}

/// Results come first: nothing may stand between a call and its result.
fn user_blocks(message: &Message, sight: Sight) -> Vec<Block<'_>> {
    let results = message.content.iter().filter_map(|content| match content {
        MessageContent::ToolResult { id, output } => Some(Block::ToolResult {
            tool_use_id: names::sent_id(id),
            content: content::result_parts(output, sight).into_iter().map(block).collect(),
            is_error: output.is_error,
        }),
        _ => None,
    });
    let blocks = message.content.iter().filter_map(|content| match content {
        MessageContent::Block(inner) => content::part(inner, sight).map(block),
        _ => None,
    });
    results.chain(blocks).collect()
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
        MessageContent::Block(inner) => content::part(inner, Sight::Blind).map(block),
        MessageContent::Reasoning(thought) => thought_block(thought),
        MessageContent::ToolCall { id, name, arguments, .. } => Some(Block::ToolUse {
            id: names::sent_id(id),
            name: names::sent_name(name),
            input: Input(arguments),
        }),
        _ => None,
    }
}

/// Only thoughts that were signed on this wire are taken by it.
fn thought_block(thought: &Reasoning) -> Option<Block<'_>> {
    let data = &thought.opaque.as_ref().filter(|opaque| opaque.wire == WIRE)?.data;
    if let Some(data) = data.get("redacted").and_then(Value::as_str) {
        return Some(Block::RedactedThinking { data });
    }
    let signature = data.get("signature").and_then(Value::as_str)?;
    Some(Block::Thinking { thinking: &thought.text, signature })
}
