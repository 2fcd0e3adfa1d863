//! What a call wants to tell the client while it runs: a small queue that costs nothing as long as it is empty.

#![expect(deprecated, reason = "MCP 2026-07-28 deprecates logging; all older peers use it")]

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use goose_extension::LogLevel;
use rmcp::model::{LoggingMessageNotification, LoggingMessageNotificationParam, ServerNotification};
use serde_json::json;
use tokio::sync::Notify;

/// How many messages of one call may wait to be sent. Beyond that, old progress makes room first; what does not fit then
/// is counted and reported.
const OUTBOX_CAPACITY: usize = 1024;

#[derive(Default)]
pub(super) struct Outbox {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    queue: VecDeque<ServerNotification>,
    dropped: u64,
    closed: bool,
}

impl Outbox {
    /// Queues a message; never waits.
    pub(super) fn post(&self, notification: ServerNotification) {
        let mut state = self.lock();
        if state.closed {
            return;
        }
        if state.queue.len() >= OUTBOX_CAPACITY && !state.make_room() {
            state.dropped += 1;
            return;
        }
        state.queue.push_back(notification);
        drop(state);
        self.changed.notify_one();
    }

    /// Takes no more messages; whoever sends ends after the last one.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_one();
    }

    /// The next message; waits for one until the outbox is closed and empty.
    pub(super) async fn next(&self) -> Option<ServerNotification> {
        loop {
            {
                let mut state = self.lock();
                if let Some(notification) = state.queue.pop_front() {
                    return Some(notification);
                }
                if let Some(report) = state.report_dropped() {
                    return Some(report);
                }
                if state.closed {
                    return None;
                }
            }
            self.changed.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Gives up the oldest progress report: a newer one says more.
    fn make_room(&mut self) -> bool {
        let progress =
            self.queue.iter().position(|it| matches!(it, ServerNotification::ProgressNotification(_)));
        progress.is_some_and(|position| self.queue.remove(position).is_some())
    }

    fn report_dropped(&mut self) -> Option<ServerNotification> {
        let dropped = std::mem::take(&mut self.dropped);
        (dropped > 0).then(|| {
            let text = json!(format!(
                "{dropped} messages were dropped: the tool reported faster than they were read."
            ));
            let params = LoggingMessageNotificationParam::new(LogLevel::Warning.into_mcp(), text);
            ServerNotification::LoggingMessageNotification(LoggingMessageNotification::new(params))
        })
    }
}
