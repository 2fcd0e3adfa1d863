//! [`Answer`]: what the model said when it was asked once.

use goose_extension::{Message, MessageContent};
use goose_providers::{Arguments, Collector, ProviderResult, ReplyEvent, StopReason, ToolCall, Usage};

/// A complete answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) message: Message,
    /// The calls of the message, in order, with what is wrong with them.
    pub(super) calls: Vec<ToolCall>,
    pub(super) usage: Usage,
    pub(super) stop: StopReason,
}

impl Answer {
    /// Whether there is something in it for a person to read.
    pub(super) fn has_text(&self) -> bool {
        let mut texts = self.message.content.iter().filter_map(MessageContent::as_text);
        texts.any(|text| !text.trim().is_empty())
    }
}

/// An answer that is still coming.
#[derive(Default)]
pub(super) struct Incoming {
    collector: Collector,
    calls: Vec<ToolCall>,
}

impl Incoming {
    pub(super) fn push(&mut self, event: ReplyEvent) {
        if let ReplyEvent::Call(call) = &event {
            self.calls.push(call.clone());
        }
        self.collector.push(event);
    }

    /// What it has cost so far.
    pub(super) fn usage(&self) -> Usage {
        self.collector.usage()
    }

    pub(super) fn finish(self) -> ProviderResult<Answer> {
        let reply = self.collector.finish()?;
        Ok(Answer { message: reply.message, calls: self.calls, usage: reply.usage, stop: reply.stop })
    }
}

/// The arguments of a call as JSON.
pub(super) fn as_value(arguments: &Arguments) -> serde_json::Value {
    match arguments {
        Arguments::Object(object) => serde_json::Value::Object(object.clone()),
        Arguments::Malformed { raw, .. } => serde_json::Value::String(raw.clone()),
    }
}
