//! An answer of Anthropic: blocks that begin, grow and end, and then the reason to stop.

use std::collections::HashMap;

use goose_extension::{Opaque, Reasoning};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    error::ProviderResult,
    reply::Usage,
    wires::{
        anthropic::WIRE,
        assembly::{Assembly, too_much},
        framing::StreamEvent,
        stream::{self, Decoder, stop_reason, unreadable},
    },
};

/// Most open blocks.
const MAX_OPEN_BLOCKS: usize = 256;

/// Longest signature of a thought.
const MAX_SIGNATURE_BYTES: usize = 1024 * 1024;

#[derive(Default)]
pub(in crate::wires) struct AnthropicDecoder {
    open: HashMap<u64, Open>,
    usage: Usage,
}

/// A block that has begun.
enum Open {
    Thinking(Thought),
    Call { call: usize, input: Value },
}

#[derive(Default)]
struct Thought {
    text: String,
    signature: String,
}

impl Decoder for AnthropicDecoder {
    fn event(&mut self, event: &StreamEvent, reply: &mut Assembly) -> ProviderResult<()> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        match serde_json::from_str(data) {
            Ok(event) => self.take(event, reply),
            Err(error) => {
                // Gateways have errors of their own form.
                let value = serde_json::from_str(data).unwrap_or_default();
                reply.fail_on_error(&value)?;
                Err(unreadable(&error, data))
            }
        }
    }

    fn whole(&mut self, answer: Value, reply: &mut Assembly) -> ProviderResult<()> {
        let answer: Answer = stream::whole(answer, "content")?;
        for block in answer.content {
            self.begin(0, block, reply)?;
            self.end(0, reply)?;
        }
        self.count(answer.usage.as_ref(), reply);
        if let Some(reason) = answer.stop_reason {
            reply.stop(stop_reason(&reason));
        }
        Ok(())
    }
}

impl AnthropicDecoder {
    fn take(&mut self, event: Event, reply: &mut Assembly) -> ProviderResult<()> {
        match event {
            Event::MessageStart { message } => self.count(message.usage.as_ref(), reply),
            Event::ContentBlockStart { index, content_block } => self.begin(index, content_block, reply)?,
            Event::ContentBlockDelta { index, delta } => self.grow(index, delta, reply)?,
            Event::ContentBlockStop { index } => self.end(index, reply)?,
            Event::MessageDelta { delta, usage } => {
                self.count(usage.as_ref(), reply);
                if let Some(reason) = delta.stop_reason {
                    reply.stop(stop_reason(&reason));
                }
            }
            Event::MessageStop => {
                self.end_all(reply)?;
                reply.done();
            }
            Event::Error { error } => return Err(reply.failure(&error)),
            Event::Other => {}
        }
        Ok(())
    }

    fn begin(&mut self, index: u64, block: Block, reply: &mut Assembly) -> ProviderResult<()> {
        let open = match block {
            Block::Text { text } => return reply.text(&text),
            Block::Thinking { thinking, signature } => {
                reply.show_thinking(&thinking)?;
                Open::Thinking(Thought { text: thinking, signature })
            }
            Block::RedactedThinking { data } => {
                let opaque = Opaque { wire: WIRE.to_owned(), data: json!({ "redacted": data }) };
                return reply.thought(Reasoning { text: String::new(), opaque: Some(opaque) });
            }
            Block::ToolUse { id, name, input } => Open::Call { call: reply.begin_call(&id, &name)?, input },
            Block::Other => return Ok(()),
        };
        if self.open.len() >= MAX_OPEN_BLOCKS {
            return Err(too_much(&format!("more than {MAX_OPEN_BLOCKS} of its blocks are open")));
        }
        self.open.insert(index, open);
        Ok(())
    }

    fn grow(&mut self, index: u64, delta: Delta, reply: &mut Assembly) -> ProviderResult<()> {
        match (delta, self.open.get_mut(&index)) {
            (Delta::Text { text }, _) => reply.text(&text)?,
            (Delta::Thinking { thinking }, Some(Open::Thinking(thought))) => {
                reply.show_thinking(&thinking)?;
                thought.text.push_str(&thinking);
            }
            (Delta::Signature { signature }, Some(Open::Thinking(thought))) => {
                thought.signature.push_str(&signature);
                if thought.signature.len() > MAX_SIGNATURE_BYTES {
                    return Err(too_much("the signature of its thinking is too long"));
                }
            }
            (Delta::Input { partial_json }, Some(Open::Call { call, .. })) => {
                reply.add_arguments(*call, &partial_json);
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, index: u64, reply: &mut Assembly) -> ProviderResult<()> {
        match self.open.remove(&index) {
            Some(Open::Thinking(Thought { text, signature })) => {
                let opaque = (!signature.is_empty())
                    .then(|| Opaque { wire: WIRE.to_owned(), data: json!({ "signature": signature }) });
                reply.thought(Reasoning { text, opaque })
            }
            Some(Open::Call { call, input }) => {
                // Some send the whole input at the beginning, and nothing after.
                let is_said = input.as_object().is_some_and(|input| !input.is_empty());
                if is_said && !reply.has_arguments(call) {
                    reply.set_arguments(call, &input.to_string());
                }
                reply.end_call(call);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Blocks whose end did not come, in order.
    fn end_all(&mut self, reply: &mut Assembly) -> ProviderResult<()> {
        let mut indices: Vec<u64> = self.open.keys().copied().collect();
        indices.sort_unstable();
        indices.into_iter().try_for_each(|index| self.end(index, reply))
    }

    /// Updates the usage. Cached input is counted apart on this wire; later counts replace earlier ones.
    fn count(&mut self, usage: Option<&Value>, reply: &mut Assembly) {
        let Some(usage) = usage else { return };
        let number = |field: &str| usage.get(field).and_then(Value::as_u64);
        let cached = number("cache_read_input_tokens").unwrap_or(self.usage.cached_input);
        let written = number("cache_creation_input_tokens").unwrap_or(self.usage.cache_write);
        let before =
            self.usage.input.saturating_sub(self.usage.cached_input).saturating_sub(self.usage.cache_write);
        let plain = number("input_tokens").unwrap_or(before);
        self.usage = Usage {
            input: plain.saturating_add(cached).saturating_add(written),
            output: number("output_tokens").unwrap_or(self.usage.output),
            cached_input: cached,
            cache_write: written,
        };
        reply.usage(self.usage);
    }
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Start,
    },
    ContentBlockStart {
        #[serde(default)]
        index: u64,
        content_block: Block,
    },
    ContentBlockDelta {
        #[serde(default)]
        index: u64,
        delta: Delta,
    },
    ContentBlockStop {
        #[serde(default)]
        index: u64,
    },
    MessageDelta {
        #[serde(default)]
        delta: End,
        usage: Option<Value>,
    },
    MessageStop,
    Error {
        error: Value,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Start {
    usage: Option<Value>,
}

#[derive(Deserialize, Default)]
struct End {
    stop_reason: Option<String>,
}

/// An answer that came in one piece.
#[derive(Deserialize)]
struct Answer {
    content: Vec<Block>,
    stop_reason: Option<String>,
    usage: Option<Value>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        #[serde(default)]
        text: String,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    RedactedThinking {
        #[serde(default)]
        data: String,
    },
    ToolUse {
        #[serde(default)]
        id: String,
        #[serde(default)]
        name: String,
        #[serde(default)]
        input: Value,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(rename = "input_json_delta")]
    Input { partial_json: String },
    #[serde(other)]
    Other,
}
