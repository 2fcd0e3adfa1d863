//! [`Collector`]: the pieces of an answer become a [`Reply`].

use futures::StreamExt;
use goose_extension::{Message, MessageContent, Role};
use serde_json::Value;

use crate::{
    error::{ProviderError, ProviderResult},
    reply::{Arguments, Reply, ReplyEvent, ReplyStream, StopReason, ToolCall},
    usage::Usage,
};

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
            ReplyEvent::Thinking(_) | ReplyEvent::CallStarted { .. } => {}
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
