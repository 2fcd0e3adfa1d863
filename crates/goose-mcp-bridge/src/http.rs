//! Serving over streamable HTTP, for both generations of MCP at one address.
//!
//! A web page in the user's browser can reach any port of this machine. So `Host` must name this server,
//! which stops DNS rebinding, and an `Origin` must be on the list. By default, both allow loopback names
//! only.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Weak},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    response::{IntoResponse as _, Response},
    routing::any,
    serve::ListenerExt as _,
};
use goose_extension::AnyhowResult;
use http::{Method, Request, StatusCode, header};
use rmcp::{
    model::{ErrorData, ServerJsonRpcMessage},
    transport::{
        StreamableHttpServerConfig, StreamableHttpService,
        streamable_http_server::session::{SessionId, SessionManager as _, local::LocalSessionManager},
    },
};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{line_io::MAX_LINE_BYTES, malformed::Envelope, server::ExtensionServer};

/// Time limit for open connections when the server is stopped.
const GRACE: Duration = Duration::from_secs(5);

/// Address of an HTTP server, and the clients that may use it.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// Address to listen on; port 0 means any free port.
    pub address: SocketAddr,
    /// Path of the endpoint.
    pub path: String,
    /// Allowed values of `Host`: a name, or `name:port`.
    pub allowed_hosts: Vec<String>,
    /// Allowed origins of web pages: `scheme://host:port`, with `*` for any port. Requests without an origin,
    /// which come from programs, are allowed.
    pub allowed_origins: Vec<String>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        let names = ["localhost", "127.0.0.1", "[::1]"];
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            path: "/mcp".to_owned(),
            allowed_hosts: vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()],
            allowed_origins: names.iter().map(|name| format!("http://{name}:*")).collect(),
        }
    }
}

impl HttpOptions {
    /// Returns options for the loopback interface.
    pub fn local(port: u16) -> Self {
        Self { address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)), ..Self::default() }
    }
}

/// A running HTTP server. It stops when this is dropped.
pub struct HttpServer {
    address: SocketAddr,
    path: String,
    stop: CancellationToken,
    task: JoinHandle<()>,
    _stops_when_dropped: DropGuard,
}

impl HttpServer {
    pub(super) async fn start(
        server: ExtensionServer,
        options: HttpOptions,
        stop: CancellationToken,
    ) -> AnyhowResult<Self> {
        let listener = TcpListener::bind(options.address).await?;
        let address = listener.local_addr()?;
        // Without this, a client that reuses its connection waits 40 ms for small messages (delayed ACK).
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        let stop = stop.child_token();
        let router = http_router(&server, &options, stop.clone());
        let stopped = stop.clone().cancelled_owned();
        let task = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).with_graceful_shutdown(stopped).await {
                tracing::error!(%error, "the HTTP server failed");
            }
        });
        let guard = stop.clone().drop_guard();
        Ok(Self { address, path: options.path, stop, task, _stops_when_dropped: guard })
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL of the endpoint.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.path)
    }

    /// Waits until the server ends by itself or by its token.
    ///
    /// # Errors
    ///
    /// Fails if the server task panicked.
    pub async fn waiting(mut self) -> AnyhowResult<()> {
        Ok((&mut self.task).await?)
    }

    /// Stops the server and its connections.
    ///
    /// # Errors
    ///
    /// Fails if the server task panicked.
    pub async fn stop(mut self) -> AnyhowResult<()> {
        self.stop.cancel();
        match tokio::time::timeout(GRACE, &mut self.task).await {
            Ok(ended) => Ok(ended?),
            Err(_) => {
                self.task.abort();
                Ok(())
            }
        }
    }
}

/// Idle time after which a session of the older wire ends; a tool may run that long without output.
const SESSION_IDLE: Duration = Duration::from_secs(12 * 60 * 60);

type Endpoint = StreamableHttpService<ExtensionServer, LocalSessionManager>;

/// Returns the endpoint as a router, to be merged into a larger server. Must be called within a Tokio
/// runtime. Its clients count as remote, regardless of the server's options.
pub fn http_router(server: &ExtensionServer, options: &HttpOptions, stop: CancellationToken) -> Router {
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(options.allowed_hosts.clone())
        .with_allowed_origins(options.allowed_origins.clone())
        .enforce_origin_validation();
    let endpoint = endpoint(server, config, stop);
    Router::new().route(&options.path, any(move |request| answer(endpoint.clone(), request)))
}

/// MCP endpoint inside a server that checks `Host`, `Origin` and the rights of its clients itself.
#[derive(Clone)]
pub struct HttpEndpoint(Endpoint);

impl HttpEndpoint {
    /// Creates an endpoint. Must be called within a Tokio runtime. Its clients count as remote, regardless of the
    /// server's options.
    pub fn new(server: &ExtensionServer, stop: CancellationToken) -> Self {
        Self(endpoint(server, StreamableHttpServerConfig::default().disable_allowed_hosts(), stop))
    }

    /// Answers one request.
    pub async fn answer(&self, request: Request<Body>) -> Response {
        answer(self.0.clone(), request).await
    }
}

fn endpoint(
    server: &ExtensionServer,
    config: StreamableHttpServerConfig,
    stop: CancellationToken,
) -> Endpoint {
    let config = config.with_max_request_body_bytes(MAX_LINE_BYTES).with_cancellation_token(stop.clone());
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(SESSION_IDLE);
    let (server, sessions) = (server.untrusted(), Arc::new(sessions));
    tokio::spawn(end_sessions(Arc::downgrade(&sessions), stop));
    Endpoint::new(move || Ok(server.new_session()), sessions, config)
}

/// Ends the sessions of the older wire with the server; they outlive their requests.
async fn end_sessions(sessions: Weak<LocalSessionManager>, stop: CancellationToken) {
    stop.cancelled().await;
    let Some(sessions) = sessions.upgrade() else { return };
    let ids: Vec<SessionId> = sessions.sessions.read().await.keys().cloned().collect();
    for id in ids {
        if let Err(error) = sessions.close_session(&id).await {
            tracing::debug!(%error, "a session could not be closed");
        }
    }
}

/// Answers one request. A browser gets a hint in plain text.
async fn answer(endpoint: Endpoint, request: Request<Body>) -> Response {
    if request.method() == Method::GET && header_has(&request, header::ACCEPT, "text/html") {
        let hint = "This is an MCP endpoint. Connect to it with an MCP client.\n";
        return (StatusCode::NOT_ACCEPTABLE, hint).into_response();
    }
    let is_json = header_has(&request, header::CONTENT_TYPE, "application/json");
    let (head, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, MAX_LINE_BYTES).await else {
        return (StatusCode::PAYLOAD_TOO_LARGE, "The body is too large.\n").into_response();
    };
    let response = endpoint.handle(Request::from_parts(head, Body::from(body.clone()))).await.map(Body::new);
    if is_json && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        return unreadable(&body, response).await;
    }
    response
}

fn header_has(request: &Request<Body>, name: header::HeaderName, part: &str) -> bool {
    let value = request.headers().get(name).and_then(|value| value.to_str().ok());
    value.is_some_and(|value| value.contains(part))
}

/// Turns an unsupported-media-type response into the JSON-RPC error that fits: the media type was right, the
/// JSON was not.
async fn unreadable(body: &[u8], response: Response) -> Response {
    const MAX_REASON_BYTES: usize = 4096;
    let reason = axum::body::to_bytes(response.into_body(), MAX_REASON_BYTES).await.unwrap_or_default();
    let reason = String::from_utf8_lossy(&reason);
    let envelope = Envelope::read(body);
    let (error, id) = if envelope.method().is_some() {
        let text = format!("The request could not be read: {reason}. Send a valid MCP request.");
        (ErrorData::invalid_request(text, None), envelope.request_id())
    } else {
        (ErrorData::parse_error(format!("The body is not a JSON-RPC message: {reason}."), None), None)
    };
    let body = serde_json::to_string(&ServerJsonRpcMessage::error(error, id)).unwrap_or_default();
    (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}
