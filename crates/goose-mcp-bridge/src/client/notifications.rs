//! Changes that a server announces, and the streams that carry them on the newer wire.
//!
//! Changes are kept as flags, not in a queue: none is lost, and memory does not grow, however fast they
//! arrive.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use goose_extension::Change;
use parking_lot::Mutex;
use rmcp::{
    Peer, RoleClient, ServiceError,
    model::{ServerNotification, SubscriptionFilter},
    service::Subscription,
};
use tokio::sync::Notify;

/// Changed resources that are remembered by URI. Beyond that, the whole list counts as changed.
const MAX_UPDATED: usize = 1024;

/// Pause before a broken stream is reopened; it doubles with each attempt.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Changes that were announced and not published yet.
#[derive(Default)]
pub(super) struct Announcements {
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

impl Announcements {
    pub(super) fn mark(&self, change: Change) {
        let mut marks = self.marks.lock();
        match change {
            // `Notify` holds one permit, which is the flag.
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

    /// Waits until the tool list has changed.
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

/// Stream of changes on the newer wire.
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

    /// Marks changes until the connection ends. A broken stream is reopened, and everything that it covers
    /// counts as changed.
    pub(super) async fn run(mut self, announcements: Arc<Announcements>) {
        let mut pause = FIRST_PAUSE;
        loop {
            while let Ok(Some(notification)) = self.open.next().await {
                pause = FIRST_PAUSE;
                if let Some(change) = change_of(notification) {
                    announcements.mark(change);
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
            // Responses cached before the break may be stale.
            self.peer.clear_response_cache().await;
            self.mark_everything(&announcements);
        }
    }

    fn mark_everything(&self, announcements: &Announcements) {
        let filter = &self.filter;
        let lists = [
            (filter.tools_list_changed, Change::Tools),
            (filter.resources_list_changed, Change::Resources),
            (filter.prompts_list_changed, Change::Prompts),
        ];
        lists
            .into_iter()
            .filter(|(wanted, _)| *wanted == Some(true))
            .for_each(|(_, change)| announcements.mark(change));
        for uri in filter.resource_subscriptions.iter().flatten() {
            announcements.mark(Change::ResourceUpdated(uri.clone()));
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
