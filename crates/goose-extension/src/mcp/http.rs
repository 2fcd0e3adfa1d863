//! Serving over streamable HTTP, for both eras of MCP at one address.
//!
//! A web page in the user's own browser can reach any port of this machine. So `Host` must name this server
//! (which stops DNS rebinding) and `Origin`, where a browser sends one, must be on the list: by default both are
//! the loopback names only.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use axum::{Router, response::IntoResponse as _, routing::any};
use http::{Method, Request, StatusCode, header};
use rmcp::transport::{
    StreamableHttpServerConfig, StreamableHttpService,
    streamable_http_server::session::local::LocalSessionManager,
};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{lines::MAX_LINE_BYTES, server::ExtensionServer};
use crate::error::AnyhowResult;

/// Where and for whom to serve.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpOptions {
    /// The address; port 0 takes a free one.
    pub address: SocketAddr,
    /// The path of the endpoint.
    pub path: String,
    /// Names (or `name:port`) that `Host` may have.
    pub allowed_hosts: Vec<String>,
    /// Origins (`scheme://host:port`, `*` for any port) of pages that may call. Requests without an origin, from
    /// programs, pass.
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
    /// The loopback interface, at a port.
    pub fn local(port: u16) -> Self {
        Self { address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)), ..Self::default() }
    }
}

/// A server over HTTP. It ends when this is dropped.
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
        let stop = stop.child_token();
        let service = http_service(server, &options, stop.clone());
        let router = Router::new()
            .route(&options.path, any(move |request| answer(service.clone(), request)));
        let stopped = stop.clone().cancelled_owned();
        let task = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).with_graceful_shutdown(stopped).await {
                tracing::error!(%error, "the HTTP server failed");
            }
        });
        let guard = stop.clone().drop_guard();
        Ok(Self { address, path: options.path, stop, task, _stops_when_dropped: guard })
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The endpoint's URL.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.path)
    }

    /// Waits until the server ends by itself or by its token.
    ///
    /// # Errors
    ///
    /// Where its task panicked.
    pub async fn waiting(mut self) -> AnyhowResult<()> {
        Ok((&mut self.task).await?)
    }

    /// Ends the server and its connections.
    ///
    /// # Errors
    ///
    /// Where its task panicked.
    pub async fn stop(mut self) -> AnyhowResult<()> {
        self.stop.cancel();
        Ok((&mut self.task).await?)
    }
}

/// The endpoint's service.
pub type Endpoint = StreamableHttpService<ExtensionServer, LocalSessionManager>;

/// The endpoint as a service, to be mounted in a larger server.
pub fn http_service(
    server: ExtensionServer,
    options: &HttpOptions,
    stop: CancellationToken,
) -> Endpoint {
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(options.allowed_hosts.clone())
        .with_allowed_origins(options.allowed_origins.clone())
        .enforce_origin_validation()
        .with_max_request_body_bytes(MAX_LINE_BYTES)
        .with_cancellation_token(stop);
    StreamableHttpService::new(
        move || Ok(server.another()),
        Arc::new(LocalSessionManager::default()),
        config,
    )
}

/// Answers one request; what is not for MCP (a browser that looks around) gets a plain hint.
async fn answer(
    service: Endpoint,
    request: Request<axum::body::Body>,
) -> axum::response::Response {
    let accepts_html = request
        .headers()
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"));
    if request.method() == Method::GET && accepts_html {
        let hint = "This is an MCP endpoint. Connect to it with an MCP client.\n";
        return (StatusCode::NOT_ACCEPTABLE, hint).into_response();
    }
    service.handle(request).await.into_response()
}
