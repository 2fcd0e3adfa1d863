//! Notifications to clients: those of a request, in order, and changes of the extension.

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

use super::subscriptions::WatchList;

/// Messages of one call that may wait to be sent. If there are more, the oldest progress report is dropped;
/// without one, the new message is dropped and counted.
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
    /// Queues a message, without waiting.
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

    /// Closes the queue: later messages are ignored, and [`next`](Self::next) ends after the last one.
    pub(super) fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_one();
    }

    /// Returns the next message, or `None` once the queue is closed and empty.
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
    /// Drops the oldest progress report, which a newer one replaces.
    fn make_room(&mut self) -> bool {
        let progress =
            self.queue.iter().position(|it| matches!(it, ServerNotification::ProgressNotification(_)));
        progress.is_some_and(|position| self.queue.remove(position).is_some())
    }

    fn report_dropped(&mut self) -> Option<ServerNotification> {
        let dropped = std::mem::take(&mut self.dropped);
        (dropped > 0).then(|| {
            let text = json!(format!(
                "{dropped} messages were dropped: the tool sent them faster than they were read."
            ));
            let params = LoggingMessageNotificationParam::new(LogLevel::Warning.into_mcp(), text);
            ServerNotification::LoggingMessageNotification(LoggingMessageNotification::new(params))
        })
    }
}

/// Returns the next changes. If some were missed, all lists and the `watched` resources count as changed.
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

/// Sends changes to a client on the older wire, until `session` ends.
pub(super) async fn forward(
    mut feed: Receiver<Change>,
    peer: Peer<RoleServer>,
    watch_list: WatchList,
    session: CancellationToken,
) {
    while let Some(Some(changes)) = session.run_until_cancelled(next(&mut feed, || watch_list.uris())).await {
        for change in changes {
            if notify(&peer, &watch_list, change).await.is_err() {
                return;
            }
        }
    }
}

async fn notify(peer: &Peer<RoleServer>, watch_list: &WatchList, change: Change) -> Result<(), ServiceError> {
    match change {
        Change::Tools => peer.notify_tool_list_changed().await,
        Change::Resources => peer.notify_resource_list_changed().await,
        Change::Prompts => peer.notify_prompt_list_changed().await,
        Change::ResourceUpdated(uri) if watch_list.contains(&uri) => {
            peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await
        }
        Change::ResourceUpdated(_) => Ok(()),
    }
}

/// Serves one `subscriptions/listen` of the newer wire, until it is cancelled.
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
