//! [`connect`]: reaching a server and greeting it.

use std::sync::Arc;

use futures::FutureExt as _;
use goose_extension::{ChangeFeed, ToolResult};
use goose_process::ProcessSpec;
use parking_lot::Mutex;
use rmcp::{
    RoleClient,
    model::{Implementation, ProtocolVersion, SubscriptionFilter},
    service::{ClientLifecycleMode, ClientServiceExt as _, RunningService},
    transport::Transport,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    auth::OAuth,
    child_process::{Program, Started},
    clock::within,
    connection::{self, Connection, Subscriptions},
    errors::{GreetingError, refused, unreachable_server},
    http::HttpTarget,
    listing::{Listing, ToolValidation},
    notifications::{self, News},
    options::{ConnectOptions, Lifecycle, Target},
    questions::Answers,
    refresh,
    remote::RemoteExtension,
    routing::{Routes, RoutingTransport},
    server_requests::ClientSide,
};
use crate::BoxTransport;

/// Characters of a server's own name that are used.
const MAX_NAME_CHARS: usize = 64;

/// Makes any MCP server an extension. It ends when the last reference to the extension is dropped.
///
/// # Errors
///
/// [`ToolError::Disconnected`](goose_extension::ToolError::Disconnected) where the server cannot be reached or does not greet back, with the reason.
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
    let Opened { service, program, remote, lifecycle, closed } =
        open(target.into(), side, &routes, &options).await?;
    let name = options.name.clone().or_else(|| server_name(&service)).unwrap_or_else(|| "server".to_owned());
    let connection = Arc::new(Connection {
        name,
        options: ConnectOptions { local: options.local && !remote, lifecycle, ..options },
        service,
        declared,
        program,
        feed: ChangeFeed::new(),
        dropped: Mutex::default(),
        subscriptions: Subscriptions::default(),
        news,
        routes,
        is_site: remote,
        withdrawals: TaskTracker::new(),
        ends: CancellationToken::new(),
        closed,
    });
    let kill_on_drop = KillOnDrop(Some(&connection));
    let limit = connection.options.handshake_timeout;
    let listing = within(limit, connection.options.clock(), settle(&connection)).await.unwrap_or_else(|| {
        Err(unreachable_server(&connection.name, &format!("it did not list its tools within {limit:?}")))
    });
    kill_on_drop.disarm();
    match listing {
        Ok(listing) => {
            connection.note_dropped(&listing.dropped);
            connection.options.connected();
            Ok(Arc::new(RemoteExtension { connection, listing: Arc::new(listing) }))
        }
        Err(error) => {
            let error = connection.explain(error).await;
            connection.stop().await;
            Err(error)
        }
    }
}

/// Kills the program of a connection whose `connect` was dropped before it was handed out: at once, because then nothing is
/// left that could wait for its end.
struct KillOnDrop<'a>(Option<&'a Connection>);

impl KillOnDrop<'_> {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for KillOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(program) = self.0.and_then(|connection| connection.program.as_ref()) {
            program.kill();
        }
    }
}

/// Does what follows the greeting: opens the stream of news first, so that no change is missed, then reads the list.
async fn settle(connection: &Arc<Connection>) -> ToolResult<Listing> {
    let (news, ends) = (Arc::clone(&connection.news), connection.ends.clone());
    tokio::spawn(refresh::follow(Arc::downgrade(connection), Arc::clone(&news), ends.clone()));
    let filter = connection.list_filter();
    if !connection.is_new_wire() {
        settle_log_level(connection).await;
    } else if filter != SubscriptionFilter::default() {
        match notifications::Stream::open(connection.peer().clone(), filter).await {
            Ok(stream) => {
                tokio::spawn(async move { ends.run_until_cancelled(stream.run(news)).await });
            }
            Err(error) => tracing::debug!(%error, "the server does not report changes"),
        }
    }
    Listing::read(connection.peer(), &connection.name, ToolValidation::new(&connection.options)).await
}

type Service = RunningService<RoleClient, ClientSide>;

struct Opened {
    service: Service,
    program: Option<Program>,
    remote: bool,
    /// The greeting that worked.
    lifecycle: Lifecycle,
    /// Ends with the transport.
    closed: CancellationToken,
}

async fn open(
    target: Target,
    side: impl Fn() -> ClientSide,
    routes: &Arc<Routes>,
    options: &ConnectOptions,
) -> ToolResult<Opened> {
    let replaced = options.interceptor.as_ref().map(|interceptor| interceptor.replace(&target));
    match replaced.transpose()?.flatten().map_or(target, Target::Transport) {
        Target::Transport(transport) => {
            open_transport(RoutingTransport::new(transport, routes), side(), options).await
        }
        Target::Streams(reader, writer) => {
            open_transport(RoutingTransport::lines(reader, writer, routes), side(), options).await
        }
        Target::Program(spec) => open_program(spec, side, routes, options).await,
        Target::Http(url) => open_http(&url, side, routes, options).await,
    }
}

async fn open_transport<T>(
    transport: RoutingTransport<T>,
    side: ClientSide,
    options: &ConnectOptions,
) -> ToolResult<Opened>
where
    T: Transport<RoleClient> + 'static,
{
    let (lifecycle, closed) = (options.lifecycle, transport.closed());
    let service = greet(side, transport, lifecycle, options).await.map_err(GreetingError::into_error)?;
    Ok(Opened { service, program: None, remote: false, lifecycle, closed })
}

/// Starts a program and greets it.
async fn open_program(
    mut spec: ProcessSpec,
    side: impl Fn() -> ClientSide,
    routes: &Arc<Routes>,
    options: &ConnectOptions,
) -> ToolResult<Opened> {
    let mut lifecycle = options.lifecycle;
    loop {
        let Started { program, input, output } = Program::start(&mut spec)?;
        let transport = RoutingTransport::lines(output, input, routes);
        let closed = transport.closed();
        match greet(side(), transport, lifecycle, options).await {
            Ok(service) => {
                return Ok(Opened { service, program: Some(program), remote: false, lifecycle, closed });
            }
            // A server that is slow to start answers the probe when we already speak the older way, and
            // the two are confused: begin again with a fresh process, in the older way only.
            Err(failed) if failed.is_confused && lifecycle == Lifecycle::Auto => {
                program.stop().await;
                lifecycle = Lifecycle::Initialize;
            }
            Err(failed) => {
                let error = program.explain_greeting(&failed, options).await;
                program.stop().await;
                return Err(error);
            }
        }
    }
}

/// Greets a server by URL, as often as it takes: after a login, or in the older way.
async fn open_http(
    url: &str,
    side: impl Fn() -> ClientSide,
    routes: &Arc<Routes>,
    options: &ConnectOptions,
) -> ToolResult<Opened> {
    let mut target =
        HttpTarget::new(url, options).map_err(|error| unreachable_server("the server", &error))?;
    let mut lifecycle = options.lifecycle;
    loop {
        let transport = RoutingTransport::new(target.transport(), routes);
        let closed = transport.closed();
        let failed = match greet(side(), transport, lifecycle, options).await {
            Ok(service) => {
                target.greeted();
                return Ok(Opened { service, program: None, remote: true, lifecycle, closed });
            }
            Err(failed) => failed,
        };
        // A server may answer the newer greeting with a result that says nothing.
        if failed.is_confused && lifecycle == Lifecycle::Auto {
            lifecycle = Lifecycle::Initialize;
        } else if !target.log_in().await.map_err(|error| refused(&target.shown(), &error))? {
            return Err(unreachable_server(&target.shown(), &failed.reason));
        }
    }
}

async fn greet<T>(
    side: ClientSide,
    transport: RoutingTransport<T>,
    lifecycle: Lifecycle,
    options: &ConnectOptions,
) -> Result<Service, GreetingError>
where
    T: Transport<RoleClient> + 'static,
{
    let name = options.name.clone().unwrap_or_else(|| "the server".to_owned());
    let transport = BoxTransport::new(transport);
    let transport = match &options.interceptor {
        Some(interceptor) => interceptor.wrap(transport),
        None => transport,
    };
    // Boxed, or the compiler cannot prove that the whole future can move between threads.
    let greeting = side.serve_with_lifecycle(transport, mode(lifecycle)).boxed();
    match tokio::time::timeout(options.handshake_timeout, greeting).await {
        Ok(Ok(service)) => Ok(service),
        Ok(Err(error)) => Err(GreetingError::new(name, &error)),
        Err(_) => Err(GreetingError::late(name, options.handshake_timeout)),
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

/// Returns the server's own name, cleaned.
fn server_name(service: &Service) -> Option<String> {
    let info = service.peer_info()?;
    let letters = info.server_info.as_ref()?.name.chars().take(MAX_NAME_CHARS);
    let name: String = letters.map(|letter| if letter.is_control() { '_' } else { letter }).collect();
    Some(name).filter(|name| !name.trim().is_empty())
}

/// On the older wire the level is set once; on the newer it goes with each request.
async fn settle_log_level(connection: &Connection) {
    if let Some(level) = connection.options.log_level
        && let Err(error) = connection::set_level(connection, level).await
    {
        tracing::debug!(%error, "the server does not set its log level");
    }
}
