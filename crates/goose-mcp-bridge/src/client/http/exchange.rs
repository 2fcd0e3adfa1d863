//! One message to a server and its response. Everything is read with a cap.

use std::{collections::HashMap, sync::Arc};

use futures::{StreamExt as _, stream};
use goose_extension::shown_place;
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, LOCATION, WWW_AUTHENTICATE},
};
use rmcp::{
    model::{ClientJsonRpcMessage, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage},
    transport::{
        common::{
            client_side_sse::BoxedSseResponse,
            http_header::{EVENT_STREAM_MIME_TYPE, HEADER_SESSION_ID, JSON_MIME_TYPE},
        },
        streamable_http_client::{SseError, StreamableHttpPostResponse},
    },
};
use sse_stream::{Sse, SseStream};
use url::Url;

use super::retry::Busy;
use crate::{client::http_error::HttpError, depth_limit, line_io::MAX_LINE_BYTES};

/// Maximum size of an error body.
const MAX_ERROR_BYTES: usize = 16 << 10;

/// Headers that the protocol sets.
const RESERVED: [&str; 3] = ["accept", "mcp-session-id", "last-event-id"];

/// A message to send.
pub(super) struct Post<'a> {
    pub(super) url: &'a Url,
    pub(super) message: &'a ClientJsonRpcMessage,
    pub(super) session: Option<Arc<str>>,
    pub(super) headers: HashMap<HeaderName, HeaderValue>,
}

/// Outcome of sending a message.
#[expect(clippy::large_enum_variant, reason = "the large one is the usual one, and none is kept")]
pub(super) enum Outcome {
    Answer(StreamableHttpPostResponse),
    /// The session has ended (HTTP 404).
    SessionGone,
    /// The server requires a login, with its challenge.
    Unauthorized(Option<String>),
    /// The server requires more scopes, with its challenge and explanation.
    Forbidden(Option<String>, String),
    Busy(Busy),
    /// Nothing listens at the address.
    Refused(HttpError),
    /// The connection broke; the message may have arrived.
    Broken(HttpError),
}

impl Post<'_> {
    /// Sends the message once.
    ///
    /// # Errors
    ///
    /// Fails if no [`Outcome`] describes the response.
    pub(super) async fn send(
        &self,
        client: &reqwest::Client,
        token: Option<&str>,
    ) -> Result<Outcome, HttpError> {
        let response = match self.request(client, token)?.send().await {
            Ok(response) => response,
            Err(error) if error.is_connect() => return Ok(Outcome::Refused(HttpError::unreachable(error))),
            Err(error) => return Ok(Outcome::Broken(HttpError::unreachable(error))),
        };
        let status = response.status();
        match status {
            StatusCode::UNAUTHORIZED => Ok(Outcome::Unauthorized(challenge(response.headers()))),
            StatusCode::FORBIDDEN => {
                let challenge = challenge(response.headers());
                Ok(Outcome::Forbidden(challenge, error_text(response).await))
            }
            StatusCode::NOT_FOUND if self.session.is_some() => Ok(Outcome::SessionGone),
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => {
                Ok(Outcome::Answer(StreamableHttpPostResponse::Accepted))
            }
            _ if status.is_redirection() => Err(self.redirected(response.headers())),
            _ if status.is_success() => match self.read(response).await {
                Err(error @ HttpError::BrokenOff(_)) => Ok(Outcome::Broken(error)),
                read => read.map(Outcome::Answer),
            },
            _ => match Busy::read(status, response.headers()) {
                Some(busy) => Ok(Outcome::Busy(busy)),
                None => self.read_error(response).await.map(Outcome::Answer),
            },
        }
    }

    fn request(
        &self,
        client: &reqwest::Client,
        token: Option<&str>,
    ) -> Result<reqwest::RequestBuilder, HttpError> {
        let body =
            serde_json::to_vec(self.message).map_err(|error| HttpError::Unreadable(error.to_string()))?;
        let mut request = client.post(self.url.clone()).body(body).header(CONTENT_TYPE, JSON_MIME_TYPE);
        request = request.header(ACCEPT, format!("{EVENT_STREAM_MIME_TYPE}, {JSON_MIME_TYPE}"));
        for (name, value) in &self.headers {
            if RESERVED.contains(&name.as_str()) {
                let reason = "the protocol sets it itself".to_owned();
                return Err(HttpError::BadHeader { name: name.to_string(), reason });
            }
            request = request.header(name, value);
        }
        if let Some(session) = &self.session {
            request = request.header(HEADER_SESSION_ID, session.as_ref());
        }
        Ok(match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        })
    }

    fn request_id(&self) -> Option<&RequestId> {
        match self.message {
            ClientJsonRpcMessage::Request(request) => Some(&request.id),
            _ => None,
        }
    }

    async fn read(&self, response: reqwest::Response) -> Result<StreamableHttpPostResponse, HttpError> {
        let kind = kind(response.headers());
        let header = response.headers().get(HEADER_SESSION_ID);
        let session = header.and_then(|id| id.to_str().ok()).map(str::to_owned);
        if kind == Kind::Events {
            let events = read(response, MAX_LINE_BYTES, self.request_id().cloned());
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        let body = capped(response, MAX_LINE_BYTES).await?;
        let body = depth_limit::trim_tool_list(&body).unwrap_or(body);
        let wants_answer = self.request_id().is_some();
        match serde_json::from_slice(&body) {
            Ok(message) if kind == Kind::Json => Ok(StreamableHttpPostResponse::Json(message, session)),
            // A message that needs no response was accepted, whatever the body contains.
            _ if !wants_answer => Ok(StreamableHttpPostResponse::Accepted),
            Ok::<ServerJsonRpcMessage, _>(_) => Err(HttpError::unreadable(&"its type is not JSON", &body)),
            Err(error) if error.is_eof() && !body.is_empty() => Err(HttpError::BrokenOff(error.to_string())),
            Err(error) => Err(HttpError::unreadable(&error, &body)),
        }
    }

    /// Reads an error response. A JSON-RPC error is a valid response with any status.
    async fn read_error(&self, response: reqwest::Response) -> Result<StreamableHttpPostResponse, HttpError> {
        let (status, kind) = (response.status(), kind(response.headers()));
        let text = error_text(response).await;
        let error = match serde_json::from_str(&text) {
            Ok(ServerJsonRpcMessage::Error(error)) => Some(error),
            _ => None,
        };
        if let Some(id) = self.discovers().filter(|_| status.is_client_error()) {
            // Older servers do not know `server/discover`, and often answer without the id.
            let refused = || ErrorData::invalid_request(format!("HTTP {status}: {text}"), None);
            let error = error.map_or_else(refused, |error| error.error);
            return Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::error(error, Some(id)), None));
        }
        match error {
            Some(error) if kind == Kind::Json => {
                Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), None))
            }
            _ => Err(HttpError::status(status, &text)),
        }
    }

    fn discovers(&self) -> Option<RequestId> {
        match self.message {
            ClientJsonRpcMessage::Request(request) if self.session.is_none() => {
                matches!(request.request, ClientRequest::DiscoverRequest(_)).then(|| request.id.clone())
            }
            _ => None,
        }
    }

    fn redirected(&self, headers: &HeaderMap) -> HttpError {
        let location = headers.get(LOCATION).and_then(|location| location.to_str().ok()).unwrap_or_default();
        let location =
            self.url.join(location).map_or_else(|_| "nowhere".to_owned(), |url| shown_place(url.as_str()));
        HttpError::Redirected { location }
    }
}

#[derive(PartialEq)]
enum Kind {
    Json,
    Events,
    Other,
}

fn kind(headers: &HeaderMap) -> Kind {
    match headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes) {
        Some(kind) if kind.starts_with(EVENT_STREAM_MIME_TYPE.as_bytes()) => Kind::Events,
        Some(kind) if kind.starts_with(JSON_MIME_TYPE.as_bytes()) => Kind::Json,
        _ => Kind::Other,
    }
}

fn challenge(headers: &HeaderMap) -> Option<String> {
    let values = || headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    let bearer = |value: &&str| value.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"));
    values().find(bearer).or_else(|| values().next()).map(str::to_owned)
}

/// Reads a body, unless it is too large.
async fn capped(mut response: reqwest::Response, limit: usize) -> Result<Vec<u8>, HttpError> {
    if response.content_length().is_some_and(|length| length > limit as u64) {
        return Err(HttpError::TooLarge);
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(HttpError::broken_off)? {
        if body.len() + chunk.len() > limit {
            return Err(HttpError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Reads the start of an error body.
async fn error_text(mut response: reqwest::Response) -> String {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend(chunk.iter().take(MAX_ERROR_BYTES - body.len()));
        if body.len() == MAX_ERROR_BYTES {
            break;
        }
    }
    String::from_utf8_lossy(&body).into_owned()
}

/// Reads the events of a response. An oversized event ends the stream with an error for its request.
pub(super) fn read(
    response: reqwest::Response,
    limit: usize,
    request: Option<RequestId>,
) -> BoxedSseResponse {
    let body = Body { response, gauge: Gauge::new(limit) };
    let chunks = stream::unfold(Some(body), |body| async {
        let mut body = body?;
        match body.response.chunk().await {
            Ok(None) => None,
            Ok(Some(chunk)) if body.gauge.fits(&chunk) => Some((Ok(chunk), Some(body))),
            Ok(Some(_)) => Some((Err(HttpError::TooLarge), None)),
            Err(error) => Some((Err(HttpError::broken_off(error)), None)),
        }
    });
    let events = SseStream::from_bytes_stream(chunks.boxed());
    let answered = move |event| match event {
        Err(error) if is_too_large(&error) => too_large(request.as_ref()).ok_or(error),
        other => other.map(readable),
    };
    events.map(answered).boxed()
}

/// Trims a tool list that nests too deep.
fn readable(mut event: Sse) -> Sse {
    let cut = event.data.as_ref().and_then(|data| depth_limit::trim_tool_list(data.as_bytes()));
    if let Some(text) = cut.and_then(|cut| String::from_utf8(cut).ok()) {
        event.data = Some(text);
    }
    event
}

fn is_too_large(error: &SseError) -> bool {
    let SseError::Body(error) = error else { return false };
    matches!(error.downcast_ref(), Some(HttpError::TooLarge))
}

fn too_large(request: Option<&RequestId>) -> Option<Sse> {
    let text = format!("The response was lost: {}.", HttpError::TooLarge);
    let error = ServerJsonRpcMessage::error(ErrorData::internal_error(text, None), Some(request?.clone()));
    Some(Sse::default().data(serde_json::to_string(&error).ok()?))
}

/// A body that is read in chunks, until an event is too large.
struct Body {
    response: reqwest::Response,
    gauge: Gauge,
}

/// Measures events: the lines since the last empty one, without comments.
struct Gauge {
    limit: usize,
    event: usize,
    line: usize,
    is_comment: bool,
    after_return: bool,
}

impl Gauge {
    fn new(limit: usize) -> Self {
        Self { limit, event: 0, line: 0, is_comment: false, after_return: false }
    }

    fn fits(&mut self, chunk: &[u8]) -> bool {
        chunk.iter().all(|byte| {
            self.read(*byte);
            self.event + self.line <= self.limit
        })
    }

    fn read(&mut self, byte: u8) {
        let after_return = std::mem::replace(&mut self.after_return, byte == b'\r');
        match byte {
            b'\n' if after_return => {}
            b'\n' | b'\r' => self.end_line(),
            _ => {
                self.is_comment = if self.line == 0 { byte == b':' } else { self.is_comment };
                self.line += 1;
            }
        }
    }

    fn end_line(&mut self) {
        match self.line {
            0 => self.event = 0,
            _ if self.is_comment => {}
            length => self.event += length + 1,
        }
        self.line = 0;
    }
}
