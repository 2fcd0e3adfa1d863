//! [`TaskBoard`]: the tasks of the request under way, for programs that show or cancel them.

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::graph::{State, TaskGraph};
use crate::{
    exchange::Exchange,
    session::{PlannedTask, TaskEnd},
};

/// A task of the request under way, or of the last one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskStatus {
    /// The task.
    pub task: PlannedTask,
    /// Its state.
    pub state: TaskState,
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

/// The tasks of the request under way.
#[derive(Debug, Default)]
pub(in super::super) struct TaskBoard {
    entries: Mutex<Vec<Entry>>,
    /// Told when a task is cancelled.
    changed: Notify,
}

#[derive(Debug)]
struct Entry {
    status: TaskStatus,
    cancellation: CancellationToken,
}

impl TaskBoard {
    /// Replaces the tasks. All of them end with the token.
    pub(super) fn begin(&self, graph: &TaskGraph, all: &CancellationToken) {
        let entry = |task: &super::graph::GraphTask| Entry {
            status: TaskStatus { task: task.planned.clone(), state: state(&task.state) },
            cancellation: all.child_token(),
        };
        *self.entries.lock() = graph.tasks.iter().map(entry).collect();
    }

    /// Takes over the states.
    pub(super) fn update(&self, graph: &TaskGraph) {
        for (entry, task) in self.entries.lock().iter_mut().zip(&graph.tasks) {
            entry.status.state = state(&task.state);
        }
    }

    /// Marks the tasks that are not over as cancelled, because none of them runs any more.
    pub(super) fn end(&self) {
        for Entry { status, .. } in self.entries.lock().iter_mut() {
            if !matches!(status.state, TaskState::Over(_)) {
                status.state = TaskState::Over(TaskEnd::Cancelled);
            }
        }
    }

    /// The token that ends a task.
    pub(super) fn cancellation(&self, at: usize) -> CancellationToken {
        self.entries.lock().get(at).map(|entry| entry.cancellation.clone()).unwrap_or_default()
    }

    /// Waits until a task is cancelled.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn statuses(&self) -> Vec<TaskStatus> {
        self.entries.lock().iter().map(|entry| entry.status.clone()).collect()
    }

    fn cancel(&self, id: &str) -> bool {
        let entries = self.entries.lock();
        let is_open = |entry: &&Entry| {
            let is_over =
                matches!(entry.status.state, TaskState::Over(_)) || entry.cancellation.is_cancelled();
            entry.status.task.id == id && !is_over
        };
        let Some(entry) = entries.iter().find(is_open) else { return false };
        entry.cancellation.cancel();
        drop(entries);
        self.changed.notify_one();
        true
    }
}

fn state(state: &State) -> TaskState {
    match state {
        State::Waiting => TaskState::Waiting,
        State::Running => TaskState::Running,
        State::Over { end, .. } => TaskState::Over(*end),
    }
}

impl Exchange {
    /// The tasks of the request that is being worked on, or of the last one that had some.
    pub fn tasks(&self) -> Vec<TaskStatus> {
        self.core.board.statuses()
    }

    /// Cancels one task by its id; the others go on. Returns false if there is no such task, or it is not being worked on.
    pub fn cancel_task(&self, id: &str) -> bool {
        self.core.board.cancel(id)
    }
}
