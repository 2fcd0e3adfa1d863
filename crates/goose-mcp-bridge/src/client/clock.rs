//! How long a call may be silent. The clock starts again with each sign of life, and stands still while the server
//! waits for us.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;

use super::auth::{LoginClock, within};

/// The clock of one call.
pub(super) struct Clock {
    limit: Duration,
    alive: Notify,
    /// How many questions of the server we have not answered yet.
    open_questions: AtomicUsize,
}

impl Clock {
    pub(super) fn new(limit: Duration) -> Arc<Self> {
        Arc::new(Self { limit, alive: Notify::new(), open_questions: AtomicUsize::new(0) })
    }

    /// There was a sign of life.
    pub(super) fn restart(&self) {
        self.alive.notify_one();
    }

    /// Stops the clock for as long as the result lives; it starts from the beginning then.
    pub(super) fn hold(self: &Arc<Self>) -> Held {
        self.open_questions.fetch_add(1, Ordering::SeqCst);
        Held(Arc::clone(self))
    }

    /// Ends when the call was silent for too long; says how long that was. Logins stop this clock too.
    pub(super) async fn run_out(&self, logins: Option<&LoginClock>) -> Duration {
        loop {
            if within(self.limit, logins, self.alive.notified()).await.is_some() {
                continue;
            }
            if self.open_questions.load(Ordering::SeqCst) == 0 {
                return self.limit;
            }
            self.alive.notified().await;
        }
    }
}

/// A clock that stands still.
pub(super) struct Held(Arc<Clock>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.open_questions.fetch_sub(1, Ordering::SeqCst);
        self.0.restart();
    }
}
