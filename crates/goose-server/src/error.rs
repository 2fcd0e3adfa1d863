//! [`ApiError`]: an error as clients get it, in the form of the Agent Communication Protocol on all routes.

use axum::response::{IntoResponse, Response};
use goose::{agent_manager::OpenError, session::StoreError};
use http::{HeaderValue, StatusCode, header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::body::json;

/// Error as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Error")]
pub(crate) struct ErrorBody {
    pub(crate) code: ErrorCode,
    /// Description of the problem, and what to do about it.
    pub(crate) message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<ErrorData>,
}

/// Kind of an error, as the protocol has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ErrorCode {
    /// The server has failed.
    ServerError,
    /// The request cannot be done.
    InvalidInput,
    /// Something that the request names does not exist.
    NotFound,
}

/// Details of an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ErrorData {
    /// Reason, for programs.
    pub(crate) reason: String,
}

/// Error of a request.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    /// Seconds after which the request may be repeated.
    pub(crate) retry_after: Option<u64>,
}

pub(crate) type ApiResult<T> = Result<T, ApiError>;

impl ApiError {
    pub(crate) fn new(status: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self { status, reason, message: message.into(), retry_after: None }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    pub(crate) fn forbidden(reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, reason, message)
    }

    pub(crate) fn conflict(reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, reason, message)
    }

    pub(crate) fn too_many(reason: &'static str, message: impl Into<String>) -> Self {
        Self { retry_after: Some(1), ..Self::new(StatusCode::TOO_MANY_REQUESTS, reason, message) }
    }

    pub(crate) fn unavailable(reason: &'static str, message: impl Into<String>) -> Self {
        Self { retry_after: Some(1), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, reason, message) }
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }

    pub(crate) fn body(&self) -> ErrorBody {
        let code = match self.status {
            StatusCode::NOT_FOUND => ErrorCode::NotFound,
            status if status.is_client_error() => ErrorCode::InvalidInput,
            _ => ErrorCode::ServerError,
        };
        ErrorBody {
            code,
            message: self.message.clone(),
            data: Some(ErrorData { reason: self.reason.to_owned() }),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoSuchSession(_) => Self::not_found(error.to_string()),
            StoreError::SessionBusy(_) => Self::conflict("session_busy", error.to_string()),
            StoreError::Ambiguous { .. }
            | StoreError::NotImportable { .. }
            | StoreError::StepTooLarge { .. } => Self::bad_request(error.to_string()),
            StoreError::Locked(_) => Self::unavailable("store_locked", error.to_string()),
            other => {
                tracing::error!(error = %other, "the session store failed");
                Self::unavailable("store_failed", other.to_string())
            }
        }
    }
}

impl From<OpenError> for ApiError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Store(error) => error.into(),
            other => {
                let hint = other.hint().map(|hint| format!(" {hint}")).unwrap_or_default();
                // What is missing is in the server's configuration: the client can only try again later.
                Self::unavailable(
                    "cannot_open_session",
                    format!("The session cannot be opened: {other}.{hint}"),
                )
            }
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = json(self.status, &self.body());
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer realm=\"goose\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}
