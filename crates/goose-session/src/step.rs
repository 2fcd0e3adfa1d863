//! [`Step`]: an entry of a session's log. Steps are only appended, never changed.

use goose_config::Mode;
use goose_extension::{Message, RichRenderable, StoredOutput, ToolOutput};
use goose_providers::Usage;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ChosenBy, PlannedTask, SessionId, TaskFinished};

/// End of a tool call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolEnd {
    /// It ran. The output says if it succeeded.
    #[default]
    Ran,
    /// It was not run: malformed, unknown, or repeated too often.
    Rejected,
    /// The user or a rule denied it.
    Denied,
    /// It was cancelled.
    Cancelled,
}

impl ToolEnd {
    fn has_run(&self) -> bool {
        *self == Self::Ran
    }
}

/// Entry of a session's log. The store holds its JSON form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Step {
    /// Complete message of the user or the model.
    Message {
        /// Message.
        message: Message,
    },
    /// Result of one tool call. It is stored at once, even if other calls of the same message are still
    /// running.
    ToolResult {
        /// Id of the call.
        id: String,
        /// Result.
        #[serde(with = "StoredOutput")]
        output: ToolOutput,
        /// End of the call.
        #[serde(default, skip_serializing_if = "ToolEnd::has_run")]
        end: ToolEnd,
    },
    /// Cost of one request to a model.
    Cost {
        /// Name of the provider.
        provider: String,
        /// Name of the model.
        model: String,
        /// Tokens.
        usage: Usage,
        /// Price in US dollars, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dollars: Option<f64>,
    },
    /// Replaces all earlier messages for the model. The steps themselves stay.
    Compacted {
        /// Conversation that the model sees from here on.
        messages: Vec<Message>,
        /// Step of the message that the user went back to. The conversation is the one before it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rewound_to: Option<u64>,
    },
    /// A reply ended early: it was cancelled, or the goose process ended, which is detected when the session
    /// is opened again.
    Interrupted {
        /// Reason.
        reason: String,
    },
    /// A reply ended.
    ReplyEnded {
        /// Outcome, in one word.
        outcome: String,
    },
    /// Entry of a tool or of goose for the user. The model does not see it.
    Log {
        /// Entry.
        content: RichRenderable,
        /// Id of the tool call that wrote it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
    },
    /// Change of the permission mode, of the agent, or both.
    ModeChanged {
        /// New permission mode, if it changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        permission: Option<Mode>,
        /// New agent with its mode, such as `goose-agent/assistant`, if it changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        /// True if goose chose the agent for a request, false if the user did.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        routed: bool,
    },
    /// An extension was enabled or disabled for the rest of the session. Its configuration is not stored: it
    /// may contain secrets, and a log must not start programs.
    ExtensionSwitched {
        /// Name of the extension.
        name: String,
        /// True if it was enabled.
        enabled: bool,
    },
    /// A running tool called another tool. The model sees only the result of the outer call.
    NestedCall {
        /// Id of the outer call.
        parent: String,
        /// Id of this call.
        id: String,
        /// Name of the tool.
        name: String,
        /// Arguments of the call.
        arguments: Value,
    },
    /// Result of a nested call.
    NestedResult {
        /// Id of the outer call.
        parent: String,
        /// Id of the nested call.
        id: String,
        /// Result.
        #[serde(with = "StoredOutput")]
        output: ToolOutput,
        /// End of the call.
        #[serde(default, skip_serializing_if = "ToolEnd::has_run")]
        end: ToolEnd,
    },
    /// The request was split into tasks. An empty list drops an earlier plan.
    TaskPlan {
        /// Tasks, each after the tasks that it needs.
        tasks: Vec<PlannedTask>,
    },
    /// A delegate started a task.
    TaskStarted {
        /// Id of the task.
        task: String,
        /// Session of the delegate.
        session: SessionId,
        /// Number of the attempt, from 1.
        attempt: u32,
    },
    /// A task ended.
    TaskFinished(TaskFinished),
}

impl Step {
    /// Returns the step for a new agent.
    pub fn agent_changed(agent: String, chosen_by: ChosenBy) -> Self {
        Self::ModeChanged { permission: None, agent: Some(agent), routed: chosen_by != ChosenBy::User }
    }

    /// Returns the step that replaces all earlier messages.
    pub fn compacted(messages: Vec<Message>) -> Self {
        Self::Compacted { messages, rewound_to: None }
    }

    /// Returns the step for a new permission mode.
    pub fn permission_changed(mode: Mode) -> Self {
        Self::ModeChanged { permission: Some(mode), agent: None, routed: false }
    }

    /// Returns the name of the kind, as in the JSON form.
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

/// Step with its number and time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredStep {
    /// Number, from 1.
    pub seq: u64,
    /// Time at which it was stored.
    pub at: Timestamp,
    /// Step.
    pub step: Step,
}

/// Step that cannot be read. It stays in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedStep {
    /// Number of the step.
    pub seq: u64,
    /// Problem.
    pub reason: String,
}

/// Log of a session.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Steps {
    /// Readable steps, in order.
    pub steps: Vec<StoredStep>,
    /// Steps that cannot be read. The user should be told.
    pub skipped: Vec<SkippedStep>,
}

impl Steps {
    /// Returns true if the last reply neither ended nor was marked as interrupted, because the goose process
    /// ended during it.
    pub fn is_unfinished(&self) -> bool {
        let last = self.steps.iter().rev().find_map(|stored| match stored.step {
            Step::ReplyEnded { .. } | Step::Interrupted { .. } => Some(false),
            Step::Message { .. } | Step::ToolResult { .. } => Some(true),
            // Other steps also occur between two replies.
            _ => None,
        });
        last.unwrap_or(false)
    }
}
