//! The connection that all snapshots of a remote extension share, with its subscriptions to resources: the server hears of
//! the first subscriber of a resource, and of the last one's leaving.

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
    notifications::{self, News},
    options::ConnectOptions,
    questions::Answers,
    routing::Routes,
    server_requests::ClientSide,
};

/// Time that a stopped server has to hear which calls were withdrawn.
const TELL_TIME: Duration = Duration::from_millis(500);

/// A connection, shared by all snapshots of its extension.
pub(super) struct Connection {
    pub(super) name: String,
    pub(super) options: ConnectOptions,
    pub(super) service: RunningService<RoleClient, ClientSide>,
    /// The kinds of questions that the server was told we can answer.
    pub(super) declared: Answers,
    /// The server, where it is a program of ours.
    pub(super) program: Option<Program>,
    pub(super) feed: ChangeFeed,
    /// The tools that could not be used when the list was last read.
    pub(super) dropped: Mutex<Vec<DroppedTool>>,
    pub(super) subscriptions: Subscriptions,
    pub(super) news: Arc<News>,
    pub(super) routes: Arc<Routes>,
    /// True if the server is reached by URL.
    pub(super) is_site: bool,
    /// Cancellations of requests on their way.
    pub(super) withdrawals: TaskTracker,
    /// Ends what goes on beside the calls.
    pub(super) ends: CancellationToken,
    /// Ends with the transport.
    pub(super) closed: CancellationToken,
}

impl Connection {
    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    pub(super) fn is_new_wire(&self) -> bool {
        self.peer().peer_info().is_some_and(|info| !info.protocol_version.has_initialize())
    }

    /// The list changes that the server says it reports.
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

    /// The answer to a request that is not a call, within the time that one may take.
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

    /// A failed request as the error of a tool. Where the server is gone, it says why.
    pub(super) async fn failed(&self, what: &str, error: ServiceError) -> ToolError {
        self.explain(failure(&self.name, what, error)).await
    }

    /// An error; a lost connection to a program with what the program had to say about it.
    pub(super) async fn explain(&self, error: ToolError) -> ToolError {
        match &self.program {
            Some(program) => program.explain(&self.name, error).await,
            None => error,
        }
    }

    /// Remembers what of a new list could not be used.
    pub(super) fn note_dropped(&self, dropped: &[DroppedTool]) {
        *self.dropped.lock() = dropped.to_vec();
    }

    /// Closes the connection and ends the program behind it, also while others hold the connection. When this returns,
    /// nothing of the program is left.
    pub(super) async fn stop(&self) {
        self.ends.cancel();
        self.withdrawals.close();
        if tokio::time::timeout(TELL_TIME, self.withdrawals.wait()).await.is_err() {
            tracing::debug!("a server was not told in time which calls were cancelled");
        }
        if let Some(program) = &self.program {
            program.is_stopping();
        }
        self.service.cancellation_token().cancel();
        end(self.program.as_ref(), &self.closed).await;
    }
}

/// Ends a program once its input is closed, or is not in time.
async fn end(program: Option<&Program>, closed: &CancellationToken) {
    if tokio::time::timeout(GRACE, closed.cancelled()).await.is_err() {
        tracing::debug!("a connection does not close in time");
    }
    if let Some(program) = program {
        program.stop().await;
    }
}

impl Drop for Connection {
    /// Closes the server's input; a program that does not end by itself then is ended, with all it started. Without a
    /// runtime that happens at once.
    fn drop(&mut self) {
        self.ends.cancel();
        if let (Some(program), Ok(runtime)) = (self.program.take(), tokio::runtime::Handle::try_current()) {
            let closed = self.closed.clone();
            runtime.spawn(async move { end(Some(&program), &closed).await });
        }
    }
}

#[expect(deprecated, reason = "MCP 2026-07-28 deprecates logging; all older peers use it")]
pub(super) async fn set_level(connection: &Connection, level: LogLevel) -> Result<(), ServiceError> {
    let params = rmcp::model::SetLevelRequestParams::new(level.into_mcp());
    connection.peer().set_level(params).await
}

/// The resources that are watched, each with the guard that ends its stream of news on the 2026-07-28 wire.
pub(super) type Subscriptions = goose_extension::Subscriptions<DropGuard>;

/// Adds a subscriber.
pub(super) async fn add_subscriber(connection: &Connection, uri: &str) -> ToolResult<()> {
    let begin = async {
        let stream = connection.ends.child_token();
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

/// Removes a subscriber.
pub(super) async fn remove_subscriber(connection: &Connection, uri: &str) -> ToolResult<()> {
    let end = async { if connection.is_new_wire() { Ok(()) } else { unsubscribe(connection, uri).await } };
    connection.subscriptions.remove(uri, end).await
}

async fn open_stream(connection: &Connection, uri: &str, ends: CancellationToken) -> ToolResult<()> {
    let mut filter = SubscriptionFilter::new();
    filter.resource_subscriptions = Some(vec![uri.to_owned()]);
    let opening = notifications::Stream::open(connection.peer().clone(), filter);
    let stream = connection.bounded("subscriptions/listen", opening).await?;
    if !stream.watches(uri) {
        return Err(unknown_resource(uri));
    }
    let news = Arc::clone(&connection.news);
    tokio::spawn(async move { ends.run_until_cancelled(stream.run(news)).await });
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
