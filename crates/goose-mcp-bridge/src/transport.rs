//! [`BoxTransport`]: a client's transport of any type. [`cancel_on_drop`]: cancels a request when its
//! caller stops waiting.

use std::{error::Error, time::Duration};

use futures::{FutureExt as _, future::BoxFuture};
use rmcp::{
    Peer, RoleClient,
    model::{CancelledNotification, CancelledNotificationParam, JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, ServiceRole, TxJsonRpcMessage},
    transport::Transport,
};
use tokio_util::task::TaskTracker;

use super::on_drop::OnDrop;

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

/// Cancels a request when the result is dropped; it is disarmed when the request is answered. A shutdown can wait for
/// the `tracker` until the cancellation is sent.
pub(crate) fn cancel_on_drop<Role: ServiceRole>(
    peer: &Peer<Role>,
    id: RequestId,
    tracker: Option<&TaskTracker>,
) -> OnDrop<impl FnOnce()> {
    OnDrop::new(move || {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let peer = peer.clone();
        let withdrawing = async move { send_cancellation(&peer, id).await };
        match tracker {
            Some(tracker) => tracker.spawn_on(withdrawing, &runtime),
            None => runtime.spawn(withdrawing),
        };
    })
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
