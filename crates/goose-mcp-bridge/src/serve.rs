//! [`serve`]: an extension as an MCP server over stdio, a pair of streams, an in-process duplex, or HTTP.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use goose_extension::{AnyhowResult, Extension, ToolResult};
use rmcp::{
    RoleServer, ServerHandler, ServiceExt as _,
    service::{RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    http::{HttpOptions, HttpServer},
    server::{ExtensionServer, ServeOptions},
    stdio_transport::{LineFaults, LineTransport},
};

/// Size of the in-process pipe.
const DUPLEX_BYTES: usize = 64 * 1024;

/// Makes any extension an MCP server; say how with the methods of [`Serve`].
///
/// ```no_run
/// # use goose_extension::prelude::*;
/// # struct Greeter;
/// # #[extension] impl Greeter {}
/// # async fn example() -> anyhow::Result<()> {
/// goose_mcp_bridge::serve(Greeter).stdio().await?;
/// # Ok(())
/// # }
/// ```
pub fn serve(extension: impl Extension + 'static) -> Serve {
    Serve::shared(Arc::new(extension))
}

/// Builder of a server. Its last method chooses the transport.
pub struct Serve {
    extension: Arc<dyn Extension>,
    options: ServeOptions,
    stop: CancellationToken,
}

impl Serve {
    /// Serves an extension that is also used elsewhere.
    pub fn shared(extension: Arc<dyn Extension>) -> Self {
        Self { extension, options: ServeOptions::default(), stop: CancellationToken::new() }
    }

    /// Sets limits and trust towards clients.
    pub fn with_options(mut self, options: ServeOptions) -> Self {
        self.options = options;
        self
    }

    /// Ends the server when the token is cancelled.
    pub fn with_cancellation(mut self, token: CancellationToken) -> Self {
        self.stop = token;
        self
    }

    /// Returns the server itself, for other transports.
    ///
    /// # Errors
    ///
    /// Fails if the state key is too short, or if none is given and the system has no random bytes.
    pub fn into_handler(self) -> ToolResult<ExtensionServer> {
        ExtensionServer::new(self.extension, self.options)
    }

    /// Serves on standard input and output until the client closes them.
    ///
    /// # Errors
    ///
    /// Fails if the client's first message does not start an MCP session.
    pub async fn stdio(self) -> AnyhowResult<()> {
        let (reader, writer) = rmcp::transport::io::stdio_pipes();
        self.streams(reader, writer).await.map(drop)
    }

    /// Serves on a pair of streams until the client closes them. Returns the counters of unusable lines.
    ///
    /// # Errors
    ///
    /// Fails if the client's first message does not start an MCP session.
    pub async fn streams<R, W>(self, reader: R, writer: W) -> AnyhowResult<Arc<LineFaults>>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let transport = LineTransport::<RoleServer, R, W>::new(reader, writer);
        let (faults, stop, server) = (transport.faults(), self.stop.clone(), self.into_handler()?);
        let transport = SessionTransport {
            inner: transport,
            session: server.session(),
            has_streams: server.has_streams(),
            until: None,
        };
        match server.serve_with_ct(transport, stop).await {
            Ok(running) => {
                running.waiting().await?;
            }
            // A connection that ends before the first message is not a failure.
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {}
            Err(error) => return Err(error.into()),
        }
        let (unparsable, oversized) = (faults.unparsable(), faults.oversized());
        if unparsable + oversized > 0 {
            tracing::warn!(unparsable, oversized, "lines were skipped on this connection");
        }
        Ok(faults)
    }

    /// Serves in a background task, and returns the client's end.
    pub fn duplex(self) -> DuplexStream {
        let (client, server) = tokio::io::duplex(DUPLEX_BYTES);
        let (reader, writer) = tokio::io::split(server);
        tokio::spawn(async move {
            if let Err(error) = self.streams(reader, writer).await {
                tracing::error!(%error, "an in-process server failed");
            }
        });
        client
    }

    /// Serves over streamable HTTP in a background task.
    ///
    /// # Errors
    ///
    /// Fails if the address cannot be bound.
    pub async fn http(self, options: HttpOptions) -> AnyhowResult<HttpServer> {
        let stop = self.stop.clone();
        HttpServer::start(self.into_handler()?, options, stop).await
    }
}

/// Transport that ends the session with its input. rmcp would wait for open subscription streams, which never
/// end by themselves.
struct SessionTransport<T> {
    inner: T,
    session: CancellationToken,
    /// True if a subscription stream was opened.
    has_streams: Arc<AtomicBool>,
    /// End of the grace time, once the input has ended.
    until: Option<Instant>,
}

/// Time for subscription streams to send their last message, which is possible only before the session ends.
const STREAM_END_GRACE: Duration = Duration::from_millis(100);

impl<T: Transport<RoleServer>> Transport<RoleServer> for SessionTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (sending, session) = (self.inner.send(message), self.session.clone());
        async move {
            match sending.await {
                // The client has closed the connection, and does not read the last responses.
                Err(_) if session.is_cancelled() => Ok(()),
                sent => sent,
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let message = self.inner.receive().await;
        if message.is_none() {
            self.session.cancel();
            if self.has_streams.load(Ordering::Acquire) {
                tokio::time::sleep_until(
                    *self.until.get_or_insert_with(|| Instant::now() + STREAM_END_GRACE),
                )
                .await;
            }
        }
        message
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}

/// Serves any rmcp server in the background, over an in-process pair of streams.
pub fn spawn_and_serve<S>(server: S, transport: (DuplexStream, DuplexStream))
where
    S: ServerHandler + Send + 'static,
{
    let transport = LineTransport::<RoleServer, _, _>::new(transport.0, transport.1);
    tokio::spawn(async move {
        match server.serve(transport).await {
            Ok(running) => {
                if let Err(error) = running.waiting().await {
                    tracing::error!(%error, "an in-process server failed");
                }
            }
            Err(error) => tracing::error!(%error, "an in-process server did not start"),
        }
    });
}
