//! News of a server: a changed tool list becomes a new snapshot, everything else an event.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use rmcp::model::{ServerNotification, SubscriptionFilter};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Connection, Listing, RemoteExtension};
use crate::changes::Change;

/// How many changes may wait; more are dropped, because the next look at the lists shows them all.
pub(super) const NEWS_CAPACITY: usize = 64;

/// Follows a connection's news as long as the connection lives.
pub(super) async fn follow(connection: Weak<Connection>, mut news: mpsc::Receiver<Change>) {
    while let Some(change) = news.recv().await {
        let Some(connection) = connection.upgrade() else { return };
        if change != Change::Tools {
            connection.feed.publish(change);
            continue;
        }
        match Listing::read(&connection).await {
            Ok(listing) => publish(&connection, Arc::new(listing)),
            Err(error) => {
                tracing::warn!(%error, server = connection.name, "a changed tool list could not be read")
            }
        }
    }
}

/// Publishes what the server offers now. The feed belongs to the connection, so it must not own it in turn.
fn publish(connection: &Arc<Connection>, listing: Arc<Listing>) {
    let weak = Arc::downgrade(connection);
    connection.feed.replace_with(move || {
        let extension = RemoteExtension { connection: weak.upgrade()?, listing: Arc::clone(&listing) };
        Some(Arc::new(extension))
    });
}

/// Asks a server of the 2026-07-28 wire to report changes of its lists.
pub(super) async fn subscribe(connection: Arc<Connection>, news: mpsc::Sender<Change>) {
    let filter = connection.list_filter();
    if filter != SubscriptionFilter::default() {
        let stop = connection.ends.clone();
        let peer = connection.peer().clone();
        drop(connection);
        stop.run_until_cancelled(listen(peer, filter, news)).await;
    }
}

pub(super) async fn listen(
    peer: rmcp::Peer<rmcp::RoleClient>,
    filter: SubscriptionFilter,
    news: mpsc::Sender<Change>,
) {
    let mut subscription = match peer.listen(filter).await {
        Ok(subscription) => subscription,
        Err(error) => return tracing::debug!(%error, "the server does not report changes"),
    };
    while let Ok(Some(notification)) = subscription.next().await {
        let change = match notification {
            ServerNotification::ToolListChangedNotification(_) => Change::Tools,
            ServerNotification::ResourceListChangedNotification(_) => Change::Resources,
            ServerNotification::PromptListChangedNotification(_) => Change::Prompts,
            ServerNotification::ResourceUpdatedNotification(updated) => {
                Change::ResourceUpdated(updated.params.uri)
            }
            _ => continue,
        };
        if news.send(change).await.is_err() {
            return;
        }
    }
}

/// The resources that are watched on the 2026-07-28 wire, each with its own listen.
#[derive(Default)]
pub(super) struct Watches(Mutex<HashMap<String, CancellationToken>>);

impl Watches {
    /// The token of a new watch; `None` where the resource is watched already.
    pub(super) fn begin(&self, uri: &str, parent: &CancellationToken) -> Option<CancellationToken> {
        let mut watches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if watches.contains_key(uri) {
            return None;
        }
        let token = parent.child_token();
        watches.insert(uri.to_owned(), token.clone());
        Some(token)
    }

    pub(super) fn end(&self, uri: &str) {
        if let Some(token) = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(uri) {
            token.cancel();
        }
    }
}
