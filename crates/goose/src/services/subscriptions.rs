//! Who wants to hear of which resources of a service. A server is asked once for each, and again after a restart.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use goose_extension::{Extension, ToolResult};

use super::service::Service;

/// How many subscribers each resource has.
#[derive(Default)]
pub(super) struct Subscriptions(Mutex<BTreeMap<String, usize>>);

impl Subscriptions {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, uri: &str) -> usize {
        let mut all = self.lock();
        let count = all.entry(uri.to_owned()).or_default();
        *count += 1;
        *count
    }

    /// How many are left.
    fn remove(&self, uri: &str) -> usize {
        let mut all = self.lock();
        let left = all.get(uri).copied().unwrap_or_default().saturating_sub(1);
        if left == 0 {
            all.remove(uri);
        } else {
            all.insert(uri.to_owned(), left);
        }
        left
    }

    /// Subscribes anew at a server that was started again, in the background.
    pub(super) fn restore(&self, extension: &Arc<dyn Extension>) {
        let uris: Vec<String> = self.lock().keys().cloned().collect();
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
}

impl Service {
    /// One more wants to hear of changes of a resource.
    pub(crate) async fn subscribe(self: &Arc<Self>, uri: &str) -> ToolResult<()> {
        let first = self.subscriptions.add(uri) == 1;
        let subscribed = match first {
            true => self.ask(async |extension| extension.subscribe(uri).await).await,
            false => Ok(()),
        };
        if subscribed.is_err() {
            self.subscriptions.remove(uri);
        }
        subscribed
    }

    /// One does not want to hear of it any more.
    pub(crate) async fn unsubscribe(self: &Arc<Self>, uri: &str) -> ToolResult<()> {
        match self.subscriptions.remove(uri) {
            0 => self.ask(async |extension| extension.unsubscribe(uri).await).await,
            _ => Ok(()),
        }
    }
}
