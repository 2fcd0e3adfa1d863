//! Errors of servers by URL.

use goose_extension::ToolError;
use http::StatusCode;
use rmcp::{
    ServiceError,
    service::ClientInitializeError,
    transport::{DynamicTransportError, streamable_http_client::StreamableHttpError},
};

use crate::{line_io::MAX_LINE_BYTES, transport::TransportError};

/// Characters of a response body that an error shows.
const SHOWN_TEXT: usize = 500;

/// Reason why a request to a server by URL failed. The texts continue "The server could not be asked: …".
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum HttpError {
    #[error("the URL is not valid: {0}")]
    BadUrl(String),
    #[error("the header `{name}` cannot be sent: {reason}")]
    BadHeader { name: String, reason: String },
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    #[error("it answered {status}{text}")]
    Status { status: StatusCode, text: String },
    #[error("it answered {status} in all of {tries} attempts; try again later")]
    Busy { status: StatusCode, tries: u32 },
    #[error("its answer broke off: {0}")]
    BrokenOff(String),
    #[error(
        "{0}, and the call was not sent again: it may have been carried out already. Check before you \
         repeat it"
    )]
    Unsure(String),
    #[error(
        "it redirects to `{location}`, which is not followed. If you trust that address, use it as the URL"
    )]
    Redirected { location: String },
    #[error("its answer is larger than {} MiB, and was not read", MAX_LINE_BYTES >> 20)]
    TooLarge,
    #[error("its answer cannot be read: {0}")]
    Unreadable(String),
    #[error(
        "it requires a login (HTTP 401). {hint} Log in with OAuth, or set an `Authorization` header for it \
         in the configuration"
    )]
    LoginNeeded { hint: String },
    #[error("it does not allow this (HTTP 403){0}")]
    Forbidden(String),
    #[error(
        "it requires a login (HTTP 401), but its URL is not https, and a token would be sent unencrypted. \
         Use its https URL, or set an `Authorization` header for it in the configuration"
    )]
    LoginUnsafe,
    #[error("its login could not be renewed: {0}. Try again later")]
    LoginUnrenewed(String),
    #[error("the login failed: {0}")]
    LoginFailed(String),
    #[error("it was cancelled")]
    Cancelled,
}

impl HttpError {
    /// Describes a network error with its causes, without the URL, which may contain secrets.
    pub(super) fn unreachable(error: reqwest::Error) -> Self {
        Self::Unreachable(chain(error))
    }

    pub(super) fn broken_off(error: reqwest::Error) -> Self {
        Self::BrokenOff(chain(error))
    }

    pub(super) fn status(status: StatusCode, text: &str) -> Self {
        Self::Status { status, text: said(text) }
    }

    pub(super) fn forbidden(text: &str) -> Self {
        Self::Forbidden(said(text))
    }

    pub(super) fn login_failed(error: impl std::fmt::Display) -> Self {
        Self::LoginFailed(error.to_string().trim_end_matches('.').to_owned())
    }

    pub(super) fn unreadable(reason: &dyn std::fmt::Display, body: &[u8]) -> Self {
        Self::Unreadable(format!("{reason} in `{}`", clip(&String::from_utf8_lossy(body))))
    }

    /// Returns the HTTP error inside a failed request.
    pub(super) fn inside(error: &ServiceError) -> Option<Self> {
        let ServiceError::TransportSend(error) = error else { return None };
        Self::from_transport(error)
    }

    /// Returns the HTTP error inside a failed handshake.
    pub(super) fn inside_handshake(error: &ClientInitializeError) -> Option<Self> {
        match error {
            ClientInitializeError::TransportError { error, .. } => Self::from_transport(error),
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => Self::inside_handshake(fallback),
            _ => None,
        }
    }

    fn from_transport(error: &DynamicTransportError) -> Option<Self> {
        let TransportError(error) = error.error.downcast_ref()?;
        match error.downcast_ref::<StreamableHttpError<Self>>()? {
            StreamableHttpError::Client(error) => Some(error.clone()),
            StreamableHttpError::SessionRecoveryTimeout => {
                Some(Self::Unsure("its session ended before it answered".to_owned()))
            }
            _ => None,
        }
    }

    /// Converts the error to a tool error.
    pub(super) fn to_tool_error(&self, server: &str, what: &str) -> ToolError {
        let text = format!("The server `{server}` could not be asked for `{what}`: {self}.");
        match self {
            Self::LoginNeeded { .. } | Self::LoginUnsafe | Self::Forbidden(_) | Self::LoginFailed(_) => {
                ToolError::Denied(text)
            }
            Self::Unreachable(_) | Self::BrokenOff(_) | Self::Busy { .. } | Self::LoginUnrenewed(_) => {
                ToolError::Disconnected(text)
            }
            Self::Cancelled => ToolError::Cancelled(text),
            _ => ToolError::ExecutionError(text),
        }
    }
}

impl From<HttpError> for StreamableHttpError<HttpError> {
    fn from(error: HttpError) -> Self {
        Self::Client(error)
    }
}

/// Joins an error and its causes, without repetitions and without the URL.
fn chain(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// Returns the text of a response as the end of an error.
fn said(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() { String::new() } else { format!(": {}", clip(text)) }
}

fn clip(text: &str) -> String {
    goose_fs::truncate_chars(text, SHOWN_TEXT).into_owned()
}
