//! Transports of any type in a box, and the hook that can put something in front of one.

use std::{error::Error, fmt};

use futures::{FutureExt as _, future::BoxFuture};
use goose_extension::ToolResult;
use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};

use super::Target;

/// A hook between a client and its server. Tests record and replay traffic with it.
pub trait Interceptor: Send + Sync {
    /// Returns a transport that takes the place of the target, which is then neither started nor reached.
    ///
    /// # Errors
    ///
    /// The connection fails with them.
    fn replace(&self, target: &Target) -> ToolResult<Option<BoxTransport>>;

    /// Wraps the transport of one attempt to connect.
    fn wrap(&self, transport: BoxTransport) -> BoxTransport;
}

/// A client's transport of any type.
///
/// Every connection uses it, not only those with an [`Interceptor`]: rmcp's service loop is then compiled once instead of
/// once for each transport.
pub struct BoxTransport(Box<dyn DynTransport>);

impl BoxTransport {
    /// Boxes a transport.
    pub fn new(transport: impl Transport<RoleClient> + 'static) -> Self {
        Self(Box::new(transport))
    }
}

/// The error of a boxed transport. It reads like the error inside.
#[derive(Debug)]
pub struct TransportError(pub(crate) Box<dyn Error + Send + Sync>);

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for TransportError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

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
