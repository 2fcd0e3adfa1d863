//! [`ProviderError`]: why a model did not answer, by what can be done about it.

use std::time::Duration;

use thiserror::Error;

/// The result of asking a model.
pub type ProviderResult<T> = Result<T, ProviderError>;

/// Why a model did not answer. The texts say what happened and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
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
        /// When to come back, where the service says so.
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
        /// When to come back, where the service says so.
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

    /// When to come back, where the service says so.
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
