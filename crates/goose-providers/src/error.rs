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
    #[error("{provider} does not accept the key: {message}")]
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
    #[error("the account's quota is used up: {message}")]
    Quota {
        /// The service's words.
        message: String,
    },
    /// The service is in trouble (5xx, overloaded).
    #[error("the service has failed ({}): {message}", status.map_or_else(|| "no status".to_owned(), |status| status.to_string()))]
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
        /// What happened, with the address.
        message: String,
    },
    /// The service will not do this, however often it is asked (400, 404, 413, …).
    #[error("the request was refused ({}): {message}", status.map_or_else(|| "no status".to_owned(), |status| status.to_string()))]
    Refused {
        /// The status, where there is one.
        status: Option<u16>,
        /// The service's words.
        message: String,
    },
    /// What came back is not what the protocol says, or more than goose takes.
    #[error("the answer cannot be read: {message}")]
    Protocol {
        /// What is wrong with it.
        message: String,
    },
}
