//! [`CircuitBreaker`]: stops retrying an agent that failed several times in a row.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Number of failures in a row after which an agent is not tried any more.
pub const MAX_FAILURES: u32 = 3;

/// Time after which such an agent is tried again.
pub const COOL_DOWN: Duration = Duration::from_secs(60);

/// Health of one agent. The breaker is *closed* while the agent works, *open* for [`COOL_DOWN`] after
/// [`MAX_FAILURES`] failures in a row, and *half open* after that: one task tries the agent, and its result
/// decides.
#[derive(Debug, Default)]
pub(crate) struct CircuitBreaker(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    failures: u32,
    last_error: String,
    /// End of the time in which the agent is not tried.
    open_until: Option<Instant>,
    /// True while one task tries an agent that failed too often.
    is_trying: bool,
}

/// The reason for not trying an agent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Open {
    pub(crate) failures: u32,
    pub(crate) last_error: String,
    /// Time until the agent is tried again. `None` while another task tries it.
    pub(crate) wait: Option<Duration>,
}

impl CircuitBreaker {
    /// Admits a task to the agent.
    ///
    /// # Errors
    ///
    /// Returns the reason if the breaker is open.
    pub(crate) fn admit(&self) -> Result<(), Open> {
        let mut state = self.0.lock();
        let Some(until) = state.open_until else { return Ok(()) };
        let wait = until.saturating_duration_since(Instant::now());
        let wait = match (wait.is_zero(), state.is_trying) {
            (true, false) => {
                state.is_trying = true;
                return Ok(());
            }
            (true, true) => None,
            (false, _) => Some(wait),
        };
        Err(Open { failures: state.failures, last_error: state.last_error.clone(), wait })
    }

    /// Records a success.
    pub(crate) fn succeeded(&self) {
        *self.0.lock() = State::default();
    }

    /// Records a failure.
    pub(crate) fn failed(&self, error: &str) {
        let mut state = self.0.lock();
        state.failures = state.failures.saturating_add(1);
        error.clone_into(&mut state.last_error);
        state.is_trying = false;
        if state.failures >= MAX_FAILURES {
            state.open_until = Some(Instant::now() + COOL_DOWN);
        }
    }

    /// Records a task that was cancelled, which says nothing about the agent's health.
    pub(crate) fn undecided(&self) {
        self.0.lock().is_trying = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_fails_again_and_again_is_left_alone_for_a_while() {
        let breaker = CircuitBreaker::default();
        for attempt in 0..MAX_FAILURES {
            assert_eq!(breaker.admit(), Ok(()), "attempt {attempt}");
            breaker.failed("it ended with exit code 3");
        }
        let open = breaker.admit().unwrap_err();
        let last_error = "it ended with exit code 3".to_owned();
        assert_eq!(open, Open { failures: MAX_FAILURES, last_error, wait: Some(COOL_DOWN) });

        tokio::time::advance(COOL_DOWN).await;
        assert_eq!(breaker.admit(), Ok(()), "one task may try it");
        assert_eq!(breaker.admit().unwrap_err().wait, None, "only one");
        breaker.failed("again");
        assert_eq!(breaker.admit().unwrap_err().wait, Some(COOL_DOWN));

        tokio::time::advance(COOL_DOWN).await;
        assert_eq!(breaker.admit(), Ok(()));
        breaker.undecided();
        assert_eq!(breaker.admit(), Ok(()), "a cancelled try decides nothing");
        breaker.succeeded();
        breaker.failed("once");
        assert_eq!(breaker.admit(), Ok(()), "it is closed again");
    }
}
