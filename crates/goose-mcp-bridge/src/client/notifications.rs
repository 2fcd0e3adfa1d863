//! News of a server: a changed tool list becomes a new snapshot, everything else an event.
//!
//! Changes are kept as flags, not as a queue: however fast they come in, none is lost and none piles up.

use std::{
    collections::BTreeSet,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use goose_extension::Change;
use parking_lot::Mutex;
use rmcp::{
    Peer, RoleClient, ServiceError,
    model::{ServerNotification, SubscriptionFilter},
    service::Subscription,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{
    connection::Connection,
    listing::{Listing, ToolValidation},
    remote::RemoteExtension,
};

/// Changed resources that are remembered by name.
const MAX_UPDATED: usize = 1024;

/// Pause before the tool list is read again while changes keep coming.
const FIRST_RENEWAL_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_RENEWAL_PAUSE: Duration = Duration::from_secs(30);

/// Quiet time after which the next change is read at once again.
const QUIET_TIME: Duration = Duration::from_secs(2);

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
struct PendingChanges {
    resources: bool,
    prompts: bool,
    updated: BTreeSet<String>,
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

    async fn next(&self) -> PendingChanges {
        loop {
            let marks = std::mem::take(&mut *self.marks.lock());
            if marks.resources || marks.prompts || !marks.updated.is_empty() {
                return marks;
            }
            self.marked.notified().await;
        }
    }
}

/// Follows a connection's news until it ends.
pub(super) async fn follow(connection: Weak<Connection>, news: Arc<News>, ends: CancellationToken) {
    tokio::join!(follow_tools(&connection, &news, &ends), follow_others(&connection, &news, &ends));
}

/// A server that announces a change whenever its list is read is not read without pause.
async fn follow_tools(connection: &Weak<Connection>, news: &News, ends: &CancellationToken) {
    let mut pace = RefreshBackoff::default();
    while ends.run_until_cancelled(news.tools.notified()).await.is_some() {
        if ends.run_until_cancelled(tokio::time::sleep(pace.pause())).await.is_none() {
            return;
        }
        renew(connection, ends).await;
        pace.renewed();
    }
}

async fn follow_others(connection: &Weak<Connection>, news: &News, ends: &CancellationToken) {
    while let Some(marks) = ends.run_until_cancelled(news.next()).await {
        let Some(connection) = connection.upgrade() else { return };
        if marks.resources {
            connection.feed.publish(Change::Resources);
        }
        if marks.prompts {
            connection.feed.publish(Change::Prompts);
        }
        for uri in marks.updated {
            connection.feed.publish(Change::ResourceUpdated(uri));
        }
    }
}

/// The pause before each renewal: none after a quiet time, else twice the last one.
#[derive(Default)]
struct RefreshBackoff {
    last_pause: Duration,
    last_renewal: Option<Instant>,
}

impl RefreshBackoff {
    fn pause(&mut self) -> Duration {
        let next = (self.last_pause * 2).clamp(FIRST_RENEWAL_PAUSE, LONGEST_RENEWAL_PAUSE);
        let is_quiet = self.last_renewal.is_none_or(|last| last.elapsed() > next.max(QUIET_TIME));
        self.last_pause = if is_quiet { Duration::ZERO } else { next };
        self.last_pause
    }

    fn renewed(&mut self) {
        self.last_renewal = Some(Instant::now());
    }
}

/// Reads the tool list again and publishes it. The connection is not held while the server takes its time.
async fn renew(connection: &Weak<Connection>, ends: &CancellationToken) {
    let Some((peer, name, limit, vetting)) = connection.upgrade().map(|it| {
        (it.peer().clone(), it.name.clone(), it.options.handshake_timeout, ToolValidation::new(&it.options))
    }) else {
        return;
    };
    let reading = tokio::time::timeout(limit, Listing::read(&peer, &name, vetting));
    let Some(listing) = ends.run_until_cancelled(reading).await else { return };
    match (listing, connection.upgrade()) {
        (Ok(Ok(listing)), Some(connection)) => publish(&connection, Arc::new(listing)),
        (Ok(Err(error)), _) => tracing::warn!(%error, server = name, "a changed tool list could not be read"),
        (Err(_), _) => tracing::warn!(server = name, "a changed tool list was not answered in time"),
        (_, None) => {}
    }
}

/// Publishes what the server offers now. The feed belongs to the connection, so it must not own it in turn.
fn publish(connection: &Arc<Connection>, listing: Arc<Listing>) {
    connection.note_dropped(&listing.dropped);
    let weak = Arc::downgrade(connection);
    connection.feed.replace_with(move || {
        let extension = RemoteExtension { connection: weak.upgrade()?, listing: Arc::clone(&listing) };
        Some(Arc::new(extension))
    });
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
