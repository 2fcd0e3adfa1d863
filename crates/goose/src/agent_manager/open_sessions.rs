//! [`OpenSessions`]: the sessions that are open in a process, each once, for any number of users.
//!
//! ```text
//! join(id) ──▶ SharedSession, SharedSession, … ──▶ one Exchange, one event log, one writer
//!                  │ the last one is dropped
//!                  └──▶ closed after the idle time, unless a reply or a background task still runs
//! ```

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::{exchange::Exchange, session::SessionId};

/// Time that a session stays open without users.
const IDLE_TIME: Duration = Duration::from_secs(5 * 60);

/// Sessions that are open in a process. Clones share them.
#[derive(Clone)]
pub struct OpenSessions {
    slots: Arc<Mutex<HashMap<SessionId, Arc<Slot>>>>,
    idle_time: Duration,
}

/// Place of one session.
#[derive(Default)]
struct Slot {
    /// Locked while the session is opened or closed, so that it never has two writers.
    exchange: tokio::sync::Mutex<Option<Exchange>>,
    users: Mutex<Users>,
}

#[derive(Default)]
struct Users {
    count: usize,
    /// Number of changes of `count`. A closer gives up if there was one since it began.
    changes: u64,
}

impl Default for OpenSessions {
    fn default() -> Self {
        Self { slots: Arc::default(), idle_time: IDLE_TIME }
    }
}

impl OpenSessions {
    /// Sets the time that a session stays open without users, for handles that are given out from now on.
    #[must_use]
    pub fn with_idle_time(self, idle_time: Duration) -> Self {
        Self { idle_time, ..self }
    }

    /// Returns the session. It is opened by `open`, which does not run if the session is open already. A session that
    /// is being closed is waited for.
    ///
    /// # Errors
    ///
    /// Fails with the errors of `open`.
    pub async fn join<E>(
        &self,
        id: &SessionId,
        open: impl Future<Output = Result<Exchange, E>>,
    ) -> Result<SharedSession, E> {
        let user = self.user(id);
        let mut exchange = user.slot.exchange.lock().await;
        let opened = match &*exchange {
            Some(exchange) => exchange.clone(),
            None => exchange.insert(open.await?).clone(),
        };
        drop(exchange);
        Ok(SharedSession { exchange: opened, user: Arc::new(user) })
    }

    /// Returns the session if it is open.
    pub async fn get(&self, id: &SessionId) -> Option<SharedSession> {
        if !self.slots.lock().contains_key(id) {
            return None;
        }
        self.join(id, std::future::ready(Err(()))).await.ok()
    }

    /// Returns the ids of the open sessions.
    pub fn ids(&self) -> Vec<SessionId> {
        self.slots.lock().keys().cloned().collect()
    }

    /// Closes a session now, also if it has users or a reply runs. Returns once everything is stored.
    pub async fn close(&self, id: &SessionId) {
        let slot = self.slots.lock().get(id).cloned();
        let Some(slot) = slot else { return };
        let mut exchange = slot.exchange.lock().await;
        if let Some(exchange) = exchange.take() {
            exchange.close().await;
        }
        drop(exchange);
        forget(&self.slots, id, &slot);
    }

    /// Closes all sessions at once.
    pub async fn close_all(&self) {
        let ids = self.ids();
        futures::future::join_all(ids.iter().map(|id| self.close(id))).await;
    }

    fn user(&self, id: &SessionId) -> User {
        let mut slots = self.slots.lock();
        let slot = Arc::clone(slots.entry(id.clone()).or_default());
        slot.change(|count| count + 1);
        User { id: id.clone(), slot, slots: Arc::downgrade(&self.slots), idle_time: self.idle_time }
    }
}

impl Slot {
    /// Changes the number of users. Returns it, and the number of changes.
    fn change(&self, change: impl FnOnce(usize) -> usize) -> (usize, u64) {
        let mut users = self.users.lock();
        users.count = change(users.count);
        users.changes += 1;
        (users.count, users.changes)
    }
}

/// Removes a slot that is empty and has no users.
fn forget(slots: &Mutex<HashMap<SessionId, Arc<Slot>>>, id: &SessionId, slot: &Arc<Slot>) {
    let mut slots = slots.lock();
    // Users come only while the map is locked, and a session is opened only by a user.
    let is_unused = slot.users.lock().count == 0 && slot.exchange.try_lock().is_ok_and(|it| it.is_none());
    if is_unused && slots.get(id).is_some_and(|known| Arc::ptr_eq(known, slot)) {
        slots.remove(id);
    }
}

/// An open session, kept open by each of its handles. Clones count as one.
#[derive(Clone)]
pub struct SharedSession {
    exchange: Exchange,
    user: Arc<User>,
}

impl SharedSession {
    /// Returns the conversation.
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// Returns true if no other handle keeps the session open.
    pub fn is_only_user(&self) -> bool {
        self.user.slot.users.lock().count == 1
    }
}

impl std::fmt::Debug for SharedSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedSession").field("session", &self.user.id).finish_non_exhaustive()
    }
}

/// A user of a session, until it is dropped.
struct User {
    id: SessionId,
    slot: Arc<Slot>,
    slots: Weak<Mutex<HashMap<SessionId, Arc<Slot>>>>,
    idle_time: Duration,
}

impl Drop for User {
    fn drop(&mut self) {
        let (count, changes) = self.slot.change(|count| count - 1);
        let idle_time = self.idle_time;
        let (id, slot, slots) = (self.id.clone(), Arc::clone(&self.slot), self.slots.clone());
        // Without a runtime, the session has already ended with it.
        if count == 0
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(async move { close_when_idle(&id, &slot, &slots, idle_time, changes).await });
        }
    }
}

/// Closes a session once it has no users and no work for some time, unless there is a user meanwhile.
async fn close_when_idle(
    id: &SessionId,
    slot: &Arc<Slot>,
    slots: &Weak<Mutex<HashMap<SessionId, Arc<Slot>>>>,
    idle_time: Duration,
    changes: u64,
) {
    loop {
        tokio::time::sleep(idle_time).await;
        let mut exchange = slot.exchange.lock().await;
        if slot.users.lock().changes != changes {
            return;
        }
        if exchange.as_ref().is_some_and(Exchange::is_busy) {
            continue;
        }
        if let Some(exchange) = exchange.take() {
            exchange.close().await;
        }
        drop(exchange);
        if let Some(slots) = slots.upgrade() {
            forget(&slots, id, slot);
        }
        return;
    }
}
