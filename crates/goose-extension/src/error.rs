//! Errors of operating an extension, and how each of them travels.
//!
//! Two error types meet here. [`ToolError`] is what tools return and what callers branch on; [`ErrorData`]
//! is the JSON-RPC error of the wire (code, message, data). They convert into each other, so a tool may use
//! either with `?`. Every message is written for a model to read: what was wrong, what was expected, what
//! to do next.
//!
//! # Which failure becomes what
//!
//! The table holds on every path: a direct call, the in-process duplex, stdio and HTTP.
//!
//! | failure | [`ToolError`] | on the wire |
//! | --- | --- | --- |
//! | unknown tool | `NotFound` | error -32601 |
//! | arguments missing, unknown, of the wrong type, too deep, too large | `InvalidParameters` | error -32602 |
//! | arguments that are not an object | `InvalidParameters` | error -32602 |
//! | unknown prompt, bad prompt or completion arguments, bad cursor | `InvalidParameters` | error -32602 |
//! | unknown resource | `ResourceNotFound` | error -32002 (MCP 2026-07-28: -32602) |
//! | the tool ran and failed: a missing file, a refused connection | `ExecutionError` | result with `isError` |
//! | the tool panicked | `ExecutionError` | result with `isError` |
//! | the result is larger than [`MAX_OUTPUT_BYTES`](crate::MAX_OUTPUT_BYTES) | `ExecutionError` | result with `isError` |
//! | the tool ran out of time | `Timeout` | result with `isError` |
//! | not allowed | `Denied` | result with `isError` |
//! | the service behind the tool is gone | `Disconnected` | result with `isError` |
//! | the caller cancelled | `Cancelled` | no answer (asked anyway: error -32800) |
//! | the tool asks something that the client cannot answer | `Protocol` | error -32021 |
//! | a request that is not valid JSON-RPC or MCP, or nests deeper than JSON is read | `Protocol` | error -32600 |
//! | a body that is not JSON | `Protocol` | HTTP: error -32700; stdio: skipped, counted and logged |
//!
//! Over the wire an `isError` result keeps its kind in `_meta` (`goose/error`), so that a goose on the other
//! side gets the same variant back; other clients read the text.

use std::borrow::Cow;

pub use rmcp::model::{ErrorCode, ErrorData};

/// The result of a tool: a value, or an error that the model can act on.
pub type ToolResult<T> = Result<T, ToolError>;

/// The result of anything the agent asks of an extension. The same as [`ToolResult`]: there is one error
/// type for everything that can become a prompt.
pub type AgentResult<T> = ToolResult<T>;

/// The result of general operations, such as `status`, whose errors are for people and logs.
pub type AnyhowResult<T> = anyhow::Result<T>;

/// The JSON-RPC code for a request that its own caller cancelled.
pub const REQUEST_CANCELLED: ErrorCode = ErrorCode(-32800);

/// A failed tool call. See the [module documentation](self) for how each variant travels.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The tool ran and could not do what was asked.
    #[error("{0}")]
    ExecutionError(String),
    /// The arguments do not fit the tool's schema; the tool was not run.
    #[error("{0}")]
    InvalidParameters(String),
    /// There is no tool of that name. (A missing file is an [`ExecutionError`](Self::ExecutionError).)
    #[error("{0}")]
    NotFound(String),
    /// There is no resource of that URI.
    #[error("{0}")]
    ResourceNotFound(String),
    /// The tool did not finish in the time it was given.
    #[error("{0}")]
    Timeout(String),
    /// The caller withdrew the call.
    #[error("{0}")]
    Cancelled(String),
    /// A permission or policy forbids the call.
    #[error("{0}")]
    Denied(String),
    /// The service that provides the tool cannot be reached any more.
    #[error("{0}")]
    Disconnected(String),
    /// The tool needs an answer that has to travel back to the caller first; the call will be entered again
    /// with it. Pass it on with `?`.
    #[error("{0}")]
    InputRequired(String),
    /// Any other JSON-RPC error, passed through as it is.
    #[error(transparent)]
    Protocol(ErrorData),
}

impl ToolError {
    /// Shorthand for [`ToolError::ExecutionError`] with anything printable.
    pub fn execution(message: impl std::fmt::Display) -> Self {
        Self::ExecutionError(message.to_string())
    }

    /// Shorthand for [`ToolError::InvalidParameters`] with anything printable.
    pub fn invalid(message: impl std::fmt::Display) -> Self {
        Self::InvalidParameters(message.to_string())
    }

    /// The name under which an `isError` result remembers which variant it was: the tool ran, and the model reads what
    /// happened. `None` for a protocol error, where the call could not be made.
    pub(crate) fn result_kind(&self) -> Option<&'static str> {
        match self {
            Self::ExecutionError(_) => Some("execution"),
            Self::Timeout(_) => Some("timeout"),
            Self::Denied(_) => Some("denied"),
            Self::Disconnected(_) => Some("disconnected"),
            _ => None,
        }
    }

    /// The inverse of [`result_kind`](Self::result_kind); an unknown kind is an execution error.
    pub(crate) fn from_result_kind(kind: Option<&str>, message: String) -> Self {
        match kind {
            Some("timeout") => Self::Timeout(message),
            Some("denied") => Self::Denied(message),
            Some("disconnected") => Self::Disconnected(message),
            _ => Self::ExecutionError(message),
        }
    }
}

impl From<ErrorData> for ToolError {
    /// The data is kept in the message, because only the model reads it.
    fn from(error: ErrorData) -> Self {
        let about_resource = error.data.as_ref().is_some_and(|data| data.get("uri").is_some());
        let message = match &error.data {
            Some(data) if !about_resource => format!("{} ({data})", error.message),
            _ => error.message.to_string(),
        };
        match error.code {
            ErrorCode::RESOURCE_NOT_FOUND => Self::ResourceNotFound(message),
            // MCP 2026-07-28 has no code of its own for it.
            ErrorCode::INVALID_PARAMS if about_resource => Self::ResourceNotFound(message),
            ErrorCode::INVALID_PARAMS => Self::InvalidParameters(message),
            ErrorCode::INTERNAL_ERROR => Self::ExecutionError(message),
            ErrorCode::METHOD_NOT_FOUND => Self::NotFound(message),
            REQUEST_CANCELLED => Self::Cancelled(message),
            _ => Self::Protocol(error),
        }
    }
}

impl From<ToolError> for ErrorData {
    fn from(error: ToolError) -> Self {
        let code = match &error {
            ToolError::InvalidParameters(_) => ErrorCode::INVALID_PARAMS,
            ToolError::NotFound(_) => ErrorCode::METHOD_NOT_FOUND,
            ToolError::ResourceNotFound(_) => ErrorCode::RESOURCE_NOT_FOUND,
            ToolError::Cancelled(_) => REQUEST_CANCELLED,
            ToolError::InputRequired(_) => ErrorCode::INVALID_REQUEST,
            ToolError::ExecutionError(_)
            | ToolError::Timeout(_)
            | ToolError::Denied(_)
            | ToolError::Disconnected(_) => ErrorCode::INTERNAL_ERROR,
            ToolError::Protocol(data) => return data.clone(),
        };
        ErrorData::new(code, Cow::from(error.to_string()), None)
    }
}

impl From<anyhow::Error> for ToolError {
    /// A `ToolError` or `ErrorData` inside keeps its meaning; anything else is an execution error that shows
    /// the whole chain of causes.
    fn from(error: anyhow::Error) -> Self {
        error
            .downcast::<Self>()
            .or_else(|other| other.downcast::<ErrorData>().map(Self::from))
            .unwrap_or_else(|other| Self::ExecutionError(format!("{other:#}")))
    }
}

impl From<std::io::Error> for ToolError {
    fn from(error: std::io::Error) -> Self {
        Self::ExecutionError(error.to_string())
    }
}

impl From<tokio::time::error::Elapsed> for ToolError {
    fn from(_: tokio::time::error::Elapsed) -> Self {
        Self::Timeout(
            "The operation took too long and was stopped. Ask for less work in one call.".to_owned(),
        )
    }
}

impl From<serde_json::Error> for ToolError {
    fn from(error: serde_json::Error) -> Self {
        Self::ExecutionError(error.to_string())
    }
}

impl From<String> for ToolError {
    fn from(message: String) -> Self {
        Self::ExecutionError(message)
    }
}

impl From<&str> for ToolError {
    fn from(message: &str) -> Self {
        Self::ExecutionError(message.to_owned())
    }
}
