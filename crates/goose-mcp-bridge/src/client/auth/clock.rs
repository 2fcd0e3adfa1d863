//! Time that a person takes to log in does not count as a server's.

use std::{pin::pin, sync::Arc, time::Duration};

use tokio::{sync::watch, time::Instant};

/// Whether somebody logs in, and when they last did.
pub(in crate::client) struct LoginClock(watch::Sender<Logins>);

#[derive(Default, Clone, Copy)]
struct Logins {
    under_way: u32,
    last_end: Option<Instant>,
}

impl Default for LoginClock {
    fn default() -> Self {
        Self(watch::Sender::new(Logins::default()))
    }
}

impl LoginClock {
    /// A login is under way as long as the result lives.
    pub(super) fn begin(self: &Arc<Self>) -> UnderWay {
        self.0.send_modify(|it| it.under_way += 1);
        UnderWay(Arc::clone(self))
    }

    /// The end of a limit that began at `start`; none while somebody logs in.
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

/// What comes first: the work's result, or nothing when its time is over. Logins stop the clock.
pub(in crate::client) async fn within<T>(
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
