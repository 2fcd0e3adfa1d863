//! A model's answer: [`ReplyEvent`]s as it streams, a [`Reply`] when it is complete, its [`Usage`], and the
//! [`Collector`] that joins the events.

use std::pin::Pin;

use futures::{Stream, StreamExt};
use goose_extension::{JsonObject, Message, MessageContent, Opaque, Reasoning, Role};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    error::{ProviderError, ProviderResult},
    provider::Prices,
};

/// An answer as it comes. It ends after [`ReplyEvent::Finished`], which comes exactly once, or after an error.
pub type ReplyStream = Pin<Box<dyn Stream<Item = ProviderResult<ReplyEvent>> + Send>>;

/// A piece of an answer. Joined in order they make the message, see [`Reply`].
#[derive(Debug, Clone, PartialEq)]
pub enum ReplyEvent {
    /// More text; never empty.
    Text(String),
    /// More of what it thinks, to be shown.
    Thinking(String),
    /// A block of thinking is complete: the whole of it, to be kept.
    Thought(Reasoning),
    /// It begins to ask for a tool; what it passes is still to come.
    CallStarted {
        /// The call's id.
        id: String,
        /// The tool.
        name: String,
    },
    /// It asks for a tool.
    Call(ToolCall),
    /// The activity of the model, while there is nothing else to see.
    Status(String),
    /// The usage so far; the last one counts.
    Usage(Usage),
    /// It is done.
    Finished(StopReason),
}

/// A tool that the model asks for. The id is unique within the answer and never empty.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Ties the call to its result.
    pub id: String,
    /// The tool, as the model named it.
    pub name: String,
    /// The arguments.
    pub arguments: Arguments,
    /// Data that the service needs back in later requests.
    pub opaque: Option<Opaque>,
}

/// The arguments of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    /// As it should be.
    Object(JsonObject),
    /// Something else.
    Malformed {
        /// The text as received, truncated.
        raw: String,
        /// The problem, worded for the model.
        why: String,
    },
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// It has said everything.
    EndTurn,
    /// It waits for tools.
    ToolUse,
    /// It may not write more, or the context is full.
    MaxTokens,
    /// It, or a filter of the service, refuses to go on.
    Refused,
    /// Something else, in the service's words.
    Other(String),
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The message.
    pub message: Message,
    /// The usage.
    pub usage: Usage,
    /// Why it stopped.
    pub stop: StopReason,
}

/// Tokens, as the service counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Everything the model read, cached or not.
    pub input: u64,
    /// Everything it wrote, thinking included.
    pub output: u64,
    /// The part of `input` that came from the cache.
    pub cached_input: u64,
    /// The part of `input` that was put into the cache.
    pub cache_write: u64,
}

impl Usage {
    /// All tokens.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// The cost in US dollars.
    #[expect(clippy::cast_precision_loss, reason = "no count of tokens comes near 2^52")]
    pub fn cost(&self, prices: &Prices) -> f64 {
        let cached_price = prices.cached_input.unwrap_or(prices.input);
        let write_price = prices.cache_write.unwrap_or(prices.input);
        let plain = self.input.saturating_sub(self.cached_input).saturating_sub(self.cache_write);
        let dollars = plain as f64 * prices.input
            + self.cached_input as f64 * cached_price
            + self.cache_write as f64 * write_price
            + self.output as f64 * prices.output;
        dollars / 1_000_000.0
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached_input = self.cached_input.saturating_add(other.cached_input);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
    }
}

/// Folds [`ReplyEvent`]s into a [`Reply`], in the order in which they come.
#[derive(Debug, Default)]
pub struct Collector {
    content: Vec<MessageContent>,
    text: String,
    usage: Usage,
    stop: Option<StopReason>,
}

impl Collector {
    /// Nothing has come yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next piece.
    pub fn push(&mut self, event: ReplyEvent) {
        match event {
            ReplyEvent::Text(text) if self.text.is_empty() => self.text = text,
            ReplyEvent::Text(text) => self.text.push_str(&text),
            ReplyEvent::Thought(thought) => self.add(MessageContent::Reasoning(thought)),
            ReplyEvent::Call(call) => self.add(call.into()),
            ReplyEvent::Usage(usage) => self.usage = usage,
            ReplyEvent::Finished(stop) => self.stop = Some(stop),
            ReplyEvent::Thinking(_) | ReplyEvent::CallStarted { .. } | ReplyEvent::Status(_) => {}
        }
    }

    /// The usage so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// The whole answer. It may hold nothing at all: that is for the caller to judge.
    ///
    /// # Errors
    ///
    /// A network error where the last piece has not come.
    pub fn finish(mut self) -> ProviderResult<Reply> {
        self.end_text();
        let Some(stop) = self.stop else {
            return Err(ProviderError::Network { message: "the answer broke off before its end".to_owned() });
        };
        Ok(Reply { message: Message::new(Role::Assistant, self.content), usage: self.usage, stop })
    }

    fn add(&mut self, part: MessageContent) {
        self.end_text();
        self.content.push(part);
    }

    fn end_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        if !text.is_empty() {
            self.content.push(MessageContent::text(text));
        }
    }
}

impl Reply {
    /// Reads a stream to its end.
    ///
    /// # Errors
    ///
    /// The stream's, or that it ended too early.
    pub async fn collect(mut stream: ReplyStream) -> ProviderResult<Self> {
        let mut collector = Collector::new();
        while let Some(event) = stream.next().await {
            collector.push(event?);
        }
        collector.finish()
    }
}

impl From<ToolCall> for MessageContent {
    fn from(call: ToolCall) -> Self {
        let arguments = match call.arguments {
            Arguments::Object(object) => Value::Object(object),
            Arguments::Malformed { raw, .. } => Value::String(raw),
        };
        Self::ToolCall { id: call.id, name: call.name, arguments, opaque: call.opaque }
    }
}
