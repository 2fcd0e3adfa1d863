//! The tasks of a request, as the log and events have them.

use goose_providers::Usage;
use serde::{Deserialize, Serialize};

use crate::Facts;

/// A task of a request that was split.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTask {
    /// Its id in the request: `1`, `2`, …
    pub id: String,
    /// The agent that does it.
    pub agent: String,
    /// The slug of the agent's mode.
    pub mode: String,
    /// The words of the request that it consists of.
    pub text: String,
    /// The ids of the tasks whose results it needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// The ids of the tasks that it waits for because they name the same files. It does not get their results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
}

impl PlannedTask {
    /// Returns the agent with its mode, such as `coding-agent/backend`.
    pub fn agent_id(&self) -> String {
        format!("{}/{}", self.agent, self.mode)
    }
}

/// The end of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskFinished {
    /// The task.
    pub task: String,
    /// The way it ended.
    pub end: TaskEnd,
    /// The result, or the reason why there is none.
    pub result: String,
    /// The tokens that it used, of all attempts.
    pub usage: Usage,
    /// Their price in US dollars, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dollars: Option<f64>,
    /// The facts of its work, of all attempts.
    #[serde(default, skip_serializing_if = "Facts::is_empty")]
    pub facts: Facts,
}

/// The way a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskEnd {
    /// It is done.
    Done,
    /// It failed twice.
    Failed,
    /// The user cancelled it.
    Cancelled,
    /// It was not run, because a task that it needs was not done or a limit was reached.
    NotRun,
}

impl TaskEnd {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::NotRun => "not run",
        }
    }
}
