//! A call that continues as a task (the MCP extension `io.modelcontextprotocol/tasks`): the task is polled
//! until it ends.
//!
//! Its questions are answered like those of any call, and its status is reported to the caller. When the
//! caller stops waiting, the task is cancelled.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use goose_extension::{CallContext, ToolError, ToolResult};
use rmcp::{
    ServiceError,
    model::{
        CallToolResult, CancelTaskParams, ErrorData, GetTaskParams, InputRequests, JsonObject, ServerResult,
        Task, TaskPayload, UpdateTaskParams,
    },
};
use serde_json::Value;

use super::{
    connection::Connection,
    errors::failure,
    questions::{Budget, MAX_ROUNDS, answer_all, too_many_rounds},
};
use crate::on_drop::OnDrop;

/// Default and bounds of the polling interval.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);
const SHORTEST_INTERVAL: Duration = Duration::from_millis(50);
const LONGEST_INTERVAL: Duration = Duration::from_secs(30);

/// Time limit for sending a cancellation.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// Polls a task until it ends, and returns the result of the call. Dropping this cancels the task.
pub(super) async fn follow(
    connection: &Connection,
    what: &str,
    context: &CallContext,
    budget: &Budget,
    task: Task,
) -> ToolResult<ServerResult> {
    let running = cancel_on_drop(connection, task.task_id.clone());
    let mut poll = TaskPoll::new(connection, what, context, budget, &task);
    let mut interval = interval_of(&task);
    loop {
        tokio::time::sleep(interval.min(poll.patience()?)).await;
        let state = poll.state(&task.task_id).await?;
        poll.note(&state.task);
        interval = interval_of(&state.task);
        let ended = match state.payload {
            TaskPayload::InputRequired { input_requests } => {
                poll.answer(&task.task_id, input_requests).await?;
                continue;
            }
            TaskPayload::Completed { result } => poll.result(result),
            TaskPayload::Failed { error } => Err(poll.failed(error)),
            TaskPayload::Cancelled => Err(ToolError::ExecutionError(format!(
                "The server cancelled its work on `{what}`. Call it again if the result is still needed."
            ))),
            _ => continue,
        };
        running.disarm();
        return ended;
    }
}

fn interval_of(task: &Task) -> Duration {
    let suggested = task.poll_interval_ms.map_or(DEFAULT_INTERVAL, Duration::from_millis);
    suggested.clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL)
}

/// State of a task that is polled.
struct TaskPoll<'a> {
    connection: &'a Connection,
    what: &'a str,
    context: &'a CallContext,
    budget: &'a Budget,
    last_update: String,
    last_message: Option<String>,
    last_sign: Instant,
    changes: u32,
    rounds: u32,
    answered: HashSet<String>,
}

impl<'a> TaskPoll<'a> {
    fn new(
        connection: &'a Connection,
        what: &'a str,
        context: &'a CallContext,
        budget: &'a Budget,
        task: &Task,
    ) -> Self {
        let mut poll = Self {
            connection,
            what,
            context,
            budget,
            last_update: task.last_updated_at.clone(),
            last_message: None,
            last_sign: Instant::now(),
            changes: 0,
            rounds: 0,
            answered: HashSet::new(),
        };
        poll.tell(task);
        poll
    }

    /// Returns how long the task may still be silent, or an error if it was silent for too long.
    fn patience(&self) -> ToolResult<Duration> {
        let Some(timeout) = self.connection.options.call_timeout else { return Ok(LONGEST_INTERVAL) };
        let left = timeout.saturating_sub(self.last_sign.elapsed());
        if left.is_zero() {
            return Err(failure(&self.connection.name, self.what, ServiceError::Timeout { timeout }));
        }
        Ok(left)
    }

    async fn state(&self, id: &str) -> ToolResult<rmcp::model::DetailedTask> {
        let asking = self.connection.peer().get_task(GetTaskParams::new(id));
        match self.connection.bounded("tasks/get", asking).await {
            Ok(state) => Ok(state.task),
            Err(ToolError::InvalidParameters(reason) | ToolError::NotFound(reason)) => {
                Err(ToolError::ExecutionError(format!(
                    "The server no longer knows its work on `{}` ({reason}); it may have expired. Call it \
                     again.",
                    self.what
                )))
            }
            Err(error) => Err(error),
        }
    }

    /// Records signs of progress, and reports a new status to the caller.
    fn note(&mut self, task: &Task) {
        if task.last_updated_at != self.last_update {
            self.last_update.clone_from(&task.last_updated_at);
            self.last_sign = Instant::now();
        }
        self.tell(task);
    }

    fn tell(&mut self, task: &Task) {
        if task.status_message == self.last_message {
            return;
        }
        self.last_sign = Instant::now();
        self.last_message.clone_from(&task.status_message);
        if let Some(message) = &task.status_message {
            self.changes += 1;
            self.context.status(message.clone());
            self.context.progress(f64::from(self.changes), None, message.clone());
        }
    }

    /// Answers new questions only: a server may repeat a question until it has processed the answer.
    async fn answer(&mut self, id: &str, questions: InputRequests) -> ToolResult<()> {
        let new: InputRequests =
            questions.into_iter().filter(|(key, _)| !self.answered.contains(key)).collect();
        if new.is_empty() {
            return Ok(());
        }
        self.rounds += 1;
        if self.rounds > MAX_ROUNDS {
            return Err(too_many_rounds(self.what));
        }
        self.answered.extend(new.keys().cloned());
        let answers = answer_all(new, self.context, self.budget).await?;
        let update = UpdateTaskParams::new(id, answers);
        self.connection.bounded("tasks/update", self.connection.peer().update_task(update)).await?;
        self.last_sign = Instant::now();
        Ok(())
    }

    fn result(&self, result: JsonObject) -> ToolResult<ServerResult> {
        match serde_json::from_value::<CallToolResult>(Value::Object(result)) {
            Ok(result) => Ok(ServerResult::CallToolResult(result)),
            Err(_) => Err(failure(&self.connection.name, self.what, ServiceError::UnexpectedResponse)),
        }
    }

    fn failed(&self, error: JsonObject) -> ToolError {
        match serde_json::from_value::<ErrorData>(Value::Object(error)) {
            Ok(error) => ToolError::from(error),
            Err(_) => ToolError::ExecutionError(format!(
                "The server's work on `{}` failed, and it did not say why.",
                self.what
            )),
        }
    }
}

/// Cancels a task when the result is dropped; it is disarmed when the task has ended.
fn cancel_on_drop(connection: &Connection, id: String) -> OnDrop<impl FnOnce()> {
    OnDrop::new(move || {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let peer = connection.peer().clone();
        let cancelling = async move {
            let cancelling = peer.cancel_task(CancelTaskParams::new(id));
            if !matches!(tokio::time::timeout(CANCEL_TIMEOUT, cancelling).await, Ok(Ok(()))) {
                tracing::debug!("a task could not be cancelled");
            }
        };
        connection.cancellations.spawn_on(cancelling, &runtime);
    })
}
