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
use tokio_util::sync::CancellationToken;

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

/// The subscribers of each resource. The provider hears of the first subscriber and of the last one's leaving.
///
/// No subscriber waits for another one: those that come while the provider has not answered the first one ask it
/// themselves. Only one that comes while the provider hears of the last one's leaving waits for that, so that the
/// provider hears it in this order. A change that is dropped leaves the count as it was.
///
/// `T` is kept for as long as a resource has subscribers.
pub struct Subscriptions<T = ()>(Mutex<HashMap<String, Slot<T>>>);

/// One resource.
struct Slot<T> {
    count: usize,
    /// Those that ask the provider at this moment.
    asking: usize,
    kept: Option<T>,
    /// Cancelled once the provider has heard that the last one left.
    leaving: Option<CancellationToken>,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self { count: 0, asking: 0, kept: None, leaving: None }
    }
}

impl<T> Slot<T> {
    fn is_used(&self) -> bool {
        self.count > 0 || self.asking > 0 || self.leaving.is_some()
    }
}

impl<T> Default for Subscriptions<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Subscriptions<T> {
    /// Adds a subscriber. `subscribe` runs only where the resource has none yet.
    ///
    /// # Errors
    ///
    /// Those of `subscribe`; then nothing is added.
    pub async fn add(&self, uri: &str, subscribe: impl Future<Output = ToolResult<T>>) -> ToolResult<()> {
        let _asking = loop {
            let leaving = {
                let mut slots = self.0.lock();
                let slot = slots.entry(uri.to_owned()).or_default();
                match &slot.leaving {
                    Some(leaving) => leaving.clone(),
                    None if slot.count > 0 => {
                        slot.count += 1;
                        return Ok(());
                    }
                    None => {
                        slot.asking += 1;
                        break Changing { subscriptions: self, uri, end: |slot| slot.asking -= 1 };
                    }
                }
            };
            leaving.cancelled().await;
        };
        let kept = subscribe.await?;
        if let Some(slot) = self.0.lock().get_mut(uri) {
            slot.count += 1;
            slot.kept.get_or_insert(kept);
        }
        Ok(())
    }

    /// Removes a subscriber. `unsubscribe` runs after the last one, and where there was none: the provider may know
    /// more. It does not run while others subscribe.
    ///
    /// # Errors
    ///
    /// Those of `unsubscribe`; the subscriber is removed in any case.
    pub async fn remove(
        &self,
        uri: &str,
        unsubscribe: impl Future<Output = ToolResult<()>>,
    ) -> ToolResult<()> {
        let _leaving = {
            let mut slots = self.0.lock();
            let slot = slots.entry(uri.to_owned()).or_default();
            slot.count = slot.count.saturating_sub(1);
            if slot.count > 0 || slot.asking > 0 {
                return Ok(());
            }
            slot.kept = None;
            let is_first = slot.leaving.is_none();
            slot.leaving.get_or_insert_default();
            let end = |slot: &mut Slot<T>| slot.leaving.take().iter().for_each(CancellationToken::cancel);
            is_first.then_some(Changing { subscriptions: self, uri, end })
        };
        unsubscribe.await
    }

    /// The resources with subscribers. One that is being changed at this moment counts as one with.
    pub fn uris(&self) -> Vec<String> {
        self.0.lock().iter().filter(|(_, slot)| slot.is_used()).map(|(uri, _)| uri.clone()).collect()
    }
}

/// A change of a resource that the provider hears of. It ends when this is dropped.
struct Changing<'a, T> {
    subscriptions: &'a Subscriptions<T>,
    uri: &'a str,
    end: fn(&mut Slot<T>),
}

impl<T> Drop for Changing<'_, T> {
    fn drop(&mut self) {
        let mut slots = self.subscriptions.0.lock();
        let Some(slot) = slots.get_mut(self.uri) else { return };
        (self.end)(slot);
        if !slot.is_used() {
            slots.remove(self.uri);
        }
    }
}

impl std::fmt::Debug for ChangeFeed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangeFeed").field("readers", &self.events.receiver_count()).finish_non_exhaustive()
    }
}
