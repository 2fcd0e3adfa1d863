//! [`TaskBoard`]: the tasks of the current request, for programs that show or cancel them.

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::graph::{GraphTask, TaskGraph};
use crate::{
    exchange::{TaskState, TaskStatus},
    session::TaskEnd,
};

/// The tasks of the current request.
#[derive(Debug, Default)]
pub(in crate::agents::orchestrator_agent) struct TaskBoard {
    entries: Mutex<Vec<Entry>>,
    /// Notified when a task is cancelled.
    changed: Notify,
}

#[derive(Debug)]
struct Entry {
    status: TaskStatus,
    cancellation: CancellationToken,
}

impl TaskBoard {
    /// Replaces the tasks. Cancelling the token cancels all of them.
    pub(super) fn begin(&self, graph: &TaskGraph, all: &CancellationToken) {
        let entry = |task: &GraphTask| Entry {
            status: TaskStatus::new(task.planned.clone(), task.state, task.session.clone()),
            cancellation: all.child_token(),
        };
        *self.entries.lock() = graph.tasks.iter().map(entry).collect();
    }

    /// Copies the states from the graph.
    pub(super) fn update(&self, graph: &TaskGraph) {
        for (entry, task) in self.entries.lock().iter_mut().zip(&graph.tasks) {
            entry.status.state = task.state;
            entry.status.session.clone_from(&task.session);
        }
    }

    /// Marks unfinished tasks as cancelled, because none of them runs any more.
    pub(in crate::agents::orchestrator_agent) fn end(&self) {
        for Entry { status, .. } in self.entries.lock().iter_mut() {
            if !matches!(status.state, TaskState::Over(_)) {
                status.state = TaskState::Over(TaskEnd::Cancelled);
            }
        }
    }

    /// Returns the token that cancels a task.
    pub(super) fn cancellation(&self, at: usize) -> CancellationToken {
        self.entries.lock().get(at).map(|entry| entry.cancellation.clone()).unwrap_or_default()
    }

    /// Waits until a task is cancelled.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    pub(in crate::agents::orchestrator_agent) fn statuses(&self) -> Vec<TaskStatus> {
        self.entries.lock().iter().map(|entry| entry.status.clone()).collect()
    }

    pub(in crate::agents::orchestrator_agent) fn cancel(&self, id: &str) -> bool {
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
