//! Time limits of a connection: waiting for a person does not count.
//!
//! A [`LoginClock`] stops while somebody logs in, a [`Clock`] while the server waits for an answer.

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

/// Tells if a login is going on, and when the last one ended.
#[derive(Default)]
pub(super) struct LoginClock(watch::Sender<Logins>);

#[derive(Default, Clone, Copy)]
struct Logins {
    under_way: u32,
    last_end: Option<Instant>,
}

impl LoginClock {
    /// A login is under way as long as the result lives.
    pub(super) fn begin(self: &Arc<Self>) -> UnderWay {
        self.0.send_modify(|it| it.under_way += 1);
        UnderWay(Arc::clone(self))
    }

    /// The end of a limit that began at `start`; none during a login.
    fn deadline(&self, start: Instant, limit: Duration) -> Option<Instant> {
        let logins = *self.0.borrow();
        (logins.under_way == 0).then(|| logins.last_end.map_or(start, |end| end.max(start)) + limit)
    }

    /// Ends when the limit is over, counted from `start` or the end of the last login.
    async fn over(&self, start: Instant, limit: Duration) {
        let mut changes = self.0.subscribe();
        loop {
            let Some(deadline) = self.deadline(start, limit) else {
                // The sender is here, so this cannot fail.
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

/// A login.
pub(super) struct UnderWay(Arc<LoginClock>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.0.send_modify(|it| {
            it.under_way -= 1;
            it.last_end = Some(Instant::now());
        });
    }
}

/// Waits for the work's result, or for the end of its time (`None`). Logins stop the clock.
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
        () = clock.over(Instant::now(), limit) => None,
    }
}

/// The clock of one call.
pub(super) struct Clock {
    limit: Duration,
    alive: Notify,
    /// Questions of the server that are not answered yet.
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
    pub(super) fn pause(self: &Arc<Self>) -> Paused {
        self.open_questions.fetch_add(1, Ordering::SeqCst);
        Paused(Arc::clone(self))
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
pub(super) struct Paused(Arc<Clock>);

impl Drop for Paused {
    fn drop(&mut self) {
        self.0.open_questions.fetch_sub(1, Ordering::SeqCst);
        self.0.restart();
    }
}

/// Ends when there was no sign of progress for as long as a call may be silent.
pub(super) async fn silence(clock: Option<&Clock>, logins: Option<&LoginClock>) -> Duration {
    match clock {
        Some(clock) => clock.run_out(logins).await,
        None => std::future::pending().await,
    }
}
