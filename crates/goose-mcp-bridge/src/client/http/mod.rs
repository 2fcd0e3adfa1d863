//! Servers by URL.
//!
//! - `client`: sends messages, retries them, and requests logins;
//! - `exchange`: one message and its response or event stream; `retry`: when to send a message again.

mod client;
mod exchange;
mod retry;

use std::{collections::HashMap, time::Duration};

use futures::future::BoxFuture;
use goose_extension::shown_place;
use http::{HeaderName, HeaderValue, header::AUTHORIZATION};
use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{
        StreamableHttpClientTransport, Transport, common::client_side_sse::ExponentialBackoff,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use tokio_util::sync::{CancellationToken, DropGuard};
use url::Url;

use self::client::{AuthAttempts, HttpClient, StreamedCalls};
use super::{
    auth::{self, Credentials},
    http_error::HttpError,
    options::ConnectOptions,
};
use crate::line_io::MAX_LINE_BYTES;

/// Attempts to reopen a broken event stream, and the longest pause between them.
const STREAM_TRIES: usize = 10;
const LONGEST_STREAM_PAUSE: Duration = Duration::from_secs(30);

/// Requests of one connection that may be in flight.
const MAX_OPEN_REQUESTS: usize = 256;

/// Time that an unused connection is kept. Many servers close theirs after five seconds, and a message sent
/// at that moment is lost.
const IDLE_CONNECTION: Duration = Duration::from_secs(4);

/// Configuration of a server by URL; creates a transport for each handshake.
pub(super) struct HttpTarget {
    url: Url,
    headers: HashMap<HeaderName, HeaderValue>,
    client: HttpClient,
    credentials: Option<Credentials>,
    logins: AuthAttempts,
}

impl HttpTarget {
    /// Creates the configuration of a connection.
    ///
    /// # Errors
    ///
    /// Fails for an invalid URL, invalid headers, or missing TLS.
    pub(super) fn new(url: &str, options: &ConnectOptions) -> Result<Self, HttpError> {
        let url = parse(url)?;
        let headers = headers(options)?;
        // A configured header takes precedence over a login, and tokens are not sent unencrypted.
        let oauth = options.oauth.as_ref().filter(|_| !headers.contains_key(&AUTHORIZATION));
        let oauth = oauth.filter(|_| auth::is_confidential(&url));
        let credentials = oauth.map(|oauth| oauth.credentials(&url));
        let client = HttpClient::new(http_client()?, &url, credentials.clone());
        Ok(Self { url, headers, client, credentials, logins: AuthAttempts::default() })
    }

    /// Returns the URL without secrets.
    pub(super) fn shown(&self) -> String {
        shown_place(self.url.as_str())
    }

    pub(super) fn transport(&self) -> HttpTransport {
        let mut config = StreamableHttpClientTransportConfig::with_uri(self.url.as_str());
        config.max_sse_event_size = MAX_LINE_BYTES;
        config.max_concurrent_requests = MAX_OPEN_REQUESTS;
        config.custom_headers = self.headers.clone();
        let mut backoff = ExponentialBackoff::default();
        (backoff.max_times, backoff.max_delay) = (Some(STREAM_TRIES), Some(LONGEST_STREAM_PAUSE));
        config.retry_config = std::sync::Arc::new(backoff);
        let (ends, streamed) = (CancellationToken::new(), StreamedCalls::default());
        let client = self.client.for_transport(&ends, &streamed);
        let inner = StreamableHttpClientTransport::with_client(client, config);
        HttpTransport { inner, streamed, _ends: ends.drop_guard() }
    }

    /// Logs in if the handshake failed for lack of a login. Returns `false` if it failed for another reason.
    ///
    /// # Errors
    ///
    /// Fails if the login fails.
    pub(super) fn log_in(&mut self) -> BoxFuture<'_, Result<bool, HttpError>> {
        Box::pin(async {
            match (&self.credentials, self.client.take_challenge()) {
                (Some(_), Some(challenge)) if !self.logins.allow(&challenge) => {
                    Err(challenge.error_after_login())
                }
                (Some(credentials), Some(challenge)) => credentials.log_in(&challenge).await.map(|()| true),
                _ => Ok(false),
            }
        })
    }

    /// Ends the handshake: from now on, a request that needs a login waits for it.
    pub(super) fn end_handshake(&self) {
        self.client.end_handshake();
    }
}

/// Transport of one handshake and its session. Pending waits of the client end with it.
pub(super) struct HttpTransport {
    inner: StreamableHttpClientTransport<HttpClient>,
    streamed: StreamedCalls,
    _ends: DropGuard,
}

impl Transport<RoleClient> for HttpTransport {
    type Error = <StreamableHttpClientTransport<HttpClient> as Transport<RoleClient>>::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.streamed.note_cancelled(&message);
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.inner.receive().await?;
        Some(self.streamed.note_received(message))
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}

fn parse(url: &str) -> Result<Url, HttpError> {
    let parsed = Url::parse(url).map_err(|error| HttpError::BadUrl(error.to_string()))?;
    match parsed.scheme() {
        "http" | "https" => Ok(parsed),
        scheme => Err(HttpError::BadUrl(format!("`{scheme}` is neither http nor https"))),
    }
}

fn headers(options: &ConnectOptions) -> Result<HashMap<HeaderName, HeaderValue>, HttpError> {
    let parse = |(name, value): &(String, String)| {
        let bad = |reason: &str| HttpError::BadHeader { name: name.clone(), reason: reason.to_owned() };
        let parsed = HeaderName::try_from(name).map_err(|_| bad("its name is not valid"))?;
        let mut value = HeaderValue::try_from(value).map_err(|_| bad("its value is not valid"))?;
        value.set_sensitive(true);
        Ok((parsed, value))
    };
    options.headers.iter().map(parse).collect()
}

/// Creates the HTTP client. Redirects are not followed, because they could carry our headers to another host.
/// TLS is rustls with ring, unless the program has installed a provider.
fn http_client() -> Result<reqwest::Client, HttpError> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .pool_idle_timeout(IDLE_CONNECTION)
        .tcp_nodelay(true);
    builder.build().map_err(HttpError::unreachable)
}
