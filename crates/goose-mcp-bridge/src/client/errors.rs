//! Failed connections and requests as errors of a tool.

use std::time::Duration;

use goose_extension::{ToolError, adapter::cancelled};
use rmcp::{ServiceError, service::ClientInitializeError};

use super::http_error::HttpError;

/// A failed request as the error of a tool.
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
        ServiceError::TransportClosed => gone(server, &"the connection is closed"),
        // Its own words name Rust types.
        ServiceError::TransportSend(error) => gone(server, &error.error),
        other => {
            ToolError::ExecutionError(format!("The server `{server}` answered `{what}` badly: {other}."))
        }
    }
}

fn gone(server: &str, reason: &dyn std::fmt::Display) -> ToolError {
    ToolError::Disconnected(format!(
        "The server `{server}` is gone ({reason}). Try again later, or do without it."
    ))
}

pub(super) fn unreachable_server(name: &str, reason: &dyn std::fmt::Display) -> ToolError {
    ToolError::Disconnected(format!(
        "Could not connect to `{name}`: {reason}. Check that the server runs and speaks MCP."
    ))
}

/// The server is there, but does not let us in.
pub(super) fn refused(name: &str, reason: &HttpError) -> ToolError {
    ToolError::Denied(format!("Could not connect to `{name}`: {reason}."))
}

/// A greeting that went wrong.
pub(super) struct GreetingError {
    name: String,
    pub(super) reason: String,
    /// The answer was to the other way of greeting, or to none.
    pub(super) is_confused: bool,
    /// There was no answer in time.
    pub(super) is_late: bool,
}

impl GreetingError {
    pub(super) fn new(name: String, error: &ClientInitializeError) -> Self {
        let (reason, is_confused) = (Reason(error).to_string(), is_confused(error));
        Self { name, reason, is_confused, is_late: false }
    }

    pub(super) fn late(name: String, limit: Duration) -> Self {
        let reason = format!("it did not answer within {limit:?}");
        Self { name, reason, is_confused: false, is_late: true }
    }

    pub(super) fn into_error(self) -> ToolError {
        unreachable_server(&self.name, &self.reason)
    }
}

fn is_confused(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::ConflictInitResponseId(..)
        | ClientInitializeError::UncorrelatedErrorResponse { .. }
        | ClientInitializeError::ExpectedInitResult(_) => true,
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => is_confused(fallback),
        _ => false,
    }
}

/// The greeting's error with its causes.
struct Reason<'a>(&'a ClientInitializeError);

impl std::fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // rmcp's own words name its types.
        if let Some(error) = HttpError::inside_greeting(self.0) {
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
