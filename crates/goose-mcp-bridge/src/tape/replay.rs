//! Replaying: a transport with a tape at the other end.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex},
};

use goose_extension::{ToolError, ToolResult};
use rmcp::{
    RoleClient,
    model::{GetExtensions as _, JsonRpcMessage, RequestId},
    service::{InboundStreamOrigin, RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde::Deserialize as _;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{Side, Tape, lock, player::NotSent};

/// What the tape says next. It holds no more than the recording does.
#[derive(Default)]
pub(super) struct Outbox {
    queue: Mutex<VecDeque<Option<RxJsonRpcMessage<RoleClient>>>>,
    filled: Notify,
}

/// A message of the server, on its way.
pub(super) struct Delivery {
    pub(super) message: Value,
    /// The request on whose stream it comes, where that was recorded.
    pub(super) origin: Option<Option<Value>>,
}

impl Outbox {
    pub(super) fn push(&self, delivery: Delivery) -> serde_json::Result<()> {
        let message = delivery.into_message()?;
        self.put(Some(message));
        Ok(())
    }

    pub(super) fn close(&self) {
        self.put(None);
    }

    fn put(&self, item: Option<RxJsonRpcMessage<RoleClient>>) {
        lock(&self.queue).push_back(item);
        self.filled.notify_one();
    }

    /// Cancel-safe: nothing is taken before it is returned.
    async fn next(&self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let next = lock(&self.queue).pop_front();
            match next {
                Some(item) => return item,
                None => self.filled.notified().await,
            }
        }
    }
}

impl Delivery {
    fn into_message(self) -> serde_json::Result<RxJsonRpcMessage<RoleClient>> {
        let mut message = self.message;
        message["jsonrpc"] = json!("2.0");
        let mut message: RxJsonRpcMessage<RoleClient> = serde_json::from_value(message)?;
        let Some(origin) = self.origin else { return Ok(message) };
        let origin = match origin.and_then(|id| RequestId::deserialize(id).ok()) {
            Some(id) => InboundStreamOrigin::OutboundRequest(id),
            None => InboundStreamOrigin::Unassociated,
        };
        match &mut message {
            JsonRpcMessage::Request(request) => {
                request.request.extensions_mut().insert(origin);
            }
            JsonRpcMessage::Notification(notification) => {
                notification.notification.extensions_mut().insert(origin);
            }
            _ => {}
        }
        Ok(message)
    }
}

/// A connection to a tape.
pub(crate) struct Replayed {
    tape: Tape,
    outbox: Arc<Outbox>,
}

impl Replayed {
    /// # Errors
    ///
    /// Where the tape records: then there must be a server.
    pub(crate) fn new(tape: Tape) -> ToolResult<Self> {
        if !tape.is_replay() {
            return Err(ToolError::invalid(format!(
                "`{}` is a tape that records; give it to the options, and connect to the real server.",
                tape.0.file.display()
            )));
        }
        Ok(Self { tape, outbox: Arc::default() })
    }

    fn take(&self, message: &TxJsonRpcMessage<RoleClient>) -> io::Result<()> {
        let Side::Replay(player) = &self.tape.0.side else { return Ok(()) };
        let message = serde_json::to_value(message)?;
        let taken = lock(player).take(message, &self.outbox, &lock(&self.tape.0.placeholders));
        taken.map_err(|NotSent| io::Error::other("the request could not be sent when it was recorded"))
    }
}

impl Transport<RoleClient> for Replayed {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        std::future::ready(self.take(&message))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.outbox.next().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}
