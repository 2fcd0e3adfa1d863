//! Subscriptions to the resources of a service. A server is asked once for each, and again after a restart.

use std::sync::Arc;

use goose_extension::{Extension, Subscriptions, ToolResult};

use super::service::Service;

/// Subscribes anew at a server that was started again, in the background.
pub(super) fn restore(subscriptions: &Subscriptions, extension: &Arc<dyn Extension>) {
    let uris = subscriptions.uris();
    if uris.is_empty() {
        return;
    }
    let extension = Arc::clone(extension);
    tokio::spawn(async move {
        for uri in uris {
            if let Err(error) = extension.subscribe(&uri).await {
                tracing::warn!(%error, uri, "a subscription was lost with a restart");
            }
        }
    });
}

impl Service {
    /// Adds a subscriber to a resource.
    pub(crate) async fn subscribe(self: &Arc<Self>, uri: &str) -> ToolResult<()> {
        let subscribe = self.ask(async |extension| extension.subscribe(uri).await);
        self.subscriptions.add(uri, subscribe).await
    }

    /// Removes a subscriber from a resource.
    pub(crate) async fn unsubscribe(self: &Arc<Self>, uri: &str) -> ToolResult<()> {
        let unsubscribe = self.ask(async |extension| extension.unsubscribe(uri).await);
        self.subscriptions.remove(uri, unsubscribe).await
    }
}
