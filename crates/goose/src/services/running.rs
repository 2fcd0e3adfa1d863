//! [`Running`]: a service that answers, and the tasks that look after it.

use std::sync::{Arc, PoisonError, RwLock};

use goose_extension::Extension;
use goose_mcp_bridge::{Lifecycle, RemoteExtension};
use tokio_util::task::AbortOnDropHandle;

use super::listing::Listing;

/// A started service.
pub(super) struct Running {
    /// The newest snapshot.
    extension: RwLock<Arc<dyn Extension>>,
    /// The connection, where the service is not a part of this process.
    pub(super) remote: Option<Arc<RemoteExtension>>,
    /// Follows the service's news and its end, as long as it runs.
    pub(super) followers: RwLock<Vec<AbortOnDropHandle<()>>>,
}

impl Running {
    pub(super) fn local(extension: Arc<dyn Extension>) -> Self {
        Self { extension: RwLock::new(extension), remote: None, followers: RwLock::default() }
    }

    pub(super) fn remote(remote: Arc<RemoteExtension>) -> Self {
        Self { remote: Some(Arc::clone(&remote)), ..Self::local(remote) }
    }

    pub(super) fn extension(&self) -> Arc<dyn Extension> {
        Arc::clone(&self.extension.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes over a new snapshot, where there is one; whether there was.
    pub(super) fn renew(&self) -> bool {
        let extension = self.extension();
        let Some(latest) = extension.changes().and_then(|feed| feed.latest()) else { return false };
        let is_new = !Arc::ptr_eq(&extension, &latest);
        *self.extension.write().unwrap_or_else(PoisonError::into_inner) = latest;
        is_new
    }

    /// What it says about itself now.
    pub(super) fn listing(&self) -> Listing {
        let dropped = self.remote.as_ref().map(|remote| remote.dropped_tools_now()).unwrap_or_default();
        Listing::of(&*self.extension(), dropped)
    }

    pub(super) fn is_connected(&self) -> bool {
        self.remote.as_ref().is_none_or(|remote| remote.is_connected())
    }

    pub(super) fn lifecycle(&self) -> Lifecycle {
        self.remote.as_ref().map_or(Lifecycle::Auto, |remote| remote.lifecycle())
    }

    /// What the server last said on its standard error.
    pub(super) fn last_words(&self) -> String {
        self.remote.as_ref().map(|remote| remote.stderr_tail()).unwrap_or_default()
    }

    /// Ends it; when this returns, nothing of it is left.
    pub(super) async fn stop(&self) {
        self.followers.write().unwrap_or_else(PoisonError::into_inner).clear();
        if let Some(remote) = &self.remote {
            remote.stop().await;
        }
    }
}
