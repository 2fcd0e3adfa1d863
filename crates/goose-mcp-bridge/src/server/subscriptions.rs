//! The resources that clients of a server watch. The extension hears of the first watcher of a resource and of the last
//! one's leaving, however many clients there are and however they leave.

use std::{collections::HashSet, sync::Arc, time::Duration};

use futures::future::join_all;
use goose_extension::{Extension, Subscriptions, ToolError, ToolResult};
use parking_lot::Mutex;

/// The resources that one client watches; it leaves all of them when it is dropped.
#[derive(Clone)]
pub(super) struct Watching(Arc<Inner>);

struct Inner {
    all: Arc<Subscriptions>,
    extension: Arc<dyn Extension>,
    /// Time that the extension has to begin or end a subscription.
    limit: Duration,
    own: Mutex<HashSet<String>>,
}

impl Watching {
    pub(super) fn new(all: Arc<Subscriptions>, extension: Arc<dyn Extension>, limit: Duration) -> Self {
        Self(Arc::new(Inner { all, extension, limit, own: Mutex::default() }))
    }

    pub(super) async fn begin(&self, uri: &str) -> ToolResult<()> {
        let Inner { all, extension, limit, .. } = &*self.0;
        if !self.0.own.lock().insert(uri.to_owned()) {
            return Ok(());
        }
        // Cleared also where this is dropped on the way: a client that went away must not leave what it never began.
        let mut begun = Begun { inner: &self.0, uri: Some(uri) };
        all.add(uri, bounded(uri, *limit, extension.subscribe(uri))).await?;
        begun.uri = None;
        Ok(())
    }

    pub(super) async fn end(&self, uri: &str) -> ToolResult<()> {
        if !self.0.own.lock().remove(uri) {
            return Ok(());
        }
        let Inner { all, extension, limit, .. } = &*self.0;
        leave(all, extension.as_ref(), *limit, uri).await
    }

    pub(super) fn contains(&self, uri: &str) -> bool {
        self.0.own.lock().contains(uri)
    }

    pub(super) fn uris(&self) -> Vec<String> {
        self.0.own.lock().iter().cloned().collect()
    }
}

/// Takes a resource out of a client's own again, unless it was begun.
struct Begun<'a> {
    inner: &'a Inner,
    uri: Option<&'a str>,
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        if let Some(uri) = self.uri {
            self.inner.own.lock().remove(uri);
        }
    }
}

async fn leave(all: &Subscriptions, extension: &dyn Extension, limit: Duration, uri: &str) -> ToolResult<()> {
    all.remove(uri, bounded(uri, limit, extension.unsubscribe(uri))).await
}

async fn bounded(uri: &str, limit: Duration, call: impl Future<Output = ToolResult<()>>) -> ToolResult<()> {
    tokio::time::timeout(limit, call).await.unwrap_or_else(|_| {
        Err(ToolError::Timeout(format!(
            "The subscription to `{uri}` did not change within {limit:?}. Try again later."
        )))
    })
}

impl Drop for Inner {
    fn drop(&mut self) {
        let uris = std::mem::take(&mut *self.own.lock());
        let (all, extension, limit) = (Arc::clone(&self.all), Arc::clone(&self.extension), self.limit);
        if let (false, Ok(runtime)) = (uris.is_empty(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move {
                join_all(uris.iter().map(async |uri| {
                    if let Err(error) = leave(&all, extension.as_ref(), limit, uri).await {
                        tracing::debug!(%error, uri, "a subscription could not be given up");
                    }
                }))
                .await;
            });
        }
    }
}
