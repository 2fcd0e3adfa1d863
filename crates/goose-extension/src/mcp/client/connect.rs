//! [`connect`]: reaching a server and greeting it.

use std::sync::Arc;

use futures::future::BoxFuture;
use rmcp::{
    RoleClient,
    model::{Implementation, ProtocolVersion, SubscriptionFilter},
    service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, RunningService},
    transport::Transport,
};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use super::{
    auth::{OAuth, within},
    connection::{self, Connection},
    handler::ClientSide,
    http::Site,
    listing::Listing,
    news::{self, News},
    options::{ConnectOptions, Lifecycle, Target},
    remote::RemoteExtension,
    request::Answers,
    routes::{Routes, Tap},
};
use crate::{
    changes::ChangeFeed,
    error::{ToolError, ToolResult},
    mcp::lines::LineTransport,
};

/// Makes any MCP server an extension. It ends when the last reference to the extension is dropped.
///
/// # Errors
///
/// [`ToolError::Disconnected`] where the server cannot be reached or does not greet back, with the reason.
pub async fn connect(target: impl Into<Target>, options: ConnectOptions) -> ToolResult<Arc<RemoteExtension>> {
    let options = ConnectOptions { oauth: options.oauth.as_ref().map(OAuth::for_connection), ..options };
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
    let listing =
        within(limit, connection.options.clock(), settle(&connection)).await.unwrap_or_else(|| {
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
            let mut site =
                Site::new(&url, options).map_err(|error| unreachable_server("the server", &error))?;
            let mut lifecycle = options.lifecycle;
            loop {
                let transport = Tap::new(site.transport(), routes);
                let failed = match greet(side(), transport, lifecycle, options).await {
                    Ok(service) => {
                        site.greeted();
                        return Ok(Opened { service, child: None, remote: true });
                    }
                    Err(failed) => failed,
                };
                // A server may answer the newer greeting with a result that says nothing.
                if failed.is_confused && lifecycle == Lifecycle::Auto {
                    lifecycle = Lifecycle::Initialize;
                } else if !site.log_in().await.map_err(|error| unreachable_server(&site.shown(), &error))? {
                    return Err(unreachable_server(&site.shown(), &failed.reason));
                }
            }
        }
    }
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
    /// The answer was to the other way of greeting, or to none.
    is_confused: bool,
}

impl Failed {
    fn into_error(self) -> ToolError {
        unreachable_server(&self.name, &self.reason)
    }
}

fn greet<T>(
    side: ClientSide,
    transport: Tap<T>,
    lifecycle: Lifecycle,
    options: &ConnectOptions,
) -> BoxFuture<'static, Result<Service, Failed>>
where
    T: Transport<RoleClient> + 'static,
{
    let name = options.name.clone().unwrap_or_else(|| "the server".to_owned());
    let limit = options.handshake_timeout;
    Box::pin(async move {
        let greeting = side.serve_with_lifecycle(transport, mode(lifecycle));
        match tokio::time::timeout(limit, greeting).await {
            Ok(Ok(service)) => Ok(service),
            Ok(Err(error)) => {
                let is_confused = is_confused(&error);
                Err(Failed { name, reason: Reason(&error).to_string(), is_confused })
            }
            Err(_) => {
                let reason = format!("it did not answer within {limit:?}");
                Err(Failed { name, reason, is_confused: false })
            }
        }
    })
}

fn is_confused(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::ConflictInitResponseId(..)
        | ClientInitializeError::UncorrelatedErrorResponse { .. }
        | ClientInitializeError::ExpectedInitResult(_) => true,
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
        && let Err(error) = connection::set_level(connection, level).await
    {
        tracing::debug!(%error, "the server does not set its log level");
    }
}
