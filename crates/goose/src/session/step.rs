//! [`Step`]: one entry of a session's log. Steps are only ever appended.

use goose_extension::{Message, RichRenderable, ToolOutput, stored_output};
use goose_providers::Usage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::permission::Mode;

/// Something that happened in a session. Its JSON form is what the store holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Step {
    /// The person or the model said something, complete.
    Message {
        /// What was said.
        message: Message,
    },
    /// A tool has answered one call. Stored as soon as it has, whatever its neighbours do.
    ToolResult {
        /// The call.
        id: String,
        /// What came back.
        #[serde(with = "stored_output")]
        output: ToolOutput,
    },
    /// A question to a model was paid for.
    Cost {
        /// The service.
        provider: String,
        /// The model.
        model: String,
        /// The tokens.
        usage: Usage,
        /// The price in US dollars, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dollars: Option<f64>,
    },
    /// From here on the model sees these messages in place of all that came before. The steps themselves stay.
    Compacted {
        /// The conversation as the model sees it.
        messages: Vec<Message>,
    },
    /// A reply ended before it was done: cancelled, or goose was ended, which is noticed when the session is opened.
    Interrupted {
        /// What happened.
        reason: String,
    },
    /// A reply is over.
    ReplyEnded {
        /// How, in a word.
        outcome: String,
    },
    /// An entry that a tool or goose has written for the user. The model does not see it.
    Log {
        /// The entry.
        content: RichRenderable,
        /// The tool call that wrote it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
    },
    /// From here on the session runs in another permission mode, with another agent, or both.
    ModeChanged {
        /// The new permission mode, if it changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        permission: Option<Mode>,
        /// The new agent with its mode, such as `goose-agent/assistant`, if it changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    },
    /// A running tool has called another tool. The model sees the result of the outer call only.
    NestedCall {
        /// The id of the call that is running.
        parent: String,
        /// The id of this call.
        id: String,
        /// The tool.
        name: String,
        /// Its arguments.
        arguments: Value,
    },
    /// A nested call has its result.
    NestedResult {
        /// The id of the call that is running.
        parent: String,
        /// The id of the nested call.
        id: String,
        /// The result.
        #[serde(with = "stored_output")]
        output: ToolOutput,
    },
}

impl Step {
    /// The name of its kind, as in its JSON form.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Message { .. } => "message",
            Self::ToolResult { .. } => "tool_result",
            Self::Cost { .. } => "cost",
            Self::Compacted { .. } => "compacted",
            Self::Interrupted { .. } => "interrupted",
            Self::ReplyEnded { .. } => "reply_ended",
            Self::Log { .. } => "log",
            Self::ModeChanged { .. } => "mode_changed",
            Self::NestedCall { .. } => "nested_call",
            Self::NestedResult { .. } => "nested_result",
        }
    }
}
