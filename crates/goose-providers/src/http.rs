//! [`Http`]: posts a request to an [`Endpoint`] and reads the answer as it comes.
//!
//! The client is made when it is first needed. For a plain http endpoint it loads no root certificates, and for an
//! address on this machine nothing is looked up. Redirects are not followed: they could carry the key to another host.
//! Only the proxy that the endpoint names is used. Messages for connections that fail have the address and the cause,
//! and nothing secret.

use std::{
    error::Error,
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::OnceLock,
    time::Duration,
};

use bytes::Bytes;
use goose_extension::shown_place;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use tokio::time::Instant;

use crate::{
    endpoint::{Endpoint, KeyHeader},
    error::{ProviderError, ProviderResult},
    failure,
};

/// Time limit for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// Time for which an unused connection is kept.
const IDLE_CONNECTION: Duration = Duration::from_secs(60);

/// The user agent.
const USER_AGENT: HeaderValue = HeaderValue::from_static(concat!("goose/", env!("CARGO_PKG_VERSION")));

/// Limits for reading the body of a short answer.
const MAX_SHORT_BYTES: usize = 64 * 1024;
const SHORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Time limits for the end of an answer whose last event has come: first in the foreground, then in a task. A
/// connection is only used again where its answer was read to the end.
const DRAIN_AT_ONCE: Duration = Duration::from_millis(1);
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// The wire's own way to carry a key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum UsualKey {
    Bearer,
    /// In a header of its own.
    Header(&'static str),
}

/// The headers of a wire's requests: the one with the key, and others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WireHeaders {
    pub(crate) key: UsualKey,
    pub(crate) others: &'static [(&'static str, &'static str)],
}

impl WireHeaders {
    /// The key as OpenAI takes it, and nothing else.
    pub(crate) const BEARER: Self = Self { key: UsualKey::Bearer, others: &[] };
}

/// A client of one endpoint.
pub(crate) struct Http {
    endpoint: Endpoint,
    client: OnceLock<ProviderResult<reqwest::Client>>,
}

/// An answer that is read as a whole: a refusal, or a small document.
pub(crate) struct ShortAnswer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Http {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, client: OnceLock::new() }
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Makes the client, once, which reads the root certificates where they are needed. Who comes while it is being
    /// made waits for it.
    pub(crate) fn prepare(&self) -> ProviderResult<&reqwest::Client> {
        self.client.get_or_init(|| build_client(&self.endpoint)).as_ref().map_err(Clone::clone)
    }

    /// Posts a JSON body, with the headers of the wire and of the endpoint.
    pub(crate) async fn post(&self, body: Vec<u8>, headers: WireHeaders) -> ProviderResult<Body> {
        let (status, headers, mut body) = self.send(body, headers).await?;
        if status.is_success() {
            return Ok(body);
        }
        let refusal = ShortAnswer { status, headers, body: body.beginning().await };
        Err(failure::from_refusal(&self.endpoint, &refusal))
    }

    /// Posts a JSON document for another one, whatever the status of the answer is.
    pub(crate) async fn exchange(&self, body: Vec<u8>) -> ProviderResult<ShortAnswer> {
        let accept = WireHeaders { others: &[("accept", "application/json")], ..WireHeaders::BEARER };
        let (status, headers, mut body) = self.send(body, accept).await?;
        Ok(ShortAnswer { status, headers, body: body.beginning().await })
    }

    async fn send(
        &self,
        body: Vec<u8>,
        headers: WireHeaders,
    ) -> ProviderResult<(StatusCode, HeaderMap, Body)> {
        let headers = self.headers(headers)?;
        let request = self.prepare()?.post(self.endpoint.url.clone()).headers(headers).body(body);
        let idle = self.endpoint.idle_timeout();
        let response = match tokio::time::timeout(idle, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(unreachable(&self.endpoint, &error)),
            Err(_) => return Err(silent(&self.endpoint, idle)),
        };
        let (status, headers) = (response.status(), response.headers().clone());
        let endpoint = self.endpoint.clone();
        Ok((status, headers, Body { response: Some(response), endpoint, idle, waited: Duration::ZERO }))
    }

    /// Returns a request for a document, with the headers of the wire and of the endpoint.
    pub(crate) fn get(&self, headers: WireHeaders) -> ProviderResult<reqwest::RequestBuilder> {
        let mut headers = self.headers(headers)?;
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        Ok(self.prepare()?.get(self.endpoint.url.clone()).headers(headers))
    }

    fn headers(&self, of_wire: WireHeaders) -> ProviderResult<HeaderMap> {
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert(header::USER_AGENT, USER_AGENT);
        for (name, value) in of_wire.others {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        if let Some((name, value)) = self.key_header(of_wire.key)? {
            headers.insert(name, value);
        }
        // What the user wrote wins.
        for (name, value) in &self.endpoint.headers {
            headers.insert(header_name(name)?, header_value(name, value)?);
        }
        Ok(headers)
    }

    fn key_header(&self, usual_key: UsualKey) -> ProviderResult<Option<(HeaderName, HeaderValue)>> {
        let Some(key) = self.endpoint.key.as_ref().filter(|key| !key.is_empty()) else { return Ok(None) };
        let (name, text) = match (&self.endpoint.key_header, usual_key) {
            (KeyHeader::Named(name), _) => (header_name(name)?, key.expose().to_owned()),
            (KeyHeader::Usual, UsualKey::Header(name)) => {
                (HeaderName::from_static(name), key.expose().to_owned())
            }
            (KeyHeader::Bearer, _) | (KeyHeader::Usual, UsualKey::Bearer) => {
                (header::AUTHORIZATION, format!("Bearer {}", key.expose()))
            }
        };
        let mut value = HeaderValue::try_from(text).map_err(|_| ProviderError::Auth {
            provider: self.endpoint.provider.clone(),
            message: "it holds characters that cannot be sent in a header".to_owned(),
            key: self.endpoint.key_name.clone(),
        })?;
        value.set_sensitive(true);
        Ok(Some((name, value)))
    }
}

/// The body of an answer.
pub(crate) struct Body {
    /// None once it was read to its end.
    response: Option<reqwest::Response>,
    endpoint: Endpoint,
    idle: Duration,
    /// The time that was waited since the last sign of life.
    waited: Duration,
}

impl Body {
    /// The next bytes; `None` at the end. Bytes alone are no sign of life: who sends one each second never completes an
    /// event. [`note_life`](Self::note_life) says when one was completed.
    pub(crate) async fn chunk(&mut self) -> ProviderResult<Option<Bytes>> {
        let Some(response) = &mut self.response else { return Ok(None) };
        let begun = Instant::now();
        let chunk = tokio::time::timeout(self.idle.saturating_sub(self.waited), response.chunk()).await;
        self.waited = self.waited.saturating_add(begun.elapsed());
        match chunk {
            Ok(Ok(chunk)) => Ok(chunk),
            Ok(Err(error)) => Err(broken_off(&self.endpoint, &error)),
            Err(_) => Err(silent(&self.endpoint, self.idle)),
        }
    }

    /// The patience begins anew: an event was complete, or a keep-alive came.
    pub(crate) fn note_life(&mut self) {
        self.waited = Duration::ZERO;
    }

    /// Reads what may follow the last event, so that the connection can be used again. The caller does not wait for a
    /// server that is slow to close.
    pub(crate) async fn drain(&mut self) {
        let Some(mut response) = self.response.take() else { return };
        let mut rest = Box::pin(async move { while let Ok(Some(_)) = response.chunk().await {} });
        if tokio::time::timeout(DRAIN_AT_ONCE, &mut rest).await.is_err() {
            tokio::spawn(tokio::time::timeout(DRAIN_TIMEOUT, rest));
        }
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Returns the error for an answer that ended before it was complete.
    pub(crate) fn cut(&self) -> ProviderError {
        network(format!("{} closed the connection before the answer was complete", self.endpoint.provider))
    }

    /// The beginning of a short answer, as far as it comes.
    async fn beginning(&mut self) -> Vec<u8> {
        let mut text = Vec::new();
        let Some(response) = &mut self.response else { return text };
        let read = async {
            while text.len() < MAX_SHORT_BYTES {
                let Ok(Some(chunk)) = response.chunk().await else { break };
                text.extend_from_slice(&chunk);
            }
        };
        let _ = tokio::time::timeout(SHORT_TIMEOUT, read).await;
        text.truncate(MAX_SHORT_BYTES);
        text
    }
}

/// A client that follows no redirect, asks no proxy, and looks nothing up for this machine.
pub(crate) fn plain_client(connect_timeout: Duration) -> reqwest::ClientBuilder {
    // TLS is rustls with ring, unless the program has chosen something else already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let here = [SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), SocketAddr::from((Ipv6Addr::LOCALHOST, 0))];
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(connect_timeout)
        .no_proxy()
        .resolve_to_addrs("localhost", &here)
}

/// A client for an endpoint, which reads the root certificates where they are needed.
fn build_client(endpoint: &Endpoint) -> ProviderResult<reqwest::Client> {
    let mut builder = plain_client(CONNECT_TIMEOUT).pool_idle_timeout(IDLE_CONNECTION).tcp_nodelay(true);
    if let Some(proxy) = &endpoint.proxy {
        let proxy = reqwest::Proxy::all(proxy.clone()).map_err(|error| no_client(&error))?;
        builder = builder.proxy(proxy);
    }
    if endpoint.url.scheme() == "http" && endpoint.proxy.as_ref().is_none_or(|proxy| proxy.scheme() == "http")
    {
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(|error| no_client(&error))
}

fn header_name(name: &str) -> ProviderResult<HeaderName> {
    HeaderName::try_from(name).map_err(|_| bad_header(name, "its name is not valid"))
}

fn header_value(name: &str, value: &str) -> ProviderResult<HeaderValue> {
    let mut value = HeaderValue::try_from(value).map_err(|_| bad_header(name, "its value is not valid"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn bad_header(name: &str, reason: &str) -> ProviderError {
    ProviderError::Refused {
        status: None,
        message: format!("the header `{}` cannot be sent: {reason}", name.escape_debug()),
    }
}

/// Returns the error for a request that got no answer.
fn unreachable(endpoint: &Endpoint, error: &reqwest::Error) -> ProviderError {
    let proxy =
        endpoint.proxy.as_ref().map(|proxy| format!(" through the proxy {}", shown_place(proxy.as_str())));
    network(format!(
        "cannot reach {} at {}{}: {}",
        endpoint.provider,
        endpoint.shown_url(),
        proxy.unwrap_or_default(),
        cause(endpoint, error)
    ))
}

/// Returns the error for a connection that broke during the answer.
fn broken_off(endpoint: &Endpoint, error: &reqwest::Error) -> ProviderError {
    network(format!(
        "lost the connection to {} during the answer: {}",
        endpoint.provider,
        cause(endpoint, error)
    ))
}

/// Returns the error for a service that sends nothing, or nothing complete.
fn silent(endpoint: &Endpoint, patience: Duration) -> ProviderError {
    network(format!(
        "no data from {} at {} for {} s",
        endpoint.provider,
        endpoint.shown_url(),
        patience.as_secs_f32()
    ))
}

/// Returns the error for a client that cannot be made.
fn no_client(error: &reqwest::Error) -> ProviderError {
    network(format!("cannot create an HTTP client: {}", chain(error)))
}

fn network(message: String) -> ProviderError {
    ProviderError::Network { message }
}

fn cause(endpoint: &Endpoint, error: &reqwest::Error) -> String {
    let host = endpoint.proxy.as_ref().unwrap_or(&endpoint.url).host_str().unwrap_or_default();
    if let Some(reason) = certificate_trouble(error) {
        return format!("TLS failed ({reason})");
    }
    if error.is_dns() {
        return format!("cannot resolve the host name `{host}` ({})", innermost(error));
    }
    match io_kind(error) {
        Some(io::ErrorKind::ConnectionRefused) => "connection refused".to_owned(),
        Some(io::ErrorKind::ConnectionReset) => "connection reset".to_owned(),
        _ if error.is_connect() && error.is_timeout() => "connecting timed out".to_owned(),
        _ => chain(error),
    }
}

fn sources(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |error| inner(*error))
}

/// Returns the next cause. The error inside of an `io::Error` is not its source.
fn inner<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inner) => Some(inner),
        None => error.source(),
    }
}

fn certificate_trouble(error: &reqwest::Error) -> Option<String> {
    sources(error).find_map(|source| source.downcast_ref::<rustls::Error>()).map(ToString::to_string)
}

fn io_kind(error: &reqwest::Error) -> Option<io::ErrorKind> {
    sources(error).filter_map(|source| source.downcast_ref::<io::Error>()).last().map(io::Error::kind)
}

fn innermost(error: &reqwest::Error) -> String {
    sources(error).last().map(ToString::to_string).unwrap_or_default()
}

/// Joins the causes, each once, without reqwest's own first words, which contain the whole URL.
fn chain(error: &reqwest::Error) -> String {
    let mut text = String::new();
    for source in sources(error) {
        let said = source.to_string();
        if text.is_empty() {
            text = said;
        } else if !text.ends_with(&said) {
            text = format!("{text}: {said}");
        }
    }
    if text.is_empty() { "the connection failed".to_owned() } else { text }
}
