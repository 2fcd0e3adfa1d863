//! Connection that all snapshots of a remote extension share, with its subscriptions: the server is told
//! about the first subscriber of a resource, and about the last one that leaves.

use std::{sync::Arc, time::Duration};

use goose_extension::{ChangeFeed, LogLevel, ToolError, ToolResult, adapter::unknown_resource};
use parking_lot::Mutex;
use rmcp::{Peer, RoleClient, ServiceError, model::SubscriptionFilter, service::RunningService};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::{
    child_process::{GRACE, Program},
    clock::within,
    errors::failure,
    listing::DroppedTool,
    notifications::{self, Announcements},
    options::ConnectOptions,
    questions::AnswerKinds,
    routing::Routes,
    server_requests::ClientSide,
};

/// Time limit for sending cancellations to a server that is stopped.
const CANCELLATION_TIME: Duration = Duration::from_millis(500);

/// Connection to a server, shared by all snapshots of its extension.
pub(super) struct Connection {
    pub(super) name: String,
    pub(super) options: ConnectOptions,
    pub(super) service: RunningService<RoleClient, ClientSide>,
    /// Kinds of questions that the handshake declared.
    pub(super) declared: AnswerKinds,
    /// The server's process, if we started it.
    pub(super) program: Option<Program>,
    pub(super) feed: ChangeFeed,
    /// Unusable tools of the newest list.
    pub(super) dropped: Mutex<Vec<DroppedTool>>,
    pub(super) subscriptions: Subscriptions,
    pub(super) announcements: Arc<Announcements>,
    pub(super) routes: Arc<Routes>,
    /// True if the server is reached by URL.
    pub(super) is_http: bool,
    /// Cancellations that are being sent.
    pub(super) cancellations: TaskTracker,
    /// Cancelled to end the background tasks of the connection.
    pub(super) shutdown: CancellationToken,
}

impl Connection {
    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    pub(super) fn is_new_wire(&self) -> bool {
        self.peer().peer_info().is_some_and(|info| !info.protocol_version.has_initialize())
    }

    /// Returns the list changes that the server reports.
    pub(super) fn list_filter(&self) -> SubscriptionFilter {
        let mut filter = SubscriptionFilter::new();
        let Some(info) = self.peer().peer_info() else { return filter };
        let capabilities = &info.capabilities;
        filter.tools_list_changed = capabilities.tools.as_ref().and_then(|tools| tools.list_changed);
        filter.prompts_list_changed = capabilities.prompts.as_ref().and_then(|prompts| prompts.list_changed);
        filter.resources_list_changed =
            capabilities.resources.as_ref().and_then(|resources| resources.list_changed);
        filter
    }

    /// Waits for the response to a request other than a call, with a time limit.
    pub(super) async fn bounded<T>(
        &self,
        what: &str,
        request: impl Future<Output = Result<T, ServiceError>>,
    ) -> ToolResult<T> {
        let timeout = self.options.call_timeout.unwrap_or(self.options.handshake_timeout);
        let answer = within(timeout, self.options.clock(), request).await;
        let answer = answer.unwrap_or(Err(ServiceError::Timeout { timeout }));
        match answer {
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.failed(what, error).await),
        }
    }

    /// Converts a failed request to a tool error, with the reason if the server has ended.
    pub(super) async fn failed(&self, what: &str, error: ServiceError) -> ToolError {
        self.explain(failure(&self.name, what, error)).await
    }

    /// Adds the exit reason and last output of a program to a lost connection.
    pub(super) async fn explain(&self, error: ToolError) -> ToolError {
        match &self.program {
            Some(program) => program.explain(&self.name, error).await,
            None => error,
        }
    }

    /// Records the unusable tools of a new list.
    pub(super) fn note_dropped(&self, dropped: &[DroppedTool]) {
        *self.dropped.lock() = dropped.to_vec();
    }

    /// Closes the connection and ends its program, even if others hold the connection. No process of it is
    /// left when this returns.
    pub(super) async fn stop(&self) {
        self.shutdown.cancel();
        self.cancellations.close();
        if tokio::time::timeout(CANCELLATION_TIME, self.cancellations.wait()).await.is_err() {
            tracing::debug!("cancellations were not sent in time");
        }
        if let Some(program) = &self.program {
            program.mark_stopping();
        }
        self.service.cancellation_token().cancel();
        end_program(self.program.as_ref(), &self.routes.closed()).await;
    }
}

/// Ends a program after its input was closed, or after a time limit.
async fn end_program(program: Option<&Program>, closed: &CancellationToken) {
    if tokio::time::timeout(GRACE, closed.cancelled()).await.is_err() {
        tracing::debug!("a connection did not close in time");
    }
    if let Some(program) = program {
        program.stop().await;
    }
}

impl Drop for Connection {
    /// Closes the server's input. A program that does not exit then is ended, with its children; at once if
    /// there is no runtime to wait in.
    fn drop(&mut self) {
        self.shutdown.cancel();
        if let (Some(program), Ok(runtime)) = (self.program.take(), tokio::runtime::Handle::try_current()) {
            let closed = self.routes.closed();
            runtime.spawn(async move { end_program(Some(&program), &closed).await });
        }
    }
}

#[expect(deprecated, reason = "MCP 2026-07-28 deprecates logging; all older peers use it")]
pub(super) async fn set_level(connection: &Connection, level: LogLevel) -> Result<(), ServiceError> {
    let params = rmcp::model::SetLevelRequestParams::new(level.into_mcp());
    connection.peer().set_level(params).await
}

/// Watched resources. On the newer wire, each has a guard that ends its stream.
pub(super) type Subscriptions = goose_extension::Subscriptions<DropGuard>;

pub(super) async fn add_subscriber(connection: &Connection, uri: &str) -> ToolResult<()> {
    let begin = async {
        let stream = connection.shutdown.child_token();
        let guard = stream.clone().drop_guard();
        if connection.is_new_wire() {
            open_stream(connection, uri, stream).await?;
        } else {
            subscribe(connection, uri).await?;
        }
        Ok(guard)
    };
    connection.subscriptions.add(uri, begin).await
}

pub(super) async fn remove_subscriber(connection: &Connection, uri: &str) -> ToolResult<()> {
    let end = async { if connection.is_new_wire() { Ok(()) } else { unsubscribe(connection, uri).await } };
    connection.subscriptions.remove(uri, end).await
}

async fn open_stream(connection: &Connection, uri: &str, shutdown: CancellationToken) -> ToolResult<()> {
    let mut filter = SubscriptionFilter::new();
    filter.resource_subscriptions = Some(vec![uri.to_owned()]);
    let opening = notifications::Stream::open(connection.peer().clone(), filter);
    let stream = connection.bounded("subscriptions/listen", opening).await?;
    if !stream.watches(uri) {
        return Err(unknown_resource(uri));
    }
    let announcements = Arc::clone(&connection.announcements);
    tokio::spawn(async move { shutdown.run_until_cancelled(stream.run(announcements)).await });
    Ok(())
}

#[expect(deprecated, reason = "the older wire subscribes this way")]
async fn subscribe(connection: &Connection, uri: &str) -> ToolResult<()> {
    let params = rmcp::model::SubscribeRequestParams::new(uri);
    connection.bounded("resources/subscribe", connection.peer().subscribe(params)).await
}

#[expect(deprecated, reason = "the older wire unsubscribes this way")]
async fn unsubscribe(connection: &Connection, uri: &str) -> ToolResult<()> {
    let params = rmcp::model::UnsubscribeRequestParams::new(uri);
    connection.bounded("resources/unsubscribe", connection.peer().unsubscribe(params)).await
}
