//! Target and options of a connection.

use std::{sync::Arc, time::Duration};

use goose_extension::{CallContext, LogLevel, ToolResult};
use goose_process::ProcessSpec;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};

use super::{auth::OAuth, clock::LoginClock};
use crate::transport::BoxTransport;

/// Default time limit of the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);

/// Address of a server.
pub enum Target {
    /// The other end of a pair of streams.
    Streams(Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>),
    /// A program to start. It speaks on its standard input and output, and ends with the connection.
    Program(ProcessSpec),
    /// The URL of a server that speaks streamable HTTP.
    Http(String),
    /// Any other transport.
    Transport(BoxTransport),
}

impl From<DuplexStream> for Target {
    fn from(stream: DuplexStream) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self::Streams(Box::new(reader), Box::new(writer))
    }
}

impl From<ProcessSpec> for Target {
    fn from(spec: ProcessSpec) -> Self {
        Self::Program(spec)
    }
}

impl From<BoxTransport> for Target {
    fn from(transport: BoxTransport) -> Self {
        Self::Transport(transport)
    }
}

impl From<&str> for Target {
    fn from(url: &str) -> Self {
        Self::Http(url.to_owned())
    }
}

impl From<String> for Target {
    fn from(url: String) -> Self {
        Self::Http(url)
    }
}

/// Hook between a client and its server. Tests record and replay traffic with it.
pub trait Interceptor: Send + Sync {
    /// Returns a transport that replaces the target, which is then neither started nor contacted.
    ///
    /// # Errors
    ///
    /// Any error fails the connection.
    fn replace(&self, target: &Target) -> ToolResult<Option<BoxTransport>>;

    /// Wraps the transport of one attempt to connect.
    fn wrap(&self, transport: BoxTransport) -> BoxTransport;
}

/// Handshake of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lifecycle {
    /// Try 2026-07-28 first, then `initialize`.
    #[default]
    Auto,
    /// `initialize` only (MCP up to 2025-11-25).
    Initialize,
    /// `server/discover` only (MCP 2026-07-28).
    Discover,
}

/// Options of a connection.
#[derive(Clone)]
pub struct ConnectOptions {
    /// Name of the extension; by default the name that the server reports.
    pub name: Option<String>,
    /// Handshake to use.
    pub lifecycle: Lifecycle,
    /// Time limit of the handshake.
    pub handshake_timeout: Duration,
    /// Time limit of a call without progress.
    pub call_timeout: Option<Duration>,
    /// Time limit of a call including progress and questions.
    pub max_call_time: Option<Duration>,
    /// Lowest log level to ask for; by default the server decides.
    pub log_level: Option<LogLevel>,
    /// Context of messages that belong to no call.
    pub surroundings: CallContext,
    /// Headers for a server by URL, such as `Authorization`. They are sent to that server only.
    pub headers: Vec<(String, String)>,
    /// Login for a server by URL. An `Authorization` header takes precedence.
    pub oauth: Option<OAuth>,
    /// True if the server runs on this machine for us, and may know our session and folder.
    pub local: bool,
    /// Hook between client and server, for tests.
    pub interceptor: Option<Arc<dyn Interceptor>>,
    /// True if the groups that the server's tools claim are trusted. Only for servers that we wrote: any
    /// other could claim that its tools are harmless.
    pub trust_groups: bool,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            name: None,
            lifecycle: Lifecycle::Auto,
            handshake_timeout: HANDSHAKE_TIMEOUT,
            call_timeout: None,
            max_call_time: None,
            log_level: None,
            surroundings: CallContext::new(),
            headers: Vec::new(),
            oauth: None,
            local: true,
            interceptor: None,
            trust_groups: false,
        }
    }
}

impl ConnectOptions {
    /// Returns the clock that stops during a login.
    pub(super) fn clock(&self) -> Option<&LoginClock> {
        self.oauth.as_ref().map(OAuth::clock)
    }

    /// Marks the connection as established: from now on, only requests of a caller may start a login.
    pub(super) fn connected(&self) {
        if let Some(oauth) = &self.oauth {
            oauth.connected();
        }
    }
}
