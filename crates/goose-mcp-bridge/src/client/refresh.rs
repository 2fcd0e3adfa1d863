//! News of a server become changes of its extension: a changed tool list a new snapshot, everything else an event.

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use goose_extension::Change;
use tokio_util::sync::CancellationToken;

use super::{
    connection::Connection,
    listing::{Listing, ToolValidation},
    notifications::News,
    remote::RemoteExtension,
};

/// Pause before the tool list is read again while changes keep coming.
const FIRST_RENEWAL_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_RENEWAL_PAUSE: Duration = Duration::from_secs(30);

/// Quiet time after which the next change is read at once again.
const QUIET_TIME: Duration = Duration::from_secs(2);

/// Follows a connection's news until it ends.
pub(super) async fn follow(connection: Weak<Connection>, news: Arc<News>, ends: CancellationToken) {
    tokio::join!(follow_tools(&connection, &news, &ends), follow_others(&connection, &news, &ends));
}

/// A server that announces a change whenever its list is read is not read without pause.
async fn follow_tools(connection: &Weak<Connection>, news: &News, ends: &CancellationToken) {
    let mut pace = RefreshBackoff::default();
    while ends.run_until_cancelled(news.tools_changed()).await.is_some() {
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
