//! [`BoxTransport`]: a client's transport of any type. [`CancelOnDrop`]: cancels a request when its caller
//! stops waiting.

use std::{error::Error, time::Duration};

use futures::{FutureExt as _, future::BoxFuture};
use rmcp::{
    Peer, RoleClient,
    model::{CancelledNotification, CancelledNotificationParam, JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, ServiceRole, TxJsonRpcMessage},
    transport::Transport,
};
use tokio_util::task::TaskTracker;

/// Client transport of any type.
///
/// Every connection uses it, not only those with an [`Interceptor`](crate::Interceptor): rmcp's service loop
/// is then compiled once instead of once for each transport.
pub struct BoxTransport(Box<dyn DynTransport>);

impl BoxTransport {
    /// Boxes a transport.
    pub fn new(transport: impl Transport<RoleClient> + 'static) -> Self {
        Self(Box::new(transport))
    }
}

/// Error of a boxed transport. It displays as the error inside.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct TransportError(pub(crate) Box<dyn Error + Send + Sync>);

/// [`Transport`] with boxed futures.
trait DynTransport: Send {
    fn send_boxed(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> BoxFuture<'static, Result<(), TransportError>>;

    fn receive_boxed(&mut self) -> BoxFuture<'_, Option<RxJsonRpcMessage<RoleClient>>>;

    fn close_boxed(&mut self) -> BoxFuture<'_, Result<(), TransportError>>;
}

impl<T: Transport<RoleClient>> DynTransport for T {
    fn send_boxed(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> BoxFuture<'static, Result<(), TransportError>> {
        let sending = self.send(message);
        async move { sending.await.map_err(|error| TransportError(Box::new(error))) }.boxed()
    }

    fn receive_boxed(&mut self) -> BoxFuture<'_, Option<RxJsonRpcMessage<RoleClient>>> {
        self.receive().boxed()
    }

    fn close_boxed(&mut self) -> BoxFuture<'_, Result<(), TransportError>> {
        async move { self.close().await.map_err(|error| TransportError(Box::new(error))) }.boxed()
    }
}

impl Transport<RoleClient> for BoxTransport {
    type Error = TransportError;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.0.send_boxed(message)
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleClient>>> + Send {
        self.0.receive_boxed()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.0.close_boxed()
    }
}

/// Returns the id of the request that a message answers.
pub(crate) fn answered_id<Request, Response, Notification>(
    message: &JsonRpcMessage<Request, Response, Notification>,
) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    }
}

/// Time limit for sending a cancellation: the peer may have stopped reading.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);

/// Cancels a request when it is dropped before [`done`](Self::done).
pub(crate) struct CancelOnDrop<'a, Role: ServiceRole> {
    peer: &'a Peer<Role>,
    id: Option<RequestId>,
    /// Tracks cancellations that are being sent.
    tracker: Option<&'a TaskTracker>,
}

impl<'a, Role: ServiceRole> CancelOnDrop<'a, Role> {
    pub(crate) fn new(peer: &'a Peer<Role>, id: RequestId) -> Self {
        Self { peer, id: Some(id), tracker: None }
    }

    /// Runs the cancellation in a tracker, so that a shutdown can wait until it is sent.
    pub(crate) fn tracked(mut self, tracker: &'a TaskTracker) -> Self {
        self.tracker = Some(tracker);
        self
    }

    /// Marks the request as answered.
    pub(crate) fn done(mut self) {
        self.id = None;
    }
}

impl<Role: ServiceRole> Drop for CancelOnDrop<'_, Role> {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else { return };
        let peer = self.peer.clone();
        let withdrawing = async move { send_cancellation(&peer, id).await };
        match self.tracker {
            Some(tracker) => tracker.spawn_on(withdrawing, &runtime),
            None => runtime.spawn(withdrawing),
        };
    }
}

async fn send_cancellation<Role: ServiceRole>(peer: &Peer<Role>, id: RequestId) {
    let reason = "the caller no longer waits for the answer";
    let params = CancelledNotificationParam::new(Some(id), Some(reason.to_owned()));
    let notification = CancelledNotification::new(params);
    let sending = peer.send_notification(notification.into());
    if !matches!(tokio::time::timeout(SEND_TIMEOUT, sending).await, Ok(Ok(()))) {
        tracing::debug!("a cancellation could not be sent");
    }
}
