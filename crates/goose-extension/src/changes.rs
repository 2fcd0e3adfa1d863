//! [`ChangeFeed`]: how an extension says that what it offers has changed.
//!
//! `Extension::tools` is an immutable snapshot. When the list changes, the extension publishes a *new*
//! `Arc<dyn Extension>` here; holders of the old one swap it in. A reader that falls behind loses events,
//! never the newest snapshot.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use tokio::sync::broadcast;

use crate::{error::ToolResult, extension::Extension};

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
        *self.latest.lock() = Some(Latest { make: Arc::new(make), made: None });
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
            let latest = self.latest.lock();
            let latest = latest.as_ref()?;
            if let Some(made) = latest.made.as_ref().and_then(Weak::upgrade) {
                return Some(made);
            }
            Arc::clone(&latest.make)
        };
        // Outside of the lock: making a snapshot may look at the feed.
        let snapshot = make()?;
        if let Some(latest) = self.latest.lock().as_mut().filter(|latest| Arc::ptr_eq(&latest.make, &make)) {
            latest.made = Some(Arc::downgrade(&snapshot));
        }
        Some(snapshot)
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

/// The subscribers of each resource. The provider hears of the first subscriber and of the last one's leaving.
///
/// Changes of one resource happen one after another, so a subscriber that comes while the first one still waits for the
/// provider waits too, and asks itself if the first one fails. Changes of different resources never wait for each other.
/// A change that is dropped leaves the count as it was.
///
/// `T` is kept for as long as a resource has subscribers.
pub struct Subscriptions<T = ()>(Mutex<HashMap<String, Slot<T>>>);

/// One resource. The lock is held while the provider is told; the map's lock never is.
type Slot<T> = Arc<tokio::sync::Mutex<Option<Subscribed<T>>>>;

struct Subscribed<T> {
    count: usize,
    _kept: T,
}

impl<T> Default for Subscriptions<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Subscriptions<T> {
    /// Adds a subscriber. `subscribe` runs only for the first one.
    ///
    /// # Errors
    ///
    /// Those of `subscribe`; then nothing is added.
    pub async fn add(&self, uri: &str, subscribe: impl Future<Output = ToolResult<T>>) -> ToolResult<()> {
        let slot = self.slot(uri);
        let mut subscribed = slot.lock().await;
        if let Some(subscribed) = subscribed.as_mut() {
            subscribed.count += 1;
            return Ok(());
        }
        *subscribed = Some(Subscribed { count: 1, _kept: subscribe.await? });
        Ok(())
    }

    /// Removes a subscriber. `unsubscribe` runs after the last one, and where there was none: the provider may know more.
    ///
    /// # Errors
    ///
    /// Those of `unsubscribe`; the subscriber is removed in any case.
    pub async fn remove(
        &self,
        uri: &str,
        unsubscribe: impl Future<Output = ToolResult<()>>,
    ) -> ToolResult<()> {
        let slot = self.slot(uri);
        let mut subscribed = slot.lock().await;
        if let Some(subscribed) = subscribed.as_mut().filter(|subscribed| subscribed.count > 1) {
            subscribed.count -= 1;
            return Ok(());
        }
        *subscribed = None;
        unsubscribe.await
    }

    /// The resources with subscribers. One that is being changed at this moment counts as one with.
    pub fn uris(&self) -> Vec<String> {
        let slots = self.0.lock();
        let has_subscribers = |slot: &Slot<T>| slot.try_lock().map_or(true, |slot| slot.is_some());
        slots.iter().filter(|(_, slot)| has_subscribers(slot)).map(|(uri, _)| uri.clone()).collect()
    }

    /// The slot of a resource. Slots that are empty and unused are removed on the way.
    fn slot(&self, uri: &str) -> Slot<T> {
        let mut slots = self.0.lock();
        slots.retain(|_, slot| {
            Arc::strong_count(slot) > 1 || slot.try_lock().map_or(true, |slot| slot.is_some())
        });
        Arc::clone(slots.entry(uri.to_owned()).or_default())
    }
}
