//! Who watches which resource. The extension hears of the first watcher of a resource and of the last one's leaving,
//! however many clients there are and however they leave.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use goose_extension::{Extension, ToolResult};

/// The watchers of all clients of one server. The lock is held while the extension is told, so that a first watcher and a
/// last one's leaving cannot cross.
#[derive(Default)]
pub(super) struct Subscriptions {
    watchers: tokio::sync::Mutex<HashMap<String, usize>>,
}

/// What one client watches; it leaves everything when it goes.
#[derive(Clone)]
pub(super) struct Watching(Arc<Inner>);

struct Inner {
    all: Arc<Subscriptions>,
    extension: Arc<dyn Extension>,
    own: Mutex<HashSet<String>>,
}

impl Watching {
    pub(super) fn new(all: Arc<Subscriptions>, extension: Arc<dyn Extension>) -> Self {
        Self(Arc::new(Inner { all, extension, own: Mutex::default() }))
    }

    pub(super) async fn begin(&self, uri: &str) -> ToolResult<()> {
        let Inner { all, extension, .. } = &*self.0;
        let mut watchers = all.watchers.lock().await;
        if self.contains(uri) {
            return Ok(());
        }
        if !watchers.contains_key(uri) {
            extension.subscribe(uri).await?;
        }
        *watchers.entry(uri.to_owned()).or_default() += 1;
        self.0.lock().insert(uri.to_owned());
        Ok(())
    }

    pub(super) async fn end(&self, uri: &str) -> ToolResult<()> {
        let Inner { all, extension, .. } = &*self.0;
        let mut watchers = all.watchers.lock().await;
        if !self.0.lock().remove(uri) {
            return Ok(());
        }
        leave(&mut watchers, extension.as_ref(), uri).await
    }

    pub(super) fn contains(&self, uri: &str) -> bool {
        self.0.lock().contains(uri)
    }

    pub(super) fn uris(&self) -> Vec<String> {
        self.0.lock().iter().cloned().collect()
    }
}

async fn leave(
    watchers: &mut HashMap<String, usize>,
    extension: &dyn Extension,
    uri: &str,
) -> ToolResult<()> {
    match watchers.get_mut(uri) {
        Some(count) if *count > 1 => {
            *count -= 1;
            Ok(())
        }
        Some(_) => {
            watchers.remove(uri);
            extension.unsubscribe(uri).await
        }
        None => Ok(()),
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, HashSet<String>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let uris = std::mem::take(&mut *self.lock());
        let (all, extension) = (Arc::clone(&self.all), Arc::clone(&self.extension));
        if let (false, Ok(runtime)) = (uris.is_empty(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move {
                let mut watchers = all.watchers.lock().await;
                for uri in uris {
                    if let Err(error) = leave(&mut watchers, extension.as_ref(), &uri).await {
                        tracing::debug!(%error, uri, "a subscription could not be given up");
                    }
                }
            });
        }
    }
}
