//! Tasks of a request, in the log and in events.

use goose_providers::Usage;
use serde::{Deserialize, Serialize};

use crate::Facts;

/// Task of a request that was split.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTask {
    /// Id within the request: `1`, `2`, …
    pub id: String,
    /// Name of the agent that does it.
    pub agent: String,
    /// Slug of the agent's mode.
    pub mode: String,
    /// Part of the request that describes it.
    pub text: String,
    /// Ids of the tasks whose results it needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Ids of the tasks that it waits for because they name the same files. It does not get their results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
}

impl PlannedTask {
    /// Returns the agent with its mode, such as `coding-agent/backend`.
    pub fn agent_id(&self) -> String {
        format!("{}/{}", self.agent, self.mode)
    }
}

/// End of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskFinished {
    /// Id of the task.
    pub task: String,
    /// Outcome of the task.
    pub end: TaskEnd,
    /// Result, or the reason why there is none.
    pub result: String,
    /// Tokens of all attempts.
    pub usage: Usage,
    /// Price of the tokens in US dollars, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dollars: Option<f64>,
    /// Facts of all attempts.
    #[serde(default, skip_serializing_if = "Facts::is_empty")]
    pub facts: Facts,
}

/// Outcome of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskEnd {
    /// The task is done.
    Done,
    /// The task failed twice.
    Failed,
    /// The user cancelled the task.
    Cancelled,
    /// The task was not run, because a task that it needs was not done or a limit was reached.
    NotRun,
}

impl TaskEnd {
    /// Returns the outcome in words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::NotRun => "not run",
        }
    }
}
