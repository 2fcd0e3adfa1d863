//! [`ProviderError`]: why a model did not answer, by what can be done about it; [`RetryPolicy`]: whether to ask again.

use std::time::Duration;

use thiserror::Error;

/// The result of asking a model.
pub type ProviderResult<T> = Result<T, ProviderError>;

/// Why a model did not answer. The texts say what happened and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProviderError {
    /// The key is missing, wrong or not allowed to do this (401, 403).
    #[error("{provider} rejected the API key: {message}")]
    Auth {
        /// The service.
        provider: String,
        /// The service's words.
        message: String,
        /// The variable that holds the key, where there is one.
        key: Option<String>,
    },
    /// Too many requests (429).
    #[error("too many requests: {message}")]
    RateLimited {
        /// The service's words.
        message: String,
        /// The pause that the service asks for.
        retry_after: Option<Duration>,
    },
    /// The conversation is too long for the model.
    #[error("the conversation is too long for the model: {message}")]
    ContextLength {
        /// The service's words.
        message: String,
    },
    /// Nothing is left on the account (402, or as the service says it).
    #[error("quota exceeded: {message}")]
    Quota {
        /// The service's words.
        message: String,
    },
    /// The service is in trouble (5xx, overloaded).
    #[error("service error{}: {message}", in_brackets(*status))]
    Server {
        /// The status, unless it failed in mid-stream.
        status: Option<u16>,
        /// The service's words.
        message: String,
        /// The pause that the service asks for.
        retry_after: Option<Duration>,
    },
    /// The service was not reached, or the connection broke, or nothing came for too long.
    #[error("{message}")]
    Network {
        /// The event and the address.
        message: String,
    },
    /// The service will not do this, however often it is asked (400, 404, 413, …).
    #[error("the service refused the request{}: {message}", in_brackets(*status))]
    Refused {
        /// The status, where there is one.
        status: Option<u16>,
        /// The service's words.
        message: String,
    },
    /// An answer that violates the protocol or a limit.
    #[error("the answer cannot be read: {message}")]
    Protocol {
        /// The problem.
        message: String,
    },
}

impl ProviderError {
    /// Returns whether a retry may help.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Server { .. } | Self::Network { .. })
    }

    /// Returns the pause that the service asks for.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Server { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Returns what the user can do about it, if anything.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Auth { key: Some(key), .. } => {
                format!("Set {key} to a valid key, in the environment or with `goose configure`.")
            }
            Self::Auth { key: None, .. } => "Set a key with `goose configure`.".to_owned(),
            Self::RateLimited { retry_after: Some(wait), .. } if !wait.is_zero() => {
                format!("The service asks to wait {}; try again then.", in_words(*wait))
            }
            Self::RateLimited { .. } => "Wait a little and try again, or use another model.".to_owned(),
            Self::ContextLength { .. } => {
                "Shorten the conversation with `/compact`, or use a model with a larger context.".to_owned()
            }
            Self::Quota { .. } => "Check the account's credit and limits, or use another model.".to_owned(),
            Self::Server { .. } => "The problem is on the service's side. Try again later.".to_owned(),
            Self::Network { .. } => {
                "Check that the service is running, its address, and the network connection.".to_owned()
            }
            Self::Refused { status: Some(404), .. } => {
                "Check the name of the model and the address of the service.".to_owned()
            }
            Self::Refused { .. } => return None,
            Self::Protocol { .. } => {
                "Check the address of the service: something else may be answering there.".to_owned()
            }
        };
        Some(hint)
    }
}

/// Returns ` (529)` for a status.
fn in_brackets(status: Option<u16>) -> String {
    status.map(|status| format!(" ({status})")).unwrap_or_default()
}

/// Returns a pause in words.
fn in_words(wait: Duration) -> String {
    match wait.as_secs() {
        0 => "a moment".to_owned(),
        seconds @ 1..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} minutes", seconds / 60),
        seconds @ 7200..172_800 => format!("{} hours", seconds / 3600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// The retries of a request that was not answered. It only decides; the loop waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Most retries.
    pub retries: u32,
    /// The first pause at most; each further one may be twice as long.
    pub base: Duration,
    /// The longest pause of our own choosing.
    pub longest_pause: Duration,
    /// The longest pause that a service may ask for. Where it wants more, it is not asked again.
    pub longest_wait: Duration,
}

/// Factor for pauses after a rate limit without a time to wait.
const RATE_LIMIT_FACTOR: u32 = 2;

/// Random part that is added to a requested pause, so that clients do not all return at once.
const SPREAD: f64 = 0.1;

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            retries: 5,
            base: Duration::from_secs(1),
            longest_pause: Duration::from_secs(30),
            longest_wait: Duration::from_secs(60),
        }
    }
}

impl RetryPolicy {
    /// Never asks again.
    pub fn never() -> Self {
        Self { retries: 0, ..Self::default() }
    }

    /// Returns the pause after the `attempt`th failure (the first is 1), or `None` to give up.
    pub fn delay(&self, attempt: u32, error: &ProviderError) -> Option<Duration> {
        self.delay_at(attempt, error, random_fraction())
    }

    /// [`delay`](Self::delay) with its chance given: `chance` is from 0 to 1.
    fn delay_at(&self, attempt: u32, error: &ProviderError, chance: f64) -> Option<Duration> {
        if attempt == 0 || attempt > self.retries || !error.is_transient() {
            return None;
        }
        let chance = chance.clamp(0.0, 1.0);
        // Who says "at once" again and again is not asked five times within a second.
        let own = self.ceiling(attempt, error).mul_f64(chance);
        match error.retry_after() {
            Some(wait) if wait > self.longest_wait => None,
            Some(wait) => Some(wait.mul_f64(1.0 + SPREAD * chance).max(own)),
            None => Some(own),
        }
    }

    fn ceiling(&self, attempt: u32, error: &ProviderError) -> Duration {
        let factor = if matches!(error, ProviderError::RateLimited { .. }) { RATE_LIMIT_FACTOR } else { 1 };
        let doubled = 2_u32.saturating_pow(attempt.saturating_sub(1)).saturating_mul(factor);
        self.base.saturating_mul(doubled).min(self.longest_pause)
    }
}

/// From 0 to 1. Without a source of chance the pauses are long rather than none.
fn random_fraction() -> f64 {
    getrandom::u32().map_or(1.0, |number| f64::from(number) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(retry_after: Option<Duration>) -> ProviderError {
        ProviderError::RateLimited { message: "slow down".to_owned(), retry_after }
    }

    fn network() -> ProviderError {
        ProviderError::Network { message: "connection refused".to_owned() }
    }

    /// Pauses grow, and chance may make them anything below that.
    #[test]
    fn pauses_double_up_to_a_cap() {
        let policy = RetryPolicy { retries: 8, ..RetryPolicy::default() };
        let longest: Vec<u64> =
            (1..=8).map(|n| policy.delay_at(n, &network(), 1.0).unwrap().as_secs()).collect();
        assert_eq!(longest, [1, 2, 4, 8, 16, 30, 30, 30]);
        assert_eq!(policy.delay_at(9, &network(), 1.0), None);
        assert_eq!(policy.delay_at(3, &network(), 0.5), Some(Duration::from_secs(2)));
        assert_eq!(policy.delay_at(3, &network(), 0.0), Some(Duration::ZERO));
        assert!(policy.delay(u32::MAX, &network()).is_none());
    }

    /// What the service asks for is honoured, never undercut, and capped; and it does not undo our own pauses.
    #[test]
    fn retry_after_is_honoured_and_capped() {
        let policy = RetryPolicy::default();
        let ten = Duration::from_secs(10);
        assert_eq!(policy.delay_at(1, &limited(Some(ten)), 0.0), Some(ten));
        assert_eq!(policy.delay_at(1, &limited(Some(ten)), 1.0), Some(Duration::from_secs(11)));
        let at_once = limited(Some(Duration::ZERO));
        let pauses: Vec<u64> =
            (1..=3).map(|n| policy.delay_at(n, &at_once, 1.0).unwrap().as_secs()).collect();
        assert_eq!(pauses, [2, 4, 8]);
        assert_eq!(policy.delay_at(1, &limited(Some(Duration::from_secs(61))), 0.0), None);
        assert_eq!(policy.delay_at(1, &limited(None), 1.0), Some(Duration::from_secs(2)));
    }

    /// Errors that waiting cannot fix are not retried.
    #[test]
    fn hopeless_errors_are_not_retried() {
        let message = String::new;
        let hopeless = [
            ProviderError::Auth { provider: "openai".into(), message: message(), key: None },
            ProviderError::Quota { message: message() },
            ProviderError::Refused { status: Some(400), message: message() },
            ProviderError::ContextLength { message: message() },
            ProviderError::Protocol { message: message() },
        ];
        for error in hopeless {
            assert_eq!(RetryPolicy::default().delay(1, &error), None, "{error}");
        }
        assert_eq!(RetryPolicy::never().delay(1, &network()), None);
    }
}
