//! [`Http`]: requests to the server of an agent, and what comes back, capped. Redirects are not followed: they could
//! carry a header with a key to another host.

use std::{error::Error, time::Duration};

use goose::{
    agent_manager::acp_mcp_adapter::{AgentError, ConnectRequest, SILENCE_LIMIT, START_TIMEOUT},
    config::shown_address,
};
use goose_extension::visible;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde_json::Value;
use tokio::time::timeout;
use url::Url;

/// The time limit for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// The header of a response that names the run, before any event does.
const RUN_ID: &str = "run-id";

/// The largest answer, and the largest event of a stream, in bytes.
const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;

/// The largest text of an error that is read, and the characters of it that are shown.
const MAX_ERROR_BYTES: usize = 64 * 1024;
const SHOWN_CHARS: usize = 500;

/// The server of an agent.
pub(super) struct Http {
    /// The agent's name here, for errors.
    name: String,
    client: reqwest::Client,
    base: Url,
    headers: HeaderMap,
    /// The time that the server may be silent.
    pub(super) silence: Duration,
}

/// An answer: a value, or events that follow.
pub(super) enum Answer {
    Value(Value),
    Events(EventStream),
}

impl Http {
    pub(super) fn new(request: &ConnectRequest) -> Result<Self, AgentError> {
        let name = request.name.clone();
        let unusable = |why: &dyn std::fmt::Display| {
            AgentError::Unusable(format!("The agent `{name}` cannot be reached: {why}."))
        };
        let mut base = Url::parse(request.connection.url.as_deref().unwrap_or_default())
            .map_err(|error| unusable(&error))?;
        // Without the slash, the last part of the path would be replaced.
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        let mut headers = HeaderMap::new();
        headers.insert(
            header::USER_AGENT,
            HeaderValue::from_static(concat!("goose/", env!("CARGO_PKG_VERSION"))),
        );
        for (name, value) in &request.resolved.headers {
            let name = HeaderName::try_from(name.as_str()).map_err(|error| unusable(&error))?;
            let mut value = HeaderValue::try_from(value.expose()).map_err(|error| unusable(&error))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        // TLS is rustls with ring, unless the program has chosen something else already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true);
        if base.scheme() == "http" {
            builder = builder.tls_certs_only([]);
        }
        let client = builder.build().map_err(|error| unusable(&error))?;
        let silence = request.connection.silence_limit().unwrap_or(SILENCE_LIMIT);
        Ok(Self { name, client, base, headers, silence })
    }

    /// Gets a value, within the time that an agent has to start.
    pub(super) async fn get(&self, path: &[&str]) -> Result<Value, AgentError> {
        let limit = START_TIMEOUT.min(self.silence);
        let answer = timeout(limit, async {
            let response = self.send(Method::GET, path, None).await?;
            self.value(response).await
        });
        answer.await.unwrap_or_else(|_| Err(self.silent(limit)))
    }

    /// Posts a value. The server answers with a value or with events.
    pub(super) async fn post(&self, path: &[&str], body: &Value) -> Result<Answer, AgentError> {
        let sent = timeout(self.silence, self.send(Method::POST, path, Some(body))).await;
        let response = sent.unwrap_or_else(|_| Err(self.silent(self.silence)))?;
        let content_type = response.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
        if content_type.is_some_and(|it| it.starts_with("text/event-stream")) {
            let run = response.headers().get(RUN_ID).and_then(|it| it.to_str().ok()).map(str::to_owned);
            return Ok(Answer::Events(EventStream {
                run,
                response,
                buffer: Vec::new(),
                searched: 0,
                is_over: false,
            }));
        }
        let value = timeout(self.silence, self.value(response)).await;
        value.unwrap_or_else(|_| Err(self.silent(self.silence))).map(Answer::Value)
    }

    async fn send(
        &self,
        method: Method,
        path: &[&str],
        body: Option<&Value>,
    ) -> Result<reqwest::Response, AgentError> {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        let mut request = self.client.request(method, url).headers(self.headers.clone());
        if let Some(body) = body {
            request = request
                .header(header::CONTENT_TYPE, "application/json")
                .header(header::ACCEPT, "text/event-stream, application/json")
                .body(body.to_string());
        }
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        match response.status() {
            status if status.is_success() => Ok(response),
            status => Err(self.refused(status, response).await),
        }
    }

    async fn value(&self, response: reqwest::Response) -> Result<Value, AgentError> {
        let body = self.body(response, MAX_BODY_BYTES).await?;
        serde_json::from_slice(&body).map_err(|error| {
            let begin = String::from_utf8_lossy(&body[..body.len().min(MAX_ERROR_BYTES)]).into_owned();
            self.broken(&format!("answered with something that is not JSON ({error}): {}", shown(&begin)))
        })
    }

    async fn body(&self, mut response: reqwest::Response, limit: usize) -> Result<Vec<u8>, AgentError> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unreachable(&error))? {
            if body.len() + chunk.len() > limit {
                return Err(self.broken(&format!("sent an answer of more than {limit} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// The error for an answer that is not a success.
    async fn refused(&self, status: StatusCode, mut response: reqwest::Response) -> AgentError {
        let mut text = Vec::new();
        let reading = async {
            while let Ok(Some(chunk)) = response.chunk().await
                && text.len() < MAX_ERROR_BYTES
            {
                text.extend_from_slice(&chunk);
            }
        };
        // What came until then is shown.
        let _ = timeout(CONNECT_TIMEOUT, reading).await;
        text.truncate(MAX_ERROR_BYTES);
        let said = match serde_json::from_slice::<Value>(&text) {
            Ok(error) => error_text(&error),
            Err(_) => shown(&String::from_utf8_lossy(&text)),
        };
        let (name, at) = (&self.name, shown_address(self.base.as_str()));
        let text = format!("The server of the agent `{name}` at {at} answered {status}: {said}.");
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => AgentError::Unusable(format!(
                "{text} Give it a key with 'headers' and 'env_keys' in the agent's entry."
            )),
            StatusCode::NOT_FOUND => AgentError::Unusable(text),
            status if status.is_redirection() => AgentError::Unusable(format!(
                "{text} Redirects are not followed; write the address that it leads to."
            )),
            status if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS => {
                AgentError::Failed(text)
            }
            _ => AgentError::Broken(text),
        }
    }

    fn unreachable(&self, error: &reqwest::Error) -> AgentError {
        let mut reason = "the connection failed".to_owned();
        let mut source = error.source();
        while let Some(cause) = source {
            reason = cause.to_string();
            source = cause.source();
        }
        let at = shown_address(self.base.as_str());
        AgentError::Broken(format!(
            "The server of the agent `{}` at {at} cannot be reached: {reason}.",
            self.name
        ))
    }

    fn silent(&self, limit: Duration) -> AgentError {
        self.broken(&format!("said nothing for {} s", limit.as_secs()))
    }

    /// The error for a server that does not behave.
    pub(super) fn broken(&self, what: &str) -> AgentError {
        let at = shown_address(self.base.as_str());
        AgentError::Broken(format!("The server of the agent `{}` at {at} {what}.", self.name))
    }
}

/// The text of an error of the protocol.
pub(super) fn error_text(error: &Value) -> String {
    let message = error.get("message").or_else(|| error.get("detail")).unwrap_or(error);
    shown(message.as_str().map_or_else(|| message.to_string(), str::to_owned).as_str())
}

fn shown(text: &str) -> String {
    let text = goose_fs::truncate_chars(text.trim(), SHOWN_CHARS).into_owned();
    visible(&text).trim_end_matches('.').to_owned()
}

/// A stream of server-sent events, each a JSON value.
pub(super) struct EventStream {
    /// The id of the run, if the server has named it.
    pub(super) run: Option<String>,
    response: reqwest::Response,
    buffer: Vec<u8>,
    /// The bytes at the beginning of the buffer in which no event ends.
    searched: usize,
    is_over: bool,
}

impl EventStream {
    /// The next event; `None` at the end. Events that are not JSON are passed over. Anything that comes ends the
    /// silence, also a comment, which servers send to show that they are there.
    pub(super) async fn next(&mut self, http: &Http) -> Result<Option<Value>, AgentError> {
        loop {
            if let Some(event) = self.take_event() {
                return Ok(Some(event));
            }
            if self.is_over {
                return Ok(None);
            }
            let chunk = timeout(http.silence, self.response.chunk()).await;
            let chunk = chunk.map_err(|_| http.silent(http.silence))?;
            match chunk.map_err(|error| http.unreachable(&error))? {
                Some(chunk) if self.buffer.len() + chunk.len() > MAX_BODY_BYTES => {
                    return Err(http.broken(&format!("sent an event of more than {MAX_BODY_BYTES} bytes")));
                }
                Some(chunk) => self.buffer.extend_from_slice(&chunk),
                None => {
                    self.is_over = true;
                    self.buffer.extend_from_slice(b"\n\n");
                }
            }
        }
    }

    /// Takes the first event that is JSON out of the buffer.
    fn take_event(&mut self) -> Option<Value> {
        while let Some((length, end)) = event_end(&self.buffer, self.searched) {
            self.searched = 0;
            let event: Vec<u8> = self.buffer.drain(..length + end).take(length).collect();
            let lines =
                event.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
            let data = lines.filter_map(|line| line.strip_prefix(b"data:"));
            let data: Vec<u8> = data.collect::<Vec<_>>().join(&b'\n');
            if let Ok(value) = serde_json::from_slice(&data) {
                return Some(value);
            }
        }
        // The end may be cut in two.
        self.searched = self.buffer.len().saturating_sub(BLANK_LINES[1].len());
        None
    }
}

/// The ends of events.
const BLANK_LINES: [&[u8]; 2] = [b"\n\n", b"\r\n\r\n"];

/// The length of the first event in a buffer that ends at or after a place, and of the blank line after it.
fn event_end(buffer: &[u8], from: usize) -> Option<(usize, usize)> {
    let found = BLANK_LINES.iter().filter_map(|end| {
        let at = buffer.get(from..)?.windows(end.len()).position(|window| window == *end)?;
        Some((from + at, end.len()))
    });
    found.min()
}
