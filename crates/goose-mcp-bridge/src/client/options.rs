//! The target and the options of a connection.

use std::{sync::Arc, time::Duration};

use goose_extension::{CallContext, LogLevel, ToolResult};
use goose_process::ProcessSpec;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};

use super::{auth::OAuth, clock::LoginClock};
use crate::transport::BoxTransport;

/// Time that a server has to answer the greeting.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);

/// The place of a server.
pub enum Target {
    /// At the other end of a pair of streams.
    Streams(Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>),
    /// A program to start; it speaks on its standard input and output, and ends with the connection.
    Program(ProcessSpec),
    /// A URL that speaks streamable HTTP.
    Http(String),
    /// A transport of your own.
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

/// A hook between a client and its server. Tests record and replay traffic with it.
pub trait Interceptor: Send + Sync {
    /// Returns a transport that takes the place of the target, which is then neither started nor reached.
    ///
    /// # Errors
    ///
    /// The connection fails with them.
    fn replace(&self, target: &Target) -> ToolResult<Option<BoxTransport>>;

    /// Wraps the transport of one attempt to connect.
    fn wrap(&self, transport: BoxTransport) -> BoxTransport;
}

/// The greeting of a server.
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
    /// The extension's name; by default what the server calls itself.
    pub name: Option<String>,
    /// The greeting.
    pub lifecycle: Lifecycle,
    /// Time that it has to answer the greeting.
    pub handshake_timeout: Duration,
    /// Time that a call may take without a sign of progress.
    pub call_timeout: Option<Duration>,
    /// Time that a call may take in spite of all progress, including its questions.
    pub max_call_time: Option<Duration>,
    /// The least level of its log that we want; by default the server's own choice.
    pub log_level: Option<LogLevel>,
    /// The context of messages that belong to no call.
    pub surroundings: CallContext,
    /// Headers for a server that is reached by URL, such as `Authorization`. They go to that server only.
    pub headers: Vec<(String, String)>,
    /// The login for a server that is reached by URL and wants one. An `Authorization` header wins over it.
    pub oauth: Option<OAuth>,
    /// True if the server is ours or our child, and may know our session and folder.
    pub local: bool,
    /// Stands between client and server; for tests.
    pub interceptor: Option<Arc<dyn Interceptor>>,
    /// True if the groups that the server's tools claim are trusted. An untrusted server could call its tools harmless, so
    /// this is for servers that we wrote.
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
    /// The clock that stops during a login.
    pub(super) fn clock(&self) -> Option<&LoginClock> {
        self.oauth.as_ref().map(OAuth::clock)
    }

    /// Connecting is over: requests from now on have a caller, or are made in the background.
    pub(super) fn connected(&self) {
        if let Some(oauth) = &self.oauth {
            oauth.connected();
        }
    }
}
