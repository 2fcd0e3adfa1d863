//! What a call wants to tell the client while it runs: a small queue that costs nothing as long as it is empty.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use rmcp::model::ServerNotification;
use tokio::sync::Notify;

/// How many messages of one call may wait to be sent; more are dropped.
const OUTBOX_CAPACITY: usize = 256;

#[derive(Default)]
pub(super) struct Outbox {
    queue: Mutex<VecDeque<ServerNotification>>,
    filled: Notify,
}

impl Outbox {
    /// Queues a message; never waits.
    pub(super) fn post(&self, notification: ServerNotification) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.len() >= OUTBOX_CAPACITY {
            tracing::debug!("dropped a notification: the call sends faster than the client reads");
            return;
        }
        queue.push_back(notification);
        self.filled.notify_one();
    }

    /// The oldest message.
    pub(super) fn take(&self) -> Option<ServerNotification> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// Waits until there may be something to take.
    pub(super) async fn filled(&self) {
        self.filled.notified().await;
    }
}
