//! A connection to a server: what all snapshots of its extension share, and how it ends.

use std::{sync::Arc, time::Duration};

use rmcp::{Peer, RoleClient, ServiceError, model::SubscriptionFilter, service::RunningService};
use tokio::process::Child;
use tokio_util::sync::CancellationToken;

use super::{
    auth::within,
    handler::ClientSide,
    news::{News, Watches},
    options::ConnectOptions,
    request::{Answers, failure},
    routes::Routes,
};
use crate::{changes::ChangeFeed, error::ToolResult, questions::LogLevel};

/// A connection, shared by all snapshots of its extension.
pub(super) struct Connection {
    pub(super) name: String,
    pub(super) options: ConnectOptions,
    pub(super) service: RunningService<RoleClient, ClientSide>,
    /// What the server was told at the start that we can answer.
    pub(super) declared: Answers,
    pub(super) child: Option<Child>,
    pub(super) feed: ChangeFeed,
    pub(super) watches: Watches,
    pub(super) news: Arc<News>,
    pub(super) routes: Arc<Routes>,
    pub(super) ends: CancellationToken,
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
        answer.map_err(|error| failure(&self.name, what, error))
    }
}

/// How long a server may take to end after its input was closed.
const GRACE: Duration = Duration::from_secs(2);

impl Drop for Connection {
    /// Closes the server's input; a child that does not end by itself then is killed.
    fn drop(&mut self) {
        self.ends.cancel();
        if let (Some(mut child), Ok(runtime)) = (self.child.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move {
                if tokio::time::timeout(GRACE, child.wait()).await.is_err()
                    && let Err(error) = child.kill().await
                {
                    tracing::warn!(%error, "a server could not be ended");
                }
            });
        }
    }
}

#[expect(deprecated, reason = "MCP 2026-07-28 deprecates logging; all older peers use it")]
pub(super) async fn set_level(connection: &Connection, level: LogLevel) -> Result<(), ServiceError> {
    let params = rmcp::model::SetLevelRequestParams::new(level.into_mcp());
    connection.peer().set_level(params).await
}
