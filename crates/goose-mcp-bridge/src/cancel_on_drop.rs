//! A request whose answer is awaited: when the wait is dropped, the other side is told to stop.

use std::time::Duration;

use rmcp::{
    Peer,
    model::{CancelledNotification, CancelledNotificationParam, RequestId},
    service::ServiceRole,
};
use tokio_util::task::TaskTracker;

/// Time limit of a withdrawal: the other side may have stopped reading.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);

/// Withdraws a request when it is dropped before [`done`](Self::done).
pub(super) struct CancelOnDrop<'a, Role: ServiceRole> {
    peer: &'a Peer<Role>,
    id: Option<RequestId>,
    /// Counts the withdrawals on their way.
    tracker: Option<&'a TaskTracker>,
}

impl<'a, Role: ServiceRole> CancelOnDrop<'a, Role> {
    pub(super) fn new(peer: &'a Peer<Role>, id: RequestId) -> Self {
        Self { peer, id: Some(id), tracker: None }
    }

    /// Counts the withdrawal in a tracker, on which one can wait until it was sent.
    pub(super) fn tracked(mut self, tracker: &'a TaskTracker) -> Self {
        self.tracker = Some(tracker);
        self
    }

    /// The answer came.
    pub(super) fn done(mut self) {
        self.id = None;
    }
}

impl<Role: ServiceRole> Drop for CancelOnDrop<'_, Role> {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else { return };
        let peer = self.peer.clone();
        let withdrawing = async move { withdraw(&peer, id).await };
        match self.tracker {
            Some(tracker) => tracker.spawn_on(withdrawing, &runtime),
            None => runtime.spawn(withdrawing),
        };
    }
}

async fn withdraw<Role: ServiceRole>(peer: &Peer<Role>, id: RequestId) {
    let reason = "the caller no longer waits for the answer";
    let params = CancelledNotificationParam::new(Some(id), Some(reason.to_owned()));
    let notification = CancelledNotification::new(params);
    let sending = peer.send_notification(notification.into());
    if !matches!(tokio::time::timeout(SEND_TIMEOUT, sending).await, Ok(Ok(()))) {
        tracing::debug!("a cancellation could not be sent");
    }
}
