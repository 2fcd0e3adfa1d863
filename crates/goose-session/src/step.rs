//! [`Step`]: one entry of a session's log, and what is read from the log. Steps are only ever appended.

use goose_config::Mode;
use goose_extension::{Message, RichRenderable, StoredOutput, ToolOutput};
use goose_providers::Usage;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ChosenBy, PlannedTask, SessionId, TaskFinished};

/// Something that happened in a session. Its JSON form is what the store holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Step {
    /// The user or the model said something, complete.
    Message {
        /// The message.
        message: Message,
    },
    /// A tool has answered one call. Stored at once, even if other calls of the same message are still running.
    ToolResult {
        /// The call.
        id: String,
        /// The result.
        #[serde(with = "StoredOutput")]
        output: ToolOutput,
    },
    /// A request to a model has cost something.
    Cost {
        /// The provider.
        provider: String,
        /// The model.
        model: String,
        /// The tokens.
        usage: Usage,
        /// The price in US dollars, if it is known.
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
        /// The reason.
        reason: String,
    },
    /// A reply is over.
    ReplyEnded {
        /// The outcome, in a word.
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
        /// True if goose chose the agent for a request, false if the user did.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        routed: bool,
    },
    /// An extension was enabled or disabled for the rest of the session. Its configuration is not stored: it may hold secrets,
    /// and what a log says must not start programs.
    ExtensionSwitched {
        /// The extension.
        name: String,
        /// True if it was enabled.
        enabled: bool,
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
        #[serde(with = "StoredOutput")]
        output: ToolOutput,
    },
    /// The request was split into tasks. Without any, an earlier plan is dropped.
    TaskPlan {
        /// The tasks, each after those that it needs.
        tasks: Vec<PlannedTask>,
    },
    /// A task was given to a delegate.
    TaskStarted {
        /// The task.
        task: String,
        /// The delegate's session.
        session: SessionId,
        /// Count of attempts, from 1.
        attempt: u32,
    },
    /// A task is over.
    TaskFinished(TaskFinished),
}

impl Step {
    /// The step of a session whose agent changed.
    pub fn agent_changed(agent: String, chosen_by: ChosenBy) -> Self {
        Self::ModeChanged { permission: None, agent: Some(agent), routed: chosen_by != ChosenBy::User }
    }

    /// The step of a session whose permission mode changed.
    pub fn permission_changed(mode: Mode) -> Self {
        Self::ModeChanged { permission: Some(mode), agent: None, routed: false }
    }

    /// Returns the name of its kind, as in its JSON form.
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
            Self::ExtensionSwitched { .. } => "extension_switched",
            Self::NestedCall { .. } => "nested_call",
            Self::NestedResult { .. } => "nested_result",
            Self::TaskPlan { .. } => "task_plan",
            Self::TaskStarted { .. } => "task_started",
            Self::TaskFinished(_) => "task_finished",
        }
    }
}

/// A step with its place in the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredStep {
    /// Its number; the first is 1.
    pub seq: u64,
    /// The time at which it was stored.
    pub at: Timestamp,
    /// The step.
    pub step: Step,
}

/// A step that is in the log and cannot be read. It stays there as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedStep {
    /// Its number.
    pub seq: u64,
    /// The problem.
    pub reason: String,
}

/// The log of a session.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Steps {
    /// The steps that can be read, in order.
    pub steps: Vec<StoredStep>,
    /// The steps that cannot; worth telling the user.
    pub skipped: Vec<SkippedStep>,
}

impl Steps {
    /// Returns true if the last reply neither ended nor was marked as interrupted: goose was ended in the middle of it.
    pub fn is_unfinished(&self) -> bool {
        let last = self.steps.iter().rev().find_map(|stored| match stored.step {
            Step::ReplyEnded { .. } | Step::Interrupted { .. } => Some(false),
            Step::Message { .. } | Step::ToolResult { .. } => Some(true),
            // These also come between two replies.
            _ => None,
        });
        last.unwrap_or(false)
    }
}
