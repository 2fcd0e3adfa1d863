//! [`Subscriptions`]: counts who is subscribed to which resource.

use std::{collections::HashMap, sync::Arc};

use parking_lot::{Mutex, MutexGuard};

use crate::error::ToolResult;

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
        let slots = self.lock();
        let has_subscribers = |slot: &Slot<T>| slot.try_lock().map_or(true, |slot| slot.is_some());
        slots.iter().filter(|(_, slot)| has_subscribers(slot)).map(|(uri, _)| uri.clone()).collect()
    }

    /// The slot of a resource. Slots that are empty and unused are removed on the way.
    fn slot(&self, uri: &str) -> Slot<T> {
        let mut slots = self.lock();
        slots.retain(|_, slot| {
            Arc::strong_count(slot) > 1 || slot.try_lock().map_or(true, |slot| slot.is_some())
        });
        Arc::clone(slots.entry(uri.to_owned()).or_default())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Slot<T>>> {
        self.0.lock()
    }
}
