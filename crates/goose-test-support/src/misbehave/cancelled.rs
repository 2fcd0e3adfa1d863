//! Which requests were cancelled, and waiting unless one is.

use std::{
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

use serde_json::Value;

/// The ids of the requests that were cancelled.
#[derive(Default)]
pub(super) struct Cancelled {
    ids: Mutex<Vec<Value>>,
    more: Condvar,
}

impl Cancelled {
    pub(super) fn note(&self, id: Value) {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).push(id);
        self.more.notify_all();
    }

    pub(super) fn ids(&self) -> Vec<Value> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for that long. Says whether the request was cancelled meanwhile.
    pub(super) fn wait(&self, id: &Value, time: Duration) -> bool {
        let ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.more.wait_timeout_while(ids, time, |ids| !ids.contains(id));
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}
