//! Who watches which resource. The extension hears of the first watcher of a resource and of the last one's leaving,
//! however many clients there are and however they leave.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{error::ToolResult, extension::Extension};

/// The watchers of all clients of one server.
#[derive(Default)]
pub(super) struct Subscriptions {
    watchers: Mutex<HashMap<String, usize>>,
}

impl Subscriptions {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn enter(&self, extension: &dyn Extension, uri: &str) -> ToolResult<()> {
        let is_first = !self.lock().contains_key(uri);
        if is_first {
            extension.subscribe(uri).await?;
        }
        *self.lock().entry(uri.to_owned()).or_default() += 1;
        Ok(())
    }

    async fn leave(&self, extension: &dyn Extension, uri: &str) -> ToolResult<()> {
        let is_last = {
            let mut watchers = self.lock();
            match watchers.get_mut(uri) {
                Some(count) if *count > 1 => {
                    *count -= 1;
                    false
                }
                Some(_) => watchers.remove(uri).is_some(),
                None => false,
            }
        };
        if is_last { extension.unsubscribe(uri).await } else { Ok(()) }
    }
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
        if self.contains(uri) {
            return Ok(());
        }
        self.0.all.enter(self.0.extension.as_ref(), uri).await?;
        self.0.lock().insert(uri.to_owned());
        Ok(())
    }

    pub(super) async fn end(&self, uri: &str) -> ToolResult<()> {
        if !self.0.lock().remove(uri) {
            return Ok(());
        }
        self.0.all.leave(self.0.extension.as_ref(), uri).await
    }

    pub(super) fn contains(&self, uri: &str) -> bool {
        self.0.lock().contains(uri)
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
                for uri in uris {
                    if let Err(error) = all.leave(extension.as_ref(), &uri).await {
                        tracing::debug!(%error, uri, "a subscription could not be given up");
                    }
                }
            });
        }
    }
}
