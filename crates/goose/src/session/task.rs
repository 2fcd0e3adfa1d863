//! The tasks of a request, as the log and events have them.

use goose_providers::Usage;
use serde::{Deserialize, Serialize};

/// A task of a request that was split.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
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

/// Facts of a piece of work, from the fields of its events, whatever the model says about it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Facts {
    /// The exit code of the last command, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The files that tools changed, as they were named. Commands may have changed others.
    pub files_changed: Vec<String>,
    /// The calls that a rule or the user did not allow.
    pub calls_refused: u32,
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
