//! A connection to a server: what all snapshots of its extension share, and how it ends.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use goose_extension::{ChangeFeed, LogLevel, ToolError, ToolResult};
use rmcp::{Peer, RoleClient, ServiceError, model::SubscriptionFilter, service::RunningService};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    answers::Answers,
    auth::within,
    handler::ClientSide,
    news::News,
    options::ConnectOptions,
    program::{GRACE, Program},
    request::failure,
    resource_subscriptions::Subscriptions,
    routes::Routes,
    vetting::DroppedTool,
};

/// How long a server that is stopped may take to hear which calls were withdrawn.
const TELL_TIME: Duration = Duration::from_millis(500);

/// A connection, shared by all snapshots of its extension.
pub(super) struct Connection {
    pub(super) name: String,
    pub(super) options: ConnectOptions,
    pub(super) service: RunningService<RoleClient, ClientSide>,
    /// What the server was told at the start that we can answer.
    pub(super) declared: Answers,
    /// Where the server is a program of ours.
    pub(super) program: Option<Program>,
    pub(super) feed: ChangeFeed,
    /// The tools that could not be used when the list was last read.
    pub(super) dropped: Mutex<Vec<DroppedTool>>,
    pub(super) subscriptions: Subscriptions,
    pub(super) news: Arc<News>,
    pub(super) routes: Arc<Routes>,
    /// Whether the server is reached by URL.
    pub(super) is_site: bool,
    /// The word that nobody waits for some request any more, on its way.
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

    /// The answer to a request that is no call, within the time that one may take.
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
        *self.dropped.lock().unwrap_or_else(PoisonError::into_inner) = dropped.to_vec();
    }

    /// Closes the connection and ends the program behind it, also while others hold the connection. When this returns,
    /// nothing of the program is left.
    pub(super) async fn stop(&self) {
        self.ends.cancel();
        self.withdrawals.close();
        if tokio::time::timeout(TELL_TIME, self.withdrawals.wait()).await.is_err() {
            tracing::debug!("a server was not told in time that nobody waits for it");
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
