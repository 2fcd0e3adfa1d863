//! Time limits that do not count the time a person takes.
//!
//! A [`LoginClock`] stops during a login, a [`CallClock`] while the server waits for an answer.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

/// Tracks running logins, and when the last one ended.
#[derive(Default)]
pub(super) struct LoginClock(watch::Sender<Logins>);

#[derive(Default, Clone, Copy)]
struct Logins {
    running: u32,
    last_end: Option<Instant>,
}

impl LoginClock {
    /// Counts a login as running until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> LoginGuard {
        self.0.send_modify(|it| it.running += 1);
        LoginGuard(Arc::clone(self))
    }

    /// Returns when a limit that started at `start` ends, or `None` during a login.
    fn deadline(&self, start: Instant, limit: Duration) -> Option<Instant> {
        let logins = *self.0.borrow();
        (logins.running == 0).then(|| logins.last_end.map_or(start, |end| end.max(start)) + limit)
    }

    /// Waits until the limit has passed, counted from `start` or from the end of the last login.
    async fn elapsed(&self, start: Instant, limit: Duration) {
        let mut changes = self.0.subscribe();
        loop {
            let Some(deadline) = self.deadline(start, limit) else {
                // Cannot fail: this clock holds the sender.
                let _ = changes.changed().await;
                continue;
            };
            tokio::select! {
                () = tokio::time::sleep_until(deadline) => return,
                _ = changes.changed() => {}
            }
        }
    }
}

/// A running login.
pub(super) struct LoginGuard(Arc<LoginClock>);

impl Drop for LoginGuard {
    fn drop(&mut self) {
        self.0.0.send_modify(|it| {
            it.running -= 1;
            it.last_end = Some(Instant::now());
        });
    }
}

/// Runs `work` with a time limit; returns `None` if the limit passes first. Logins stop the clock.
pub(super) async fn within<T>(
    limit: Duration,
    clock: Option<&LoginClock>,
    work: impl Future<Output = T>,
) -> Option<T> {
    let Some(clock) = clock else { return tokio::time::timeout(limit, work).await.ok() };
    let work = pin!(work);
    tokio::select! {
        biased;
        result = work => Some(result),
        () = clock.elapsed(Instant::now(), limit) => None,
    }
}

/// Clock of one call. Progress restarts it, and open questions stop it.
pub(super) struct CallClock {
    limit: Duration,
    alive: Notify,
    /// Number of the server's questions without an answer.
    open_questions: AtomicUsize,
}

impl CallClock {
    pub(super) fn new(limit: Duration) -> Arc<Self> {
        Arc::new(Self { limit, alive: Notify::new(), open_questions: AtomicUsize::new(0) })
    }

    /// Restarts the time limit after a sign of progress.
    pub(super) fn restart(&self) {
        self.alive.notify_one();
    }

    /// Stops the clock until the guard is dropped, which restarts it.
    pub(super) fn pause(self: &Arc<Self>) -> ClockPause {
        self.open_questions.fetch_add(1, Ordering::SeqCst);
        ClockPause(Arc::clone(self))
    }

    /// Waits until the call was silent for too long, and returns the limit. Logins stop this clock too.
    pub(super) async fn silence_limit(&self, logins: Option<&LoginClock>) -> Duration {
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

/// Keeps a clock stopped.
pub(super) struct ClockPause(Arc<CallClock>);

impl Drop for ClockPause {
    fn drop(&mut self) {
        self.0.open_questions.fetch_sub(1, Ordering::SeqCst);
        self.0.restart();
    }
}

/// Waits until the call was silent for too long; forever if it has no time limit.
pub(super) async fn silence_limit(clock: Option<&CallClock>, logins: Option<&LoginClock>) -> Duration {
    match clock {
        Some(clock) => clock.silence_limit(logins).await,
        None => std::future::pending().await,
    }
}
