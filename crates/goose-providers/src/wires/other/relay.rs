//! [`Relay`]: what stands between the library and the service.
//!
//! ```text
//! library ── loopback ──► Relay ── Http ──► service
//!         ◄── whole events, within caps ──
//! ```
//!
//! The library reads its connection itself and knows no caps: one endless event, or one endless refusal, would fill the
//! memory, and an event in small pieces is joined in quadratic time. So it is given an address on this machine. What it asks
//! there is asked at the service with goose's own client, and with that one's proxy, patience and reading of refusals; what
//! comes back is passed on event by event, each in one piece.
//!
//! A request needs a [`Pass`], which is good for one: nobody else on the machine can ask through the relay. What goes wrong
//! is kept with the pass as it is; the library only sees that the connection broke.

use std::{
    collections::HashMap,
    io,
    net::Ipv4Addr,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use axum::{
    Router,
    body::to_bytes,
    extract::{Request, State},
    response::{IntoResponse, Response},
    serve::ListenerExt,
};
use http::{HeaderMap, HeaderName, StatusCode, header};
use tokio::{net::TcpListener, task::JoinHandle};
use url::Url;

use super::passing::Passing;
use crate::{
    endpoint::Endpoint,
    error::{ProviderError, ProviderResult},
    http::{self as own_http, Body, Http},
};

/// How large a request may be that the library makes of a conversation.
const MAX_REQUEST_BYTES: usize = 256 * 1024 * 1024;

/// The header that carries a pass.
pub(super) const PASS: HeaderName = HeaderName::from_static("x-goose-pass");

/// Headers that belong to the way from the library to here.
const NOT_PASSED_ON: [HeaderName; 6] = [
    header::HOST,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::ACCEPT_ENCODING,
    PASS,
];

/// How a service divides its answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// Into server-sent events.
    Events,
    /// Into frames that say their length, of which the library takes none above 16 MiB.
    Frames,
}

/// A way to one service; it ends with its owner.
pub(super) struct Relay {
    url: Url,
    client: genai::Client,
    desk: Arc<Desk>,
    server: JoinHandle<()>,
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Relay {
    /// Opens a way to the service of `http`.
    pub(super) async fn start(http: Arc<Http>, framing: Framing) -> ProviderResult<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(|error| no_way(&error))?;
        let port = listener.local_addr().map_err(|error| no_way(&error))?.port();
        let mut url = http.endpoint().url.clone();
        // Only URLs without a host refuse these.
        let _ = url.set_scheme("http");
        let _ = url.set_username("");
        let _ = url.set_password(None);
        let _ = url.set_ip_host(Ipv4Addr::LOCALHOST.into());
        let _ = url.set_port(Some(port));
        let client = client(&url)?;
        let desk = Arc::new(Desk { http, framing, passes: Mutex::default() });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&desk));
        // Events are small, and nobody may wait for the next one to fill a packet.
        let listener = listener.tap_io(|connection| {
            let _ = connection.set_nodelay(true);
        });
        let server = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { url, client, desk, server })
    }

    /// Where the library finds the service.
    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    /// The library's client.
    pub(super) fn client(&self) -> &genai::Client {
        &self.client
    }

    /// Whether anybody is there; not so where the runtime that it was started on is gone.
    pub(super) fn is_open(&self) -> bool {
        !self.server.is_finished()
    }

    /// The right to ask once.
    pub(super) fn pass(&self) -> ProviderResult<Pass> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| no_way(&io::Error::other(error)))?;
        let token = format!("{:032x}", u128::from_ne_bytes(random));
        let failure = Failure::default();
        self.desk.passes().insert(token.clone(), failure.clone());
        Ok(Pass { token, failure, desk: Arc::clone(&self.desk) })
    }
}

/// Its environment is never read: address and key come with each request.
fn client(url: &Url) -> ProviderResult<genai::Client> {
    let reqwest = own_http::build_client(&Endpoint::new("relay", url.clone()))?;
    let built = genai::Client::builder().with_reqwest(reqwest).build();
    built.map_err(|error| ProviderError::Network { message: format!("no connection can be made: {error}") })
}

fn no_way(error: &io::Error) -> ProviderError {
    ProviderError::Network { message: format!("no port of this machine can be opened: {error}") }
}

/// Why a request failed, once it has.
pub(super) type Failure = Arc<OnceLock<ProviderError>>;

/// The right to ask once. Without its owner it is worth nothing.
pub(super) struct Pass {
    token: String,
    failure: Failure,
    desk: Arc<Desk>,
}

impl Pass {
    /// What is written in its header.
    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// What went wrong with the request.
    pub(super) fn failure(&self) -> Option<ProviderError> {
        self.failure.get().cloned()
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.desk.passes().remove(&self.token);
    }
}

/// Where requests arrive.
struct Desk {
    http: Arc<Http>,
    framing: Framing,
    /// Passes that were given out and not used yet.
    passes: Mutex<HashMap<String, Failure>>,
}

impl Desk {
    fn passes(&self) -> MutexGuard<'_, HashMap<String, Failure>> {
        self.passes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn admit(&self, headers: &HeaderMap) -> Option<Failure> {
        self.passes().remove(headers.get(PASS)?.to_str().ok()?)
    }

    async fn ask(&self, request: Request) -> ProviderResult<Body> {
        let (asked, body) = request.into_parts();
        let body = to_bytes(body, MAX_REQUEST_BYTES).await.map_err(|error| ProviderError::Refused {
            status: None,
            message: format!("the request cannot be passed on: {error}"),
        })?;
        let mut url = self.http.endpoint().url.clone();
        url.set_path(asked.uri.path());
        url.set_query(asked.uri.query());
        self.http.send(url, self.headers(asked.headers)?, body).await
    }

    fn headers(&self, mut headers: HeaderMap) -> ProviderResult<HeaderMap> {
        for name in NOT_PASSED_ON {
            headers.remove(name);
        }
        headers.insert(header::USER_AGENT, own_http::USER_AGENT);
        self.http.add_own_headers(&mut headers)?;
        Ok(headers)
    }
}

async fn answer(State(desk): State<Arc<Desk>>, request: Request) -> Response {
    let Some(failure) = desk.admit(request.headers()) else {
        return StatusCode::FORBIDDEN.into_response();
    };
    match desk.ask(request).await {
        Ok(body) => Passing::new(body, desk.framing, failure).into_response(),
        Err(error) => {
            let _ = failure.set(error);
            StatusCode::BAD_GATEWAY.into_response()
        }
    }
}

#[cfg(test)]
#[path = "relay_tests.rs"]
mod tests;
