//! [`connect`]: opens a connection and performs the handshake.

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
    child_process::{Program, StartedProgram},
    clock::within,
    connection::{self, Connection, Subscriptions},
    errors::{HandshakeError, refused, unreachable_server},
    http::HttpTarget,
    listing::{Listing, ToolValidation},
    notifications::{self, Announcements},
    options::{ConnectOptions, Lifecycle, Target},
    questions::AnswerKinds,
    refresh,
    remote::RemoteExtension,
    routing::{Routes, RoutingTransport},
    server_requests::ClientSide,
};
use crate::{BoxTransport, on_drop::OnDrop};

/// Characters of a server's reported name that are used.
const MAX_NAME_CHARS: usize = 64;

/// Connects to an MCP server. The connection ends when the last reference to the extension is dropped.
///
/// # Errors
///
/// [`ToolError::Disconnected`](goose_extension::ToolError::Disconnected) with the reason, if the server
/// cannot be reached or the handshake fails.
pub async fn connect(target: impl Into<Target>, options: ConnectOptions) -> ToolResult<Arc<RemoteExtension>> {
    let options = ConnectOptions { oauth: options.oauth.as_ref().map(OAuth::for_connection), ..options };
    let announcements = Arc::new(Announcements::default());
    let routes = Arc::new(Routes::new(options.surroundings.clone()));
    // The older wire declares capabilities once, before any caller is known, so all are declared. The newer
    // wire declares them with each call.
    let declared =
        if options.lifecycle == Lifecycle::Discover { AnswerKinds::default() } else { AnswerKinds::ALL };
    let side = || ClientSide {
        implementation: Implementation::new("goose", env!("CARGO_PKG_VERSION")),
        capabilities: declared.capabilities(),
        routes: Arc::clone(&routes),
        announcements: Arc::clone(&announcements),
    };
    let OpenedConnection { service, program, remote, lifecycle } =
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
        announcements,
        routes,
        is_http: remote,
        cancellations: TaskTracker::new(),
        shutdown: CancellationToken::new(),
    });
    // There is no connection yet that would wait for the program's end.
    let kill_on_drop = OnDrop::new(|| connection.program.iter().for_each(Program::kill));
    let limit = connection.options.handshake_timeout;
    let listing =
        within(limit, connection.options.clock(), complete(&connection)).await.unwrap_or_else(|| {
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

/// Completes the connection after the handshake. Opens the change stream before it reads the list, so that no
/// change is missed.
async fn complete(connection: &Arc<Connection>) -> ToolResult<Listing> {
    let (announcements, shutdown) = (Arc::clone(&connection.announcements), connection.shutdown.clone());
    tokio::spawn(refresh::follow(Arc::downgrade(connection), Arc::clone(&announcements), shutdown.clone()));
    let filter = connection.list_filter();
    if !connection.is_new_wire() {
        set_log_level(connection).await;
    } else if filter != SubscriptionFilter::default() {
        match notifications::Stream::open(connection.peer().clone(), filter).await {
            Ok(stream) => {
                tokio::spawn(async move { shutdown.run_until_cancelled(stream.run(announcements)).await });
            }
            Err(error) => tracing::debug!(%error, "the server does not report changes"),
        }
    }
    Listing::read(connection.peer(), &connection.name, ToolValidation::new(&connection.options)).await
}

type Service = RunningService<RoleClient, ClientSide>;

struct OpenedConnection {
    service: Service,
    program: Option<Program>,
    remote: bool,
    /// Handshake that succeeded.
    lifecycle: Lifecycle,
}

async fn open(
    target: Target,
    side: impl Fn() -> ClientSide,
    routes: &Arc<Routes>,
    options: &ConnectOptions,
) -> ToolResult<OpenedConnection> {
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
) -> ToolResult<OpenedConnection>
where
    T: Transport<RoleClient> + 'static,
{
    let lifecycle = options.lifecycle;
    let service = handshake(side, transport, lifecycle, options).await.map_err(HandshakeError::into_error)?;
    Ok(OpenedConnection { service, program: None, remote: false, lifecycle })
}

/// Starts a program and performs the handshake.
async fn open_program(
    mut spec: ProcessSpec,
    side: impl Fn() -> ClientSide,
    routes: &Arc<Routes>,
    options: &ConnectOptions,
) -> ToolResult<OpenedConnection> {
    let mut lifecycle = options.lifecycle;
    loop {
        let StartedProgram { program, input, output } = Program::start(&mut spec)?;
        let transport = RoutingTransport::lines(output, input, routes);
        match handshake(side(), transport, lifecycle, options).await {
            Ok(service) => {
                // The next start does not need the probe.
                if lifecycle == Lifecycle::Auto && routes.has_given_up_probe() {
                    lifecycle = Lifecycle::Initialize;
                }
                return Ok(OpenedConnection { service, program: Some(program), remote: false, lifecycle });
            }
            Err(failed) => match failed.other.filter(|_| lifecycle == Lifecycle::Auto) {
                // The handshakes have been mixed up: a fresh process gets only the one that it takes.
                Some(other) => {
                    program.stop().await;
                    lifecycle = other;
                }
                None => {
                    let error = program.explain_handshake(&failed, options).await;
                    program.stop().await;
                    return Err(error);
                }
            },
        }
    }
}

/// Performs the handshake with a server by URL, again after a login or with one handshake only.
async fn open_http(
    url: &str,
    side: impl Fn() -> ClientSide,
    routes: &Arc<Routes>,
    options: &ConnectOptions,
) -> ToolResult<OpenedConnection> {
    let mut target =
        HttpTarget::new(url, options).map_err(|error| unreachable_server("the server", &error))?;
    let mut lifecycle = options.lifecycle;
    loop {
        let transport = RoutingTransport::new(target.transport(), routes);
        let failed = match handshake(side(), transport, lifecycle, options).await {
            Ok(service) => {
                target.end_handshake();
                return Ok(OpenedConnection { service, program: None, remote: true, lifecycle });
            }
            Err(failed) => failed,
        };
        // A server may answer `server/discover` with a result of another kind.
        if let Some(other) = failed.other.filter(|_| lifecycle == Lifecycle::Auto) {
            lifecycle = other;
        } else if !target.log_in().await.map_err(|error| refused(&target.shown(), &error))? {
            return Err(unreachable_server(&target.shown(), &failed.reason));
        }
    }
}

async fn handshake<T>(
    side: ClientSide,
    transport: RoutingTransport<T>,
    lifecycle: Lifecycle,
    options: &ConnectOptions,
) -> Result<Service, HandshakeError>
where
    T: Transport<RoleClient> + 'static,
{
    let name = options.name.clone().unwrap_or_else(|| "the server".to_owned());
    let transport = BoxTransport::new(transport);
    let transport = match &options.interceptor {
        Some(interceptor) => interceptor.wrap(transport),
        None => transport,
    };
    // Boxed: otherwise the compiler cannot prove that the future is `Send`.
    let serving = side.serve_with_lifecycle(transport, mode(lifecycle)).boxed();
    match tokio::time::timeout(options.handshake_timeout, serving).await {
        Ok(Ok(service)) => Ok(service),
        Ok(Err(error)) => Err(HandshakeError::new(name, &error)),
        Err(_) => Err(HandshakeError::late(name, options.handshake_timeout)),
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

/// Returns the name that the server reports, without control characters.
fn server_name(service: &Service) -> Option<String> {
    let info = service.peer_info()?;
    let letters = info.server_info.as_ref()?.name.chars().take(MAX_NAME_CHARS);
    let name: String = letters.map(|letter| if letter.is_control() { '_' } else { letter }).collect();
    Some(name).filter(|name| !name.trim().is_empty())
}

/// Sets the log level on the older wire, once. The newer wire sets it with each request.
async fn set_log_level(connection: &Connection) {
    if let Some(level) = connection.options.log_level
        && let Err(error) = connection::set_level(connection, level).await
    {
        tracing::debug!(%error, "the server does not set its log level");
    }
}
