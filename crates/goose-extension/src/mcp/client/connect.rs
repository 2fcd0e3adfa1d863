//! [`connect`]: where a server is, how to greet it, and what it may ask.

use std::{collections::HashMap, sync::Arc, time::Duration};

use http::{HeaderName, HeaderValue};

use rmcp::{
    RoleClient,
    model::{Implementation, ProtocolVersion, SubscriptionFilter},
    service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, RunningService},
    transport::{
        StreamableHttpClientTransport, Transport, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream},
    process::{Child, Command},
};
use tokio_util::sync::CancellationToken;

use super::{
    Connection, Listing, RemoteExtension,
    handler::ClientSide,
    news::{self, News},
    request::Answers,
    routes::{Routes, Tap},
};
use crate::{
    changes::ChangeFeed,
    context::CallContext,
    error::{ToolError, ToolResult},
    mcp::lines::{LineTransport, MAX_LINE_BYTES},
    questions::LogLevel,
};

/// How long a server may take to say hello.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);

/// Where a server is.
#[non_exhaustive]
pub enum Target {
    /// At the other end of a pair of streams.
    Streams(Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>),
    /// A program to start; it speaks on its standard input and output, and ends with the connection.
    Command(Command),
    /// A URL that speaks streamable HTTP.
    Http(String),
}

impl From<DuplexStream> for Target {
    fn from(stream: DuplexStream) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self::Streams(Box::new(reader), Box::new(writer))
    }
}

impl From<Command> for Target {
    fn from(command: Command) -> Self {
        Self::Command(command)
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

/// How to greet a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lifecycle {
    /// Try 2026-07-28 first, then `initialize`.
    #[default]
    Auto,
    /// `initialize` only (MCP up to 2025-11-25).
    Initialize,
    /// `server/discover` only (MCP 2026-07-28).
    Discover,
}

/// How to treat a server.
#[derive(Clone)]
#[non_exhaustive]
pub struct ConnectOptions {
    /// The extension's name; by default what the server calls itself.
    pub name: Option<String>,
    /// How to greet it.
    pub lifecycle: Lifecycle,
    /// How long it may take to say hello.
    pub handshake_timeout: Duration,
    /// How long a call may take without a sign of progress.
    pub call_timeout: Option<Duration>,
    /// The least level of its log that we want; by default the server's own choice.
    pub log_level: Option<LogLevel>,
    /// Who answers and hears what belongs to no call.
    pub surroundings: CallContext,
    /// Headers for a server that is reached by URL, such as `Authorization`. They go to that server only.
    pub headers: Vec<(String, String)>,
    /// Whether the server is ours or our child, and may know our session and folder.
    pub local: bool,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            name: None,
            lifecycle: Lifecycle::Auto,
            handshake_timeout: HANDSHAKE_TIMEOUT,
            call_timeout: None,
            log_level: None,
            surroundings: CallContext::new(),
            headers: Vec::new(),
            local: true,
        }
    }
}

impl ConnectOptions {
    /// Greets the server in one way only.
    pub fn with_lifecycle(mut self, lifecycle: Lifecycle) -> Self {
        self.lifecycle = lifecycle;
        self
    }

    /// Names the extension.
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Bounds each call.
    pub fn with_call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = Some(timeout);
        self
    }

    /// Says who answers and hears what belongs to no call.
    pub fn with_surroundings(mut self, context: CallContext) -> Self {
        self.surroundings = context;
        self
    }

    /// Adds a header for a server that is reached by URL.
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Bounds the greeting and the first list of tools.
    pub fn with_handshake_timeout(mut self, timeout: Duration) -> Self {
        self.handshake_timeout = timeout;
        self
    }

    /// Asks for the server's log from a level on.
    pub fn with_log_level(mut self, level: LogLevel) -> Self {
        self.log_level = Some(level);
        self
    }
}

/// Makes any MCP server an extension. It ends when the last reference to the extension is dropped.
///
/// # Errors
///
/// [`ToolError::Disconnected`] where the server cannot be reached or does not greet back, with the reason.
pub async fn connect(target: impl Into<Target>, options: ConnectOptions) -> ToolResult<Arc<RemoteExtension>> {
    let news = Arc::new(News::default());
    let routes = Arc::new(Routes::new(options.surroundings.clone()));
    // On the older wire this is said once for all calls, and a call whose caller cannot answer says so then. On the
    // newer it goes with each call.
    let declared = if options.lifecycle == Lifecycle::Discover { Answers::default() } else { Answers::ALL };
    let side = || ClientSide {
        implementation: Implementation::new("goose", env!("CARGO_PKG_VERSION")),
        capabilities: declared.capabilities(),
        routes: Arc::clone(&routes),
        news: Arc::clone(&news),
    };
    let Opened { service, child, remote } = open(target.into(), side, &routes, &options).await?;
    let name = options.name.clone().or_else(|| server_name(&service)).unwrap_or_else(|| "server".to_owned());
    let connection = Arc::new(Connection {
        name,
        options: ConnectOptions { local: options.local && !remote, ..options },
        service,
        declared,
        child,
        feed: ChangeFeed::new(),
        watches: news::Watches::default(),
        news,
        routes,
        ends: CancellationToken::new(),
    });
    let limit = connection.options.handshake_timeout;
    let listing = tokio::time::timeout(limit, settle(&connection)).await.unwrap_or_else(|_| {
        Err(unreachable_server(&connection.name, &format!("it did not list its tools within {limit:?}")))
    })?;
    Ok(Arc::new(RemoteExtension { connection, listing: Arc::new(listing) }))
}

/// What follows the greeting: the stream of news first, so that no change is missed, then the list.
async fn settle(connection: &Arc<Connection>) -> ToolResult<Listing> {
    let (news, ends) = (Arc::clone(&connection.news), connection.ends.clone());
    tokio::spawn(news::follow(Arc::downgrade(connection), Arc::clone(&news), ends.clone()));
    let filter = connection.list_filter();
    if !connection.is_new_wire() {
        settle_log_level(connection).await;
    } else if filter != SubscriptionFilter::default() {
        match news::Stream::open(connection.peer().clone(), filter).await {
            Ok(stream) => {
                tokio::spawn(async move { ends.run_until_cancelled(stream.run(news)).await });
            }
            Err(error) => tracing::debug!(%error, "the server does not report changes"),
        }
    }
    Listing::read(connection.peer(), &connection.name).await
}

type Service = RunningService<RoleClient, ClientSide>;

struct Opened {
    service: Service,
    child: Option<Child>,
    remote: bool,
}

async fn open(
    target: Target,
    side: impl Fn() -> ClientSide,
    routes: &Arc<Routes>,
    options: &ConnectOptions,
) -> ToolResult<Opened> {
    match target {
        Target::Streams(reader, writer) => {
            let transport = Tap::new(LineTransport::new(reader, writer), routes);
            let service =
                greet(side(), transport, options.lifecycle, options).await.map_err(Failed::into_error)?;
            Ok(Opened { service, child: None, remote: false })
        }
        Target::Command(mut command) => {
            let mut lifecycle = options.lifecycle;
            loop {
                let (mut child, program) = start(&mut command)?;
                let (Some(reader), Some(writer)) = (child.stdout.take(), child.stdin.take()) else {
                    return Err(unreachable_server(&program, &"its streams are not ours"));
                };
                let transport = Tap::new(LineTransport::new(reader, writer), routes);
                match greet(side(), transport, lifecycle, options).await {
                    Ok(service) => return Ok(Opened { service, child: Some(child), remote: false }),
                    // A server that is slow to start answers the probe when we already speak the older way, and
                    // the two are confused: begin again with a fresh process, in the older way only.
                    Err(failed) if failed.is_confused && lifecycle == Lifecycle::Auto => {
                        lifecycle = Lifecycle::Initialize;
                    }
                    Err(failed) => return Err(failed.into_error()),
                }
            }
        }
        Target::Http(url) => {
            let client = http_client().map_err(|error| unreachable_server(&url, &error))?;
            let mut config = StreamableHttpClientTransportConfig::with_uri(url.clone());
            config.max_sse_event_size = MAX_LINE_BYTES;
            config.custom_headers = headers(options).map_err(|error| unreachable_server(&url, &error))?;
            let transport = Tap::new(StreamableHttpClientTransport::with_client(client, config), routes);
            let service =
                greet(side(), transport, options.lifecycle, options).await.map_err(Failed::into_error)?;
            Ok(Opened { service, child: None, remote: true })
        }
    }
}

fn headers(options: &ConnectOptions) -> Result<HashMap<HeaderName, HeaderValue>, http::Error> {
    let parse = |(name, value): &(String, String)| {
        let mut value = HeaderValue::try_from(value)?;
        value.set_sensitive(true);
        Ok((HeaderName::try_from(name)?, value))
    };
    options.headers.iter().map(parse).collect()
}

fn start(command: &mut Command) -> ToolResult<(Child, String)> {
    let program = command.as_std().get_program().to_string_lossy().into_owned();
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).kill_on_drop(true);
    let child = command.spawn().map_err(|error| unreachable_server(&program, &error))?;
    Ok((child, program))
}

/// A greeting that went wrong.
struct Failed {
    name: String,
    reason: String,
    /// The answer was to the other way of greeting.
    is_confused: bool,
}

impl Failed {
    fn into_error(self) -> ToolError {
        unreachable_server(&self.name, &self.reason)
    }
}

async fn greet<T>(
    side: ClientSide,
    transport: Tap<T>,
    lifecycle: Lifecycle,
    options: &ConnectOptions,
) -> Result<Service, Failed>
where
    T: Transport<RoleClient> + 'static,
{
    let name = options.name.clone().unwrap_or_else(|| "the server".to_owned());
    let greeting = side.serve_with_lifecycle(transport, mode(lifecycle));
    match tokio::time::timeout(options.handshake_timeout, greeting).await {
        Ok(Ok(service)) => Ok(service),
        Ok(Err(error)) => {
            let is_confused = is_confused(&error);
            Err(Failed { name, reason: Reason(&error).to_string(), is_confused })
        }
        Err(_) => {
            let reason = format!("it did not answer within {:?}", options.handshake_timeout);
            Err(Failed { name, reason, is_confused: false })
        }
    }
}

fn is_confused(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::ConflictInitResponseId(..)
        | ClientInitializeError::UncorrelatedErrorResponse { .. } => true,
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => is_confused(fallback),
        _ => false,
    }
}

fn mode(lifecycle: Lifecycle) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match lifecycle {
        Lifecycle::Auto => ClientLifecycleMode::Auto { preferred_versions, legacy_version: None },
        Lifecycle::Initialize => ClientLifecycleMode::Initialize,
        Lifecycle::Discover => ClientLifecycleMode::Discover { preferred_versions },
    }
}

/// The greeting's error with its causes.
struct Reason<'a>(&'a ClientInitializeError);

impl std::fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = std::error::Error::source(self.0);
        while let Some(cause) = source {
            write!(f, ": {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}

fn unreachable_server(name: &str, reason: &dyn std::fmt::Display) -> ToolError {
    ToolError::Disconnected(format!(
        "Could not connect to `{name}`: {reason}. Check that the server runs and speaks MCP."
    ))
}

fn server_name(service: &Service) -> Option<String> {
    service.peer_info()?.server_info.as_ref().map(|server| server.name.clone())
}

/// On the older wire the level is set once; on the newer it goes with each request.
async fn settle_log_level(connection: &Connection) {
    if let Some(level) = connection.options.log_level
        && let Err(error) = super::set_level(connection, level).await
    {
        tracing::debug!(%error, "the server does not set its log level");
    }
}

/// Connections are kept between calls, and no redirect is followed: it could carry our headers to another host. TLS is
/// rustls with ring, unless the program has chosen a provider already.
fn http_client() -> reqwest::Result<reqwest::Client> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).tcp_nodelay(true).build()
}
