//! Reaching a server by URL.
//!
//! - `client`: sends a message as often as it takes, logs in where the server wants that, and remembers lost answers;
//! - `exchange`: one message and its answer or stream of events, read with caps; `retry`: when to send it again.

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

use self::client::{AuthAttempts, HttpClient, LostResponses};
use super::{
    auth::{self, Credentials},
    http_error::HttpError,
    options::ConnectOptions,
};
use crate::line_io::MAX_LINE_BYTES;

/// Attempts to reopen a broken stream of events, and the longest pause between them.
const STREAM_TRIES: usize = 10;
const LONGEST_STREAM_PAUSE: Duration = Duration::from_secs(30);

/// Messages of one connection that may wait for their answers at the same time.
const MAX_OPEN_REQUESTS: usize = 256;

/// Time that an unused connection is kept. Many servers close theirs after five seconds, and a message that crosses with
/// that is lost.
const IDLE_CONNECTION: Duration = Duration::from_secs(4);

/// A server's URL with all that its connection needs; makes a transport for each greeting.
pub(super) struct HttpTarget {
    url: Url,
    headers: HashMap<HeaderName, HeaderValue>,
    client: HttpClient,
    credentials: Option<Credentials>,
    logins: AuthAttempts,
}

impl HttpTarget {
    /// # Errors
    ///
    /// A URL that is none or not of the web, headers that cannot be sent, no TLS.
    pub(super) fn new(url: &str, options: &ConnectOptions) -> Result<Self, HttpError> {
        let url = parse(url)?;
        let headers = headers(options)?;
        // A header that the user wrote wins over any login, and no token travels unprotected.
        let oauth = options.oauth.as_ref().filter(|_| !headers.contains_key(&AUTHORIZATION));
        let oauth = oauth.filter(|_| auth::is_private_way(&url));
        let credentials = oauth.map(|oauth| oauth.credentials(&url));
        let client = HttpClient::new(http_client()?, &url, credentials.clone());
        Ok(Self { url, headers, client, credentials, logins: AuthAttempts::default() })
    }

    /// The URL as it may be shown.
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
        let (ends, unanswered) = (CancellationToken::new(), LostResponses::default());
        let client = self.client.for_transport(&ends, &unanswered);
        let inner = StreamableHttpClientTransport::with_client(client, config);
        HttpTransport { inner, unanswered, _ends: ends.drop_guard() }
    }

    /// Logs in where the greeting failed for want of it. `false` if that was not the reason.
    ///
    /// # Errors
    ///
    /// The login failed.
    pub(super) fn log_in(&mut self) -> BoxFuture<'_, Result<bool, HttpError>> {
        Box::pin(async {
            match (&self.credentials, self.client.take_challenge()) {
                (Some(_), Some(challenge)) if !self.logins.allow(&challenge) => Err(challenge.in_vain()),
                (Some(credentials), Some(challenge)) => credentials.log_in(&challenge).await.map(|()| true),
                _ => Ok(false),
            }
        })
    }

    /// From now on a request that needs a login waits for it.
    pub(super) fn greeted(&self) {
        self.client.greeted();
    }
}

/// The transport of one greeting and what follows. What its client waits for ends with it.
pub(super) struct HttpTransport {
    inner: StreamableHttpClientTransport<HttpClient>,
    unanswered: LostResponses,
    _ends: DropGuard,
}

impl Transport<RoleClient> for HttpTransport {
    type Error = <StreamableHttpClientTransport<HttpClient> as Transport<RoleClient>>::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.unanswered.note_cancelled(&message);
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.inner.receive().await?;
        Some(self.unanswered.heard(message))
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

/// Connections are kept between calls, and no redirect is followed: it could carry our headers to another host. TLS is
/// rustls with ring, unless the program has chosen a provider already.
fn http_client() -> Result<reqwest::Client, HttpError> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .pool_idle_timeout(IDLE_CONNECTION)
        .tcp_nodelay(true);
    builder.build().map_err(|error| HttpError::unreachable(&error))
}
