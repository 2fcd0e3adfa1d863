//! [`Step`]: a call that was made, and what came of it.

use std::{collections::HashMap, sync::Arc};

use goose_extension::{Message, MessageContent, Role, ToolOutput};
use serde_json::Value;

use super::known::{Known, Use};

/// One call with its result.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step<'a> {
    /// The tool, as the loop knows it.
    pub(super) tool: &'a str,
    pub(super) arguments: &'a Value,
    pub(super) output: Option<&'a ToolOutput>,
}

impl<'a> Step<'a> {
    /// All steps of a conversation.
    pub(super) fn all(messages: &'a [Arc<Message>]) -> Vec<Self> {
        let parts = || messages.iter().flat_map(|message| &message.content);
        let outputs: HashMap<&str, &ToolOutput> = parts()
            .filter_map(|part| match part {
                MessageContent::ToolResult { id, output } => Some((id.as_str(), output)),
                _ => None,
            })
            .collect();
        let step = |part: &'a MessageContent| match part {
            MessageContent::ToolCall { id, name, arguments, .. } => {
                Some(Self { tool: name, arguments, output: outputs.get(id.as_str()).copied() })
            }
            _ => None,
        };
        parts().filter_map(step).collect()
    }

    /// The steps since a person last spoke.
    pub(super) fn since_asked(messages: &'a [Arc<Message>]) -> Vec<Self> {
        let asked = messages.iter().rposition(|message| is_asked(message)).unwrap_or_default();
        Self::all(&messages[asked..])
    }

    /// Whether the same was called in the same way.
    pub(super) fn is_same_call(&self, other: &Step<'_>) -> bool {
        self.tool == other.tool && self.arguments == other.arguments
    }

    /// Whether it went well.
    pub(super) fn is_done(&self) -> bool {
        self.output.is_some_and(|output| !output.is_error)
    }

    /// Whether it went wrong.
    pub(super) fn is_failed(&self) -> bool {
        self.output.is_some_and(|output| output.is_error)
    }

    /// Whether it may have changed something.
    pub(super) fn may_change(&self) -> bool {
        Known::of(self.tool).is_none_or(|known| known.used_to != Use::Look)
    }

    /// The file that it was about, as it was named.
    pub(super) fn path(&self) -> Option<&'a str> {
        self.arguments.get("path").and_then(Value::as_str).map(|path| path.trim_start_matches("./"))
    }

    /// What came back, as text.
    pub(super) fn text(&self) -> String {
        self.output.map(ToolOutput::as_text).unwrap_or_default()
    }
}

/// Whether a person said something in it.
pub(super) fn is_asked(message: &Message) -> bool {
    !asked(message).trim().is_empty()
}

/// What a person said in it.
pub(super) fn asked(message: &Message) -> String {
    if message.role != Role::User {
        return String::new();
    }
    let said = message.content.iter().filter(|part| !part.is_aside()).filter_map(MessageContent::as_text);
    said.collect::<Vec<_>>().join("\n")
}

/// What a person said last.
pub(super) fn last_asked(messages: &[Arc<Message>]) -> String {
    messages
        .iter()
        .rev()
        .map(|message| asked(message))
        .find(|text| !text.trim().is_empty())
        .unwrap_or_default()
}
