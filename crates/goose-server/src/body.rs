//! Bodies and queries of requests, and bodies of answers. Everything that is read has a cap.

use std::collections::HashMap;

use axum::{
    body::Body,
    extract::{FromRequest, FromRequestParts, Path, Request},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header, request::Parts};
use serde::{Serialize, de::DeserializeOwned};

use crate::error::ApiError;

/// Maximum size of a body in bytes. An export of a session may be larger; see `api`.
pub(crate) const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// Maximum length of a query.
const MAX_QUERY_BYTES: usize = 8 * 1024;

/// JSON body of a request. The content type is not checked: the Python client of the Agent Communication Protocol
/// sends none. A web page cannot make use of that, because its `Origin` was checked.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let bytes = read(request.into_body(), MAX_BODY_BYTES).await?;
        let mut reader = serde_json::Deserializer::from_slice(&bytes);
        let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let path = error.path().to_string();
            let at = if path == "." { String::new() } else { format!(" at `{path}`") };
            ApiError::bad_request(format!("The body is not as described{at}: {}.", error.into_inner()))
        })?;
        reader.end().map_err(|error| ApiError::bad_request(format!("The body is not JSON: {error}.")))?;
        Ok(Self(value))
    }
}

/// Reads a body up to a limit.
pub(crate) async fn read(body: Body, limit: usize) -> Result<Vec<u8>, ApiError> {
    let bytes = axum::body::to_bytes(body, limit).await;
    bytes.map(Vec::from).map_err(|_| {
        let message = format!("The body is larger than {limit} bytes, or broke off.");
        ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message)
    })
}

/// Query of a request, by name. A name that is given twice has its last value.
pub(crate) struct Query(HashMap<String, String>);

impl Query {
    /// Returns the text of a parameter.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns a number within limits.
    pub(crate) fn number(
        &self,
        name: &str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<Option<u64>, ApiError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let number = text.parse::<u64>().ok().filter(|number| range.contains(number));
        number.map(Some).ok_or_else(|| {
            let (from, to) = (range.start(), range.end());
            ApiError::bad_request(format!("`{name}` is a number from {from} to {to}."))
        })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let query = parts.uri.query().unwrap_or_default();
        if query.len() > MAX_QUERY_BYTES {
            return Err(ApiError::new(StatusCode::URI_TOO_LONG, "query_too_long", "The query is too long."));
        }
        Ok(Self(url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()))
    }
}

/// A part of the path.
pub(crate) struct PathText(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PathText {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Path(text) = Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|error| ApiError::bad_request(format!("The path cannot be read: {error}.")))?;
        Ok(Self(text))
    }
}

/// Two parts of the path.
pub(crate) struct PathTexts(pub(crate) String, pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PathTexts {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Path((one, two)) = Path::<(String, String)>::from_request_parts(parts, state)
            .await
            .map_err(|error| ApiError::bad_request(format!("The path cannot be read: {error}.")))?;
        Ok(Self(one, two))
    }
}

/// Returns a JSON answer. Nothing of it may be cached or taken for anything else.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    let Ok(text) = serde_json::to_string(value) else {
        return (StatusCode::INTERNAL_SERVER_ERROR, "The answer cannot be written as JSON.\n")
            .into_response();
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (status, headers, text).into_response()
}

/// JSON answer with status 200.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        json(StatusCode::OK, &self.0)
    }
}
