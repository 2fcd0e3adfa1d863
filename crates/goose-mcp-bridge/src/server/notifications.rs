//! Notifications on their way to clients: those of a request in their order, and changes of the extension.

#![expect(deprecated, reason = "MCP 2026-07-28 deprecates logging; all older peers use it")]

use std::collections::VecDeque;

use goose_extension::{Change, LogLevel};
use parking_lot::Mutex;
use rmcp::{
    Peer, RoleServer, ServiceError,
    model::{
        LoggingMessageNotification, LoggingMessageNotificationParam, ResourceUpdatedNotificationParam,
        ServerNotification, SubscriptionFilter,
    },
    service::{SubscriptionContext, SubscriptionSendError},
};
use serde_json::json;
use tokio::sync::{
    Notify,
    broadcast::{Receiver, error::RecvError},
};
use tokio_util::sync::CancellationToken;

use super::subscriptions::Watching;

/// Messages of one call that may wait to be sent. Beyond that, old progress makes room first; what does not fit then
/// is counted and reported.
const OUTBOX_CAPACITY: usize = 1024;

#[derive(Default)]
pub(super) struct NotificationQueue {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    queue: VecDeque<ServerNotification>,
    dropped: u64,
    closed: bool,
}

impl NotificationQueue {
    /// Queues a message; never waits.
    pub(super) fn post(&self, notification: ServerNotification) {
        let mut state = self.state.lock();
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

    /// Takes no more messages; the sender ends after the last one.
    pub(super) fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_one();
    }

    /// The next message; waits for one until the queue is closed and empty.
    pub(super) async fn next(&self) -> Option<ServerNotification> {
        loop {
            {
                let mut state = self.state.lock();
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

/// The next changes; where some were missed, everything counts as changed, the `watched` resources too.
async fn next(feed: &mut Receiver<Change>, watched: impl FnOnce() -> Vec<String>) -> Option<Vec<Change>> {
    match feed.recv().await {
        Ok(change) => Some(vec![change]),
        Err(RecvError::Lagged(_)) => {
            let lists = [Change::Tools, Change::Resources, Change::Prompts];
            Some(lists.into_iter().chain(watched().into_iter().map(Change::ResourceUpdated)).collect())
        }
        Err(RecvError::Closed) => None,
    }
}

/// Tells a client of the older wire about changes, until `session` ends.
pub(super) async fn forward(
    mut feed: Receiver<Change>,
    peer: Peer<RoleServer>,
    watching: Watching,
    session: CancellationToken,
) {
    while let Some(Some(changes)) = session.run_until_cancelled(next(&mut feed, || watching.uris())).await {
        for change in changes {
            if tell(&peer, &watching, change).await.is_err() {
                return;
            }
        }
    }
}

async fn tell(peer: &Peer<RoleServer>, watching: &Watching, change: Change) -> Result<(), ServiceError> {
    match change {
        Change::Tools => peer.notify_tool_list_changed().await,
        Change::Resources => peer.notify_resource_list_changed().await,
        Change::Prompts => peer.notify_prompt_list_changed().await,
        Change::ResourceUpdated(uri) if watching.contains(&uri) => {
            peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await
        }
        Change::ResourceUpdated(_) => Ok(()),
    }
}

/// Serves one `subscriptions/listen` of the 2026-07-28 wire, until it is cancelled.
pub(super) async fn listen(mut feed: Receiver<Change>, context: SubscriptionContext) {
    loop {
        let watched = || context.accepted().resource_subscriptions.clone().unwrap_or_default();
        let changes = tokio::select! {
            changes = next(&mut feed, watched) => changes,
            () = context.cancelled() => None,
        };
        let Some(changes) = changes else { return };
        for change in changes {
            if send(&context, change).await.is_err() {
                return;
            }
        }
    }
}

async fn send(context: &SubscriptionContext, change: Change) -> Result<(), SubscriptionSendError> {
    let (sink, accepted) = (context.sink(), context.accepted());
    match change {
        Change::Tools if accepted.tools_list_changed == Some(true) => sink.notify_tool_list_changed().await,
        Change::Resources if accepted.resources_list_changed == Some(true) => {
            sink.notify_resource_list_changed().await
        }
        Change::Prompts if accepted.prompts_list_changed == Some(true) => {
            sink.notify_prompt_list_changed().await
        }
        Change::ResourceUpdated(uri) if watches(accepted, &uri) => sink.notify_resource_updated(uri).await,
        _ => Ok(()),
    }
}

fn watches(filter: &SubscriptionFilter, uri: &str) -> bool {
    filter.resource_subscriptions.as_ref().is_some_and(|uris| uris.iter().any(|watched| watched == uri))
}
