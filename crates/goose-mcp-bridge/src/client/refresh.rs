//! Publishes announced changes: a new snapshot for a changed tool list, an event for everything else.

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use goose_extension::Change;
use tokio_util::sync::CancellationToken;

use super::{
    connection::Connection,
    listing::{Listing, ToolValidation},
    notifications::Announcements,
    remote::RemoteExtension,
};

/// Pause before the tool list is read again while changes keep arriving; it doubles each time.
const FIRST_RENEWAL_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_RENEWAL_PAUSE: Duration = Duration::from_secs(30);

/// Time without changes after which the next one is read at once.
const QUIET_TIME: Duration = Duration::from_secs(2);

/// Publishes the changes of a connection until it ends.
pub(super) async fn follow(
    connection: Weak<Connection>,
    announcements: Arc<Announcements>,
    shutdown: CancellationToken,
) {
    tokio::join!(
        follow_tools(&connection, &announcements, &shutdown),
        follow_others(&connection, &announcements, &shutdown)
    );
}

/// Reads the tool list after each change, with pauses: some servers announce a change whenever the list is
/// read.
async fn follow_tools(
    connection: &Weak<Connection>,
    announcements: &Announcements,
    shutdown: &CancellationToken,
) {
    let mut pace = RefreshBackoff::default();
    while shutdown.run_until_cancelled(announcements.tools_changed()).await.is_some() {
        if shutdown.run_until_cancelled(tokio::time::sleep(pace.pause())).await.is_none() {
            return;
        }
        renew(connection, shutdown).await;
        pace.renewed();
    }
}

async fn follow_others(
    connection: &Weak<Connection>,
    announcements: &Announcements,
    shutdown: &CancellationToken,
) {
    while let Some(marks) = shutdown.run_until_cancelled(announcements.next()).await {
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

/// Pause before each renewal: none after a quiet time, otherwise twice the last one.
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

/// Reads the tool list again and publishes it. Does not keep the connection alive while the server answers.
async fn renew(connection: &Weak<Connection>, shutdown: &CancellationToken) {
    let Some((peer, name, limit, validation)) = connection.upgrade().map(|it| {
        (it.peer().clone(), it.name.clone(), it.options.handshake_timeout, ToolValidation::new(&it.options))
    }) else {
        return;
    };
    let reading = tokio::time::timeout(limit, Listing::read(&peer, &name, validation));
    let Some(listing) = shutdown.run_until_cancelled(reading).await else { return };
    match (listing, connection.upgrade()) {
        (Ok(Ok(listing)), Some(connection)) => publish(&connection, Arc::new(listing)),
        (Ok(Err(error)), _) => tracing::warn!(%error, server = name, "a changed tool list could not be read"),
        (Err(_), _) => tracing::warn!(server = name, "a changed tool list was not answered in time"),
        (_, None) => {}
    }
}

/// Publishes a new snapshot. The feed belongs to the connection, so the closure holds the connection weakly.
fn publish(connection: &Arc<Connection>, listing: Arc<Listing>) {
    connection.note_dropped(&listing.dropped);
    let weak = Arc::downgrade(connection);
    connection.feed.replace_with(move || {
        let extension = RemoteExtension { connection: weak.upgrade()?, listing: Arc::clone(&listing) };
        Some(Arc::new(extension))
    });
}
