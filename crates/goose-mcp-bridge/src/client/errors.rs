//! Failed connections and requests as tool errors.

use std::time::Duration;

use goose_extension::{ToolError, adapter::cancelled};
use rmcp::{ServiceError, model::ErrorCode, service::ClientInitializeError};

use super::{http_error::HttpError, options::Lifecycle};

/// Converts a failed request to a tool error.
pub(super) fn failure(server: &str, what: &str, error: ServiceError) -> ToolError {
    if let Some(error) = HttpError::inside(&error) {
        return error.to_tool_error(server, what);
    }
    match error {
        ServiceError::McpError(error) => ToolError::from(error),
        ServiceError::Timeout { timeout } => ToolError::Timeout(format!(
            "`{what}` did not answer within {timeout:?} and was cancelled. Ask for less work in one call."
        )),
        ServiceError::Cancelled { .. } => cancelled(what),
        ServiceError::TransportClosed => disconnected(server, &"the connection is closed"),
        // rmcp's message would name Rust types.
        ServiceError::TransportSend(error) => disconnected(server, &error.error),
        other => {
            ToolError::ExecutionError(format!("The server `{server}` answered `{what}` badly: {other}."))
        }
    }
}

fn disconnected(server: &str, reason: &dyn std::fmt::Display) -> ToolError {
    ToolError::Disconnected(format!(
        "The server `{server}` is gone ({reason}). Try again later, or do without it."
    ))
}

pub(super) fn unreachable_server(name: &str, reason: &dyn std::fmt::Display) -> ToolError {
    ToolError::Disconnected(format!(
        "Could not connect to `{name}`: {reason}. Check that the server runs and speaks MCP."
    ))
}

/// Returns the error for a server that answers, but denies access.
pub(super) fn refused(name: &str, reason: &HttpError) -> ToolError {
    ToolError::Denied(format!("Could not connect to `{name}`: {reason}."))
}

/// A failed handshake.
pub(super) struct HandshakeError {
    name: String,
    pub(super) reason: String,
    /// Handshake that the server takes according to its answer, if it is another one.
    pub(super) other: Option<Lifecycle>,
    /// True if the server did not answer in time.
    pub(super) is_late: bool,
}

impl HandshakeError {
    pub(super) fn new(name: String, error: &ClientInitializeError) -> Self {
        let (reason, other) = (Reason(error).to_string(), other_lifecycle(error));
        Self { name, reason, other, is_late: false }
    }

    pub(super) fn late(name: String, limit: Duration) -> Self {
        let reason = format!("it did not answer within {limit:?}");
        Self { name, reason, other: None, is_late: true }
    }

    pub(super) fn into_error(self) -> ToolError {
        unreachable_server(&self.name, &self.reason)
    }
}

fn other_lifecycle(error: &ClientInitializeError) -> Option<Lifecycle> {
    match error {
        // The server answered another request than the one sent: the probe was too much for it.
        ClientInitializeError::ConflictInitResponseId(..)
        | ClientInitializeError::UncorrelatedErrorResponse { .. }
        | ClientInitializeError::ExpectedInitResult(_) => Some(Lifecycle::Initialize),
        // The server took the probe, but too slowly, and now refuses `initialize`.
        ClientInitializeError::JsonRpcError(error)
            if error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION =>
        {
            Some(Lifecycle::Discover)
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => other_lifecycle(fallback),
        _ => None,
    }
}

/// Displays a handshake error with its causes.
struct Reason<'a>(&'a ClientInitializeError);

impl std::fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // rmcp's message would name Rust types.
        if let Some(error) = HttpError::inside_handshake(self.0) {
            return write!(f, "{error}");
        }
        let error: &dyn std::error::Error = match self.0 {
            ClientInitializeError::TransportError { error, context } => {
                write!(f, "{context}: ")?;
                &*error.error
            }
            other => other,
        };
        write!(f, "{error}")?;
        let mut source = error.source();
        while let Some(cause) = source {
            write!(f, ": {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}
