//! [`Server`]: starts, and ends in good order.
//!
//! ```text
//! start ─► ready ─► stop asked: `closing` (no new connections and runs) ─► runs end, or their time is over
//!                   ─► `stop` (streams end) ─► sessions closed ─► connections closed
//! ```

use std::{
    io,
    net::SocketAddr,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use axum::{Router, middleware};
use goose::{
    agent_manager::AgentManager,
    config::{ExtensionConfig, Secret},
};
use goose_fs::{create_private_dir, resolve};
use goose_providers::ModelRef;
use http::StatusCode;
use serde_json::Value;
use tokio::{
    net::{TcpListener, UnixListener, UnixStream},
    task::JoinSet,
    time::timeout,
};

use crate::{
    a2a, agent_communication, api, editors,
    endpoint::{Endpoint, router},
    error::ApiError,
    gate::{Names, gate},
    health,
    listen::{Acceptor, tls_config},
    mcp, openapi,
    options::ServerOptions,
    sessions::Sessions,
    start_error::StartError,
    state::{App, AppState},
    tokens::{KnownTokens, NewToken, RELOAD_INTERVAL, Scope, TokenStore},
};

/// Name of the token that is made on the first start.
const FIRST_TOKEN: &str = "first";

/// Time limit for closing sessions and connections at the end.
const CLOSE_TIME: Duration = Duration::from_millis(400);

/// Interval at which old runs are looked for.
const RUN_CHECK: Duration = Duration::from_secs(30);

/// Returns all routes.
fn endpoints() -> Vec<Endpoint> {
    let mut endpoints = health::endpoints();
    endpoints.extend(agent_communication::endpoints());
    endpoints.extend(api::endpoints());
    endpoints.extend(a2a::endpoints());
    endpoints.extend(mcp::endpoints());
    endpoints.extend(editors::endpoints());
    endpoints
}

/// Returns the OpenAPI document of all routes.
pub fn openapi_document() -> Value {
    openapi::document(&endpoints())
}

/// A running server.
pub struct Server {
    app: AppState,
    acceptor: Arc<Acceptor>,
    tasks: JoinSet<()>,
    address: SocketAddr,
    first_token: Option<NewToken>,
    warnings: Vec<String>,
}

impl Server {
    /// Starts a server for the agents of a manager. Each folder has its own settings; `model` is used where they name
    /// none, and `extensions` are added to all sessions.
    ///
    /// # Errors
    ///
    /// Returns an error that says what keeps it from starting.
    pub async fn start(
        manager: AgentManager,
        model: Option<ModelRef>,
        extensions: Vec<ExtensionConfig>,
        mut options: ServerOptions,
    ) -> Result<Self, StartError> {
        if options.is_unauthenticated && !options.host.is_loopback() {
            return Err(StartError::Unauthenticated(options.host));
        }
        options.roots = options.roots.iter().map(|root| usable_root(root)).collect::<Result<_, _>>()?;
        let tls = options.tls.as_ref().map(tls_config).transpose()?;
        let mut warnings = Vec::new();
        if !options.host.is_loopback() && tls.is_none() {
            warnings.push(
                "Tokens and sessions are sent over the network without encryption. Use --tls.".to_owned(),
            );
        }
        let listener = bind(SocketAddr::new(options.host, options.port)).await?;
        let address = listener.local_addr().map_err(|source| bind_error(options.host, source))?;
        let socket = usable_socket(&mut options, &mut warnings).await;
        let (tokens, first_token) = tokens(&options)?;
        let (router, access) = router(endpoints());
        let names = names(&options, address, tls.is_some())?;
        let sessions = Sessions::new(manager, model, extensions, options.roots.clone());
        let app = AppState(Arc::new(App::new(options, names, access, tokens, sessions, openapi_document())?));
        let acceptor = Acceptor::new(finished_router(router, &app), app.clone());
        let mut tasks = JoinSet::new();
        tasks.spawn(Arc::clone(&acceptor).tcp(listener, tls));
        if let Some(socket) = socket {
            tasks.spawn(Arc::clone(&acceptor).unix(socket));
        }
        tasks.spawn(watch_tokens(app.clone()));
        tasks.spawn(forget_runs(app.clone()));
        Ok(Self { app, acceptor, tasks, address, first_token, warnings })
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL of the server.
    pub fn url(&self) -> String {
        format!("{}://{}", self.app.names.scheme, self.address)
    }

    /// Returns the Unix socket that it listens on, if it does.
    pub fn socket(&self) -> Option<&Path> {
        self.app.options.socket.as_deref()
    }

    /// Returns the folders that sessions may work in.
    pub fn roots(&self) -> &[PathBuf] {
        &self.app.options.roots
    }

    /// Returns the token that was made because there was none. It is shown once.
    pub fn first_token(&self) -> Option<&NewToken> {
        self.first_token.as_ref()
    }

    /// Returns what the user should know about the configuration.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Ends the server: refuses new work, gives runs the time of the options, and closes everything.
    pub async fn shutdown(mut self) {
        let app = self.app.clone();
        app.closing.cancel();
        if timeout(app.options.drain, app.runs.all_ended()).await.is_err() {
            tracing::info!(runs = app.metrics.runs.get(), "runs are cancelled because the server stops");
        }
        app.stop.cancel();
        self.acceptor.connections.close();
        let _ = timeout(CLOSE_TIME, app.sessions.close_all()).await;
        #[cfg(feature = "otel")]
        app.runs.end_traces().await;
        let _ = timeout(CLOSE_TIME, self.acceptor.connections.wait()).await;
        self.tasks.shutdown().await;
        if let Some(path) = &app.options.socket {
            // The next start replaces a socket that is left.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn finished_router(router: Router<AppState>, app: &AppState) -> Router {
    router
        .fallback(async || ApiError::not_found("There is no such route. `/openapi.json` lists them."))
        .method_not_allowed_fallback(async || {
            ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method", "This route has no such method.")
        })
        .layer(middleware::from_fn_with_state(app.clone(), gate))
        .with_state(app.clone())
}

fn usable_root(root: &Path) -> Result<PathBuf, StartError> {
    let failed = |reason: String| StartError::Root { path: root.to_owned(), reason };
    let resolved = resolve(root).map_err(|error| failed(error.to_string()))?;
    if resolved.is_dir() { Ok(resolved) } else { Err(failed("it is not a folder".to_owned())) }
}

fn names(options: &ServerOptions, address: SocketAddr, is_tls: bool) -> Result<Names, StartError> {
    for host in &options.allowed_hosts {
        let authority = host.parse::<http::uri::Authority>();
        if authority.is_err() || host.contains(['/', '@', '*']) {
            return Err(StartError::Name(format!("--allowed-host: `{host}` is not a name or name:port")));
        }
    }
    let mut allowed_origins = Vec::new();
    for origin in &options.allowed_origins {
        let parsed = url::Url::parse(origin).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let exact = parsed.map(|url| url.origin().ascii_serialization());
        let exact = exact.filter(|exact| exact.eq_ignore_ascii_case(origin.trim_end_matches('/')));
        allowed_origins.push(exact.ok_or_else(|| {
            StartError::Name(format!(
                "--allowed-origin: `{origin}` is not scheme://host or scheme://host:port"
            ))
        })?);
    }
    Ok(Names {
        own: Names::of(options.host),
        port: address.port(),
        allowed_hosts: options.allowed_hosts.clone(),
        allowed_origins,
        scheme: if is_tls { "https" } else { "http" },
    })
}

/// Loads the tokens. Makes one if there is none and one is needed.
fn tokens(options: &ServerOptions) -> Result<(KnownTokens, Option<NewToken>), StartError> {
    let store = TokenStore::new(&options.token_file);
    let secret = options.secret_key.as_ref().map(Secret::expose).filter(|secret| !secret.is_empty());
    let known = KnownTokens::load(store.clone(), secret)?;
    if !known.is_empty() || options.is_unauthenticated {
        return Ok((known, None));
    }
    let first = store.create(FIRST_TOKEN, Scope::Admin)?;
    known.reload()?;
    Ok((known, Some(first)))
}

fn bind_error(host: impl ToString, source: io::Error) -> StartError {
    StartError::Bind { address: host.to_string(), source }
}

async fn bind(address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address).await.map_err(|source| bind_error(address, source))
}

/// Listens on a Unix socket that only the user can connect to. Replaces the socket of a server that has ended.
async fn bind_socket(path: &Path) -> io::Result<UnixListener> {
    if let Some(folder) = path.parent() {
        create_private_dir(folder)?;
    }
    if UnixStream::connect(path).await.is_ok() {
        return Err(io::Error::new(io::ErrorKind::AddrInUse, "another server listens there"));
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Listens on the Unix socket of the options. Without it, the server starts with a warning.
async fn usable_socket(options: &mut ServerOptions, warnings: &mut Vec<String>) -> Option<UnixListener> {
    let path = options.socket.as_ref()?;
    match bind_socket(path).await {
        Ok(listener) => Some(listener),
        Err(error) => {
            warnings.push(format!("The socket {} is not used: {error}.", path.display()));
            options.socket = None;
            None
        }
    }
}

/// Reads the tokens again when their file has changed.
async fn watch_tokens(app: AppState) {
    loop {
        tokio::select! {
            () = app.stop.cancelled() => return,
            () = tokio::time::sleep(RELOAD_INTERVAL) => {}
        }
        if let Err(error) = app.tokens.reload() {
            tracing::error!(%error, "the tokens could not be read again; the earlier ones stay");
        }
    }
}

/// Drops runs from memory that have ended some time ago.
async fn forget_runs(app: AppState) {
    while timeout(RUN_CHECK, app.stop.cancelled()).await.is_err() {
        app.runs.forget_old();
    }
}
