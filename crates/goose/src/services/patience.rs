//! When a service that failed is tried again, and when it is given up.

use std::time::Duration;

use tokio::time::Instant;

/// How often in a row a service may fail before it is given up.
pub(super) const MAX_FAILURES: u32 = 5;

/// How long to wait after the first failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The failures in a row, with no success between them.
#[derive(Debug, Default)]
pub(super) struct Patience {
    failures: u32,
    restarts: u32,
}

/// What follows from a failure.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Try again, but not before this time.
    RetryAt(Instant),
    /// Enough.
    GiveUp,
}

impl Patience {
    /// One more failure. What is not ours to mend, such as a network that is down, is not given up.
    pub(super) fn failed(&mut self, gives_up: bool, now: Instant) -> Verdict {
        self.failures = self.failures.saturating_add(1);
        if gives_up && self.failures >= MAX_FAILURES {
            return Verdict::GiveUp;
        }
        let doublings = (self.failures - 1).min(16);
        Verdict::RetryAt(now + FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE))
    }

    pub(super) fn worked(&mut self) {
        self.failures = 0;
    }

    /// It is started once more after a failure.
    pub(super) fn restarted(&mut self) {
        self.restarts += 1;
    }

    pub(super) fn failures(&self) -> u32 {
        self.failures
    }

    pub(super) fn restarts(&self) -> u32 {
        self.restarts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_until_it_is_given_up() {
        let (mut patience, now) = (Patience::default(), Instant::now());
        let pauses: Vec<u64> = std::iter::from_fn(|| match patience.failed(true, now) {
            Verdict::RetryAt(then) => Some((then - now).as_millis() as u64),
            Verdict::GiveUp => None,
        })
        .collect();
        assert_eq!(pauses, [100, 200, 400, 800]);
    }

    #[test]
    fn what_is_not_given_up_is_tried_at_longer_and_longer_intervals() {
        let (mut patience, now) = (Patience::default(), Instant::now());
        let last = (0..100).map(|_| patience.failed(false, now)).last();
        assert_eq!(last, Some(Verdict::RetryAt(now + LONGEST_PAUSE)));
    }

    #[test]
    fn a_success_forgives() {
        let (mut patience, now) = (Patience::default(), Instant::now());
        for _ in 0..20 {
            assert_ne!(patience.failed(true, now), Verdict::GiveUp);
            patience.worked();
        }
    }
}
