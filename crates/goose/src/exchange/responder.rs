//! [`Responder`]: makes the replies of a session. It runs the loop, and the loop does not depend on it. The
//! orchestrator implements it.

use std::sync::Arc;

use async_trait::async_trait;
use goose_extension::Message;
use goose_providers::Provider;
use serde::{Deserialize, Serialize};

use super::{
    agent_loop::{AgentLoop, StepResult},
    event::Outcome,
};
use crate::{
    context::Handover,
    session::{PlannedTask, SessionId, TaskEnd},
};

/// Request to reply to.
pub(crate) enum Request {
    /// Message of the user.
    Message(Message),
    /// No new message: continue the conversation.
    GoOn,
    /// Request to prepare a plan for. The agent explores and changes nothing.
    Explore(Message),
    /// Request to write the plan.
    Plan,
    /// Task of another session, and the model that summarizes parts that do not fit.
    Task(Handover, Arc<dyn Provider>),
}

/// Makes the replies of a session.
#[async_trait]
pub(crate) trait Responder: Send + Sync {
    /// Makes a reply with a loop.
    async fn respond(&self, work: &mut AgentLoop, request: Request) -> StepResult<Outcome>;

    /// Returns the tasks of the current request, or of the last one that had tasks.
    fn tasks(&self) -> Vec<TaskStatus>;

    /// Cancels a task by its id. Returns false if the task does not exist or does not run.
    fn cancel_task(&self, id: &str) -> bool;

    /// Forgets interrupted tasks.
    fn forget_tasks(&self);

    /// Releases everything that it holds for the session.
    async fn close(&self);
}

/// Task of the current request, or of the last one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskStatus {
    /// Description of the task.
    pub task: PlannedTask,
    /// State of the task.
    pub state: TaskState,
    /// Session of the task, once it has started.
    pub session: Option<SessionId>,
}

impl TaskStatus {
    pub(crate) fn new(task: PlannedTask, state: TaskState, session: Option<SessionId>) -> Self {
        Self { task, state, session }
    }
}

/// State of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", content = "end", rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskState {
    /// Waits for another task, or for its turn.
    Waiting,
    /// Runs.
    Running,
    /// Is over.
    Over(TaskEnd),
}
