//! News of a server: the changes that it announces, and the streams that bring them on the 2026-07-28 wire.
//!
//! Changes are kept as flags, not as a queue: however fast they come in, none is lost and none piles up.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use goose_extension::Change;
use parking_lot::Mutex;
use rmcp::{
    Peer, RoleClient, ServiceError,
    model::{ServerNotification, SubscriptionFilter},
    service::Subscription,
};
use tokio::sync::Notify;

/// Changed resources that are remembered by name.
const MAX_UPDATED: usize = 1024;

/// Pause before a broken stream of news is opened again.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Changes that were not announced yet.
#[derive(Default)]
pub(super) struct News {
    marks: Mutex<PendingChanges>,
    marked: Notify,
    tools: Notify,
}

#[derive(Default)]
pub(super) struct PendingChanges {
    pub(super) resources: bool,
    pub(super) prompts: bool,
    pub(super) updated: BTreeSet<String>,
}

impl News {
    pub(super) fn mark(&self, change: Change) {
        let mut marks = self.marks.lock();
        match change {
            // It keeps one mark by itself.
            Change::Tools => return self.tools.notify_one(),
            Change::Resources => marks.resources = true,
            Change::Prompts => marks.prompts = true,
            Change::ResourceUpdated(uri) if marks.updated.len() < MAX_UPDATED => {
                marks.updated.insert(uri);
            }
            Change::ResourceUpdated(_) => marks.resources = true,
        }
        drop(marks);
        self.marked.notify_one();
    }

    /// Ends when the tools have changed.
    pub(super) async fn tools_changed(&self) {
        self.tools.notified().await;
    }

    pub(super) async fn next(&self) -> PendingChanges {
        loop {
            let marks = std::mem::take(&mut *self.marks.lock());
            if marks.resources || marks.prompts || !marks.updated.is_empty() {
                return marks;
            }
            self.marked.notified().await;
        }
    }
}

/// A stream of news on the 2026-07-28 wire. Opening it waits for the server's acknowledgement.
pub(super) struct Stream {
    peer: Peer<RoleClient>,
    filter: SubscriptionFilter,
    open: Subscription,
}

impl Stream {
    pub(super) async fn open(
        peer: Peer<RoleClient>,
        filter: SubscriptionFilter,
    ) -> Result<Self, ServiceError> {
        let open = peer.listen(filter.clone()).await?;
        Ok(Self { peer, filter, open })
    }

    /// Returns whether the server agreed to report changes of a resource.
    pub(super) fn watches(&self, uri: &str) -> bool {
        let accepted = &self.open.acknowledged().resource_subscriptions;
        accepted.iter().flatten().any(|accepted| accepted == uri)
    }

    /// Marks what comes in until the connection ends. A stream that breaks is opened again, and everything it is about
    /// counts as changed.
    pub(super) async fn run(mut self, news: Arc<News>) {
        let mut pause = FIRST_PAUSE;
        loop {
            while let Ok(Some(notification)) = self.open.next().await {
                pause = FIRST_PAUSE;
                if let Some(change) = change_of(notification) {
                    news.mark(change);
                }
            }
            loop {
                if self.peer.is_transport_closed() {
                    return;
                }
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
                if let Ok(open) = self.peer.listen(self.filter.clone()).await {
                    self.open = open;
                    break;
                }
            }
            // What was kept from before the break may be stale.
            self.peer.clear_response_cache().await;
            self.mark_everything(&news);
        }
    }

    fn mark_everything(&self, news: &News) {
        let filter = &self.filter;
        let lists = [
            (filter.tools_list_changed, Change::Tools),
            (filter.resources_list_changed, Change::Resources),
            (filter.prompts_list_changed, Change::Prompts),
        ];
        lists
            .into_iter()
            .filter(|(wanted, _)| *wanted == Some(true))
            .for_each(|(_, change)| news.mark(change));
        for uri in filter.resource_subscriptions.iter().flatten() {
            news.mark(Change::ResourceUpdated(uri.clone()));
        }
    }
}

fn change_of(notification: ServerNotification) -> Option<Change> {
    match notification {
        ServerNotification::ToolListChangedNotification(_) => Some(Change::Tools),
        ServerNotification::ResourceListChangedNotification(_) => Some(Change::Resources),
        ServerNotification::PromptListChangedNotification(_) => Some(Change::Prompts),
        ServerNotification::ResourceUpdatedNotification(updated) => {
            Some(Change::ResourceUpdated(updated.params.uri))
        }
        _ => None,
    }
}
