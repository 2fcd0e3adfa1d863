//! [`Responder`]: makes the replies of a session. It stands in front of the loop, which it runs; the loop knows nothing of it.

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

/// A request to reply to.
pub(crate) enum Request {
    /// A message of the user.
    Message(Message),
    /// Nothing new: the history as it is.
    GoOn,
    /// A request that a plan is to be written for: the agent looks around, and changes nothing.
    Explore(Message),
    /// The plan for it.
    Plan,
    /// A task of another session, and the model that summarizes what does not fit.
    Task(Handover, Arc<dyn Provider>),
}

/// Makes the replies of a session.
#[async_trait]
pub(crate) trait Responder: Send + Sync {
    /// Makes a reply with a loop.
    async fn respond(&self, work: &mut AgentLoop, request: Request) -> StepResult<Outcome>;

    /// The tasks of the request that is being worked on, or of the last one that had some.
    fn tasks(&self) -> Vec<TaskStatus>;

    /// Cancels one task by its id. Returns false if there is no such task, or it is not being worked on.
    fn cancel_task(&self, id: &str) -> bool;

    /// Forgets tasks that were interrupted.
    fn forget_tasks(&self);

    /// Gives back what it holds for the session.
    async fn close(&self);
}

/// A task of the request under way, or of the last one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskStatus {
    /// The task.
    pub task: PlannedTask,
    /// Its state.
    pub state: TaskState,
    /// The session that it works in, once it has begun.
    pub session: Option<SessionId>,
}

impl TaskStatus {
    pub(crate) fn new(task: PlannedTask, state: TaskState, session: Option<SessionId>) -> Self {
        Self { task, state, session }
    }
}

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", content = "end", rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskState {
    /// It waits for another one, or for its turn.
    Waiting,
    /// It runs.
    Running,
    /// It is over.
    Over(TaskEnd),
}
