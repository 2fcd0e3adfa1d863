//! Connections: TCP, TLS and a Unix socket. Each is served on a task of its own, and ends with the server.

use std::{io, path::Path, pin::pin, sync::Arc, time::Duration};

use axum::{Router, body::Body};
use goose_fs::read_regular;
use http::Request;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, UnixListener},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower_service::Service as _;

use crate::{options::TlsFiles, start_error::StartError, state::AppState};

/// Maximum number of connections. Further ones wait in the system's queue.
const MAX_CONNECTIONS: usize = 4_096;
/// Time limit for the headers of a request.
const HEADER_TIME: Duration = Duration::from_secs(15);
/// Time limit for a TLS handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// Maximum number of headers of a request.
const MAX_HEADERS: usize = 100;
/// Maximum size of the headers of a request.
const MAX_HEADER_BYTES: usize = 64 * 1024;
/// Maximum size of a file with a certificate or a key.
const MAX_PEM_BYTES: u64 = 1024 * 1024;
/// Delay after a connection could not be accepted, for example because there are too many open files.
const ACCEPT_DELAY: Duration = Duration::from_millis(50);

/// Other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// Program that connected over a network, which may be the loopback interface.
    Network,
    /// Program on this machine, with its user id.
    Unix(u32),
    /// Not known.
    Unknown,
}

/// Serves connections until the server stops.
pub(crate) struct Acceptor {
    pub(crate) router: Router,
    pub(crate) app: AppState,
    pub(crate) connections: TaskTracker,
    permits: Arc<Semaphore>,
}

impl Acceptor {
    pub(crate) fn new(router: Router, app: AppState) -> Arc<Self> {
        let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        Arc::new(Self { router, app, connections: TaskTracker::new(), permits })
    }

    /// Accepts TCP connections, with TLS if there is a configuration.
    pub(crate) async fn tcp(self: Arc<Self>, listener: TcpListener, tls: Option<Arc<ServerConfig>>) {
        let acceptor = tls.map(TlsAcceptor::from);
        while let Some(accepted) = self.admit(listener.accept()).await {
            let Some(((stream, _), permit)) = accepted else { continue };
            // Without this, a client that reuses its connection waits 40 ms for small messages (delayed ACK).
            let _ = stream.set_nodelay(true);
            let (this, acceptor) = (Arc::clone(&self), acceptor.clone());
            self.spawn(permit, async move {
                match acceptor {
                    None => this.serve(stream, Peer::Network).await,
                    Some(acceptor) => match timeout(HANDSHAKE_TIME, acceptor.accept(stream)).await {
                        Ok(Ok(stream)) => this.serve(stream, Peer::Network).await,
                        Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
                        Err(_) => tracing::debug!("a TLS handshake took too long"),
                    },
                }
            });
        }
    }

    /// Accepts connections on a Unix socket.
    pub(crate) async fn unix(self: Arc<Self>, listener: UnixListener) {
        while let Some(accepted) = self.admit(listener.accept()).await {
            let Some(((stream, _), permit)) = accepted else { continue };
            let peer = stream.peer_cred().map_or(Peer::Unknown, |credentials| Peer::Unix(credentials.uid()));
            let this = Arc::clone(&self);
            self.spawn(permit, async move { this.serve(stream, peer).await });
        }
    }

    /// Waits for a place under the limit and for a connection. Returns `None` once the server stops, and an empty
    /// result after a failure.
    async fn admit<T>(
        &self,
        accepting: impl Future<Output = io::Result<T>>,
    ) -> Option<Option<(T, OwnedSemaphorePermit)>> {
        let accepting = async {
            // The semaphore is never closed.
            let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(io::Error::other)?;
            Ok::<_, io::Error>((accepting.await?, permit))
        };
        let accepted = tokio::select! {
            () = self.app.closing.cancelled() => return None,
            accepted = accepting => accepted,
        };
        if let Err(error) = &accepted {
            tracing::warn!(%error, "a connection could not be accepted");
            tokio::time::sleep(ACCEPT_DELAY).await;
        }
        Some(accepted.ok())
    }

    fn spawn(
        self: &Arc<Self>,
        permit: OwnedSemaphorePermit,
        connection: impl Future<Output = ()> + Send + 'static,
    ) {
        let this = Arc::clone(self);
        self.connections.spawn(async move {
            this.app.metrics.connections.enter();
            connection.await;
            this.app.metrics.connections.leave();
            drop(permit);
        });
    }

    async fn serve<S>(&self, stream: S, peer: Peer)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let router = self.router.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            router.clone().call(request.map(Body::new))
        });
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIME)
            .max_headers(MAX_HEADERS)
            .max_buf_size(MAX_HEADER_BYTES);
        // A WebSocket takes the connection over.
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service).with_upgrades());
        let closing: &CancellationToken = &self.app.closing;
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = closing.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended");
        }
    }
}

/// Reads certificate and key.
pub(crate) fn tls_config(files: &TlsFiles) -> Result<Arc<ServerConfig>, StartError> {
    let failed = |path: &Path, reason: &dyn std::fmt::Display| StartError::Tls {
        path: path.to_owned(),
        reason: reason.to_string(),
    };
    let read = |path: &Path| read_regular(path, MAX_PEM_BYTES).map_err(|error| failed(path, &error));
    let certificates: Result<Vec<_>, _> =
        CertificateDer::pem_slice_iter(&read(&files.certificate)?).collect();
    let certificates = certificates.map_err(|error| failed(&files.certificate, &error))?;
    let key =
        PrivateKeyDer::from_pem_slice(&read(&files.key)?).map_err(|error| failed(&files.key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&files.certificate, &error))?
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .map_err(|error| failed(&files.certificate, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
