//! [`ChangeFeed`]: how an extension says that what it offers has changed.
//!
//! `Extension::tools` is an immutable snapshot. When the list changes, the extension publishes a *new*
//! `Arc<dyn Extension>` here; holders of the old one swap it in. A reader that falls behind loses events,
//! never the newest snapshot.

use std::sync::{Arc, Weak};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::broadcast;

use crate::extension::Extension;

/// Events that a slow reader may fall behind.
const FEED_CAPACITY: usize = 256;

/// A change of an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The tool list; [`ChangeFeed::latest`] has the new snapshot.
    Tools,
    /// The list of resources.
    Resources,
    /// The list of prompts.
    Prompts,
    /// The content of one resource.
    ResourceUpdated(String),
}

/// Makes the newest snapshot; `None` if its source is gone.
type Make = Arc<dyn Fn() -> Option<Arc<dyn Extension>> + Send + Sync>;

/// The newest snapshot: how to make it, and the one made last.
struct Latest {
    make: Make,
    made: Option<Weak<dyn Extension>>,
}

/// The publishing end, kept by an extension and shared by its snapshots.
pub struct ChangeFeed {
    latest: Mutex<Option<Latest>>,
    events: broadcast::Sender<Change>,
}

impl ChangeFeed {
    /// A feed with nothing in it.
    pub fn new() -> Self {
        Self { latest: Mutex::new(None), events: broadcast::Sender::new(FEED_CAPACITY) }
    }

    /// Publishes a new snapshot with another tool list. The feed keeps it alive; a snapshot that in turn owns the feed
    /// therefore lives as long as the program. For extensions that come and go there is
    /// [`replace_with`](Self::replace_with).
    pub fn replace(&self, snapshot: Arc<dyn Extension>) {
        self.replace_with(move || Some(Arc::clone(&snapshot)));
    }

    /// Publishes a new snapshot that is made when it is asked for. `make` holds what it needs weakly, so that the feed
    /// keeps nothing alive.
    pub fn replace_with(&self, make: impl Fn() -> Option<Arc<dyn Extension>> + Send + Sync + 'static) {
        *self.lock() = Some(Latest { make: Arc::new(make), made: None });
        self.publish(Change::Tools);
    }

    /// Publishes any other change.
    pub fn publish(&self, change: Change) {
        // An error only means that there are no readers.
        let _ = self.events.send(change);
    }

    /// The newest snapshot, once there was a change. The same one as long as it is held.
    pub fn latest(&self) -> Option<Arc<dyn Extension>> {
        let make = {
            let latest = self.lock();
            let latest = latest.as_ref()?;
            if let Some(made) = latest.made.as_ref().and_then(Weak::upgrade) {
                return Some(made);
            }
            Arc::clone(&latest.make)
        };
        // Outside of the lock: making a snapshot may look at the feed.
        let snapshot = make()?;
        if let Some(latest) = self.lock().as_mut().filter(|latest| Arc::ptr_eq(&latest.make, &make)) {
            latest.made = Some(Arc::downgrade(&snapshot));
        }
        Some(snapshot)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Latest>> {
        self.latest.lock()
    }

    /// Follows the changes from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.events.subscribe()
    }
}

impl Default for ChangeFeed {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for ChangeFeed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangeFeed").field("readers", &self.events.receiver_count()).finish_non_exhaustive()
    }
}
