//! Watched resources. The extension is told about the first watcher of a resource and about the last one that
//! leaves, even if clients just disconnect.

use std::{collections::HashSet, sync::Arc, time::Duration};

use futures::future::join_all;
use goose_extension::{Extension, Subscriptions, ToolError, ToolResult};
use parking_lot::Mutex;

use crate::on_drop::OnDrop;

/// Resources that one client watches. Dropping it ends all of its watches.
#[derive(Clone)]
pub(super) struct WatchList(Arc<Inner>);

struct Inner {
    all: Arc<Subscriptions>,
    extension: Arc<dyn Extension>,
    /// Time limit for the extension to start or end a subscription.
    limit: Duration,
    uris: Mutex<HashSet<String>>,
}

impl WatchList {
    pub(super) fn new(all: Arc<Subscriptions>, extension: Arc<dyn Extension>, limit: Duration) -> Self {
        Self(Arc::new(Inner { all, extension, limit, uris: Mutex::default() }))
    }

    /// Starts a watch. Tells the extension if it is the first one of the resource.
    pub(super) async fn watch(&self, uri: &str) -> ToolResult<()> {
        let Inner { all, extension, limit, .. } = &*self.0;
        if !self.0.uris.lock().insert(uri.to_owned()) {
            return Ok(());
        }
        // Also when dropped: a client that disconnects now must not end a watch that never started.
        let remove = OnDrop::new(|| {
            self.0.uris.lock().remove(uri);
        });
        all.add(uri, bounded(uri, *limit, extension.subscribe(uri))).await?;
        remove.disarm();
        Ok(())
    }

    /// Ends a watch. Tells the extension if it was the last one of the resource.
    pub(super) async fn unwatch(&self, uri: &str) -> ToolResult<()> {
        if !self.0.uris.lock().remove(uri) {
            return Ok(());
        }
        let Inner { all, extension, limit, .. } = &*self.0;
        leave(all, extension.as_ref(), *limit, uri).await
    }

    pub(super) fn contains(&self, uri: &str) -> bool {
        self.0.uris.lock().contains(uri)
    }

    pub(super) fn uris(&self) -> Vec<String> {
        self.0.uris.lock().iter().cloned().collect()
    }
}

async fn leave(all: &Subscriptions, extension: &dyn Extension, limit: Duration, uri: &str) -> ToolResult<()> {
    all.remove(uri, bounded(uri, limit, extension.unsubscribe(uri))).await
}

async fn bounded(uri: &str, limit: Duration, call: impl Future<Output = ToolResult<()>>) -> ToolResult<()> {
    tokio::time::timeout(limit, call).await.unwrap_or_else(|_| {
        Err(ToolError::Timeout(format!(
            "The subscription to `{uri}` could not be changed within {limit:?}. Try again later."
        )))
    })
}

impl Drop for Inner {
    fn drop(&mut self) {
        let uris = std::mem::take(&mut *self.uris.lock());
        let (all, extension, limit) = (Arc::clone(&self.all), Arc::clone(&self.extension), self.limit);
        if let (false, Ok(runtime)) = (uris.is_empty(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move {
                join_all(uris.iter().map(async |uri| {
                    if let Err(error) = leave(&all, extension.as_ref(), limit, uri).await {
                        tracing::debug!(%error, uri, "a subscription could not be ended");
                    }
                }))
                .await;
            });
        }
    }
}
