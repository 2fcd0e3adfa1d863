//! [`Connector`]: the way to external agents.

use std::sync::Arc;

use async_trait::async_trait;
use goose::{
    agent_manager::acp_mcp_adapter::{AgentConnector, AgentError, AgentHost, ConnectRequest, ConnectedAgent},
    agents::connection::ConnectionKind,
};

use crate::{agent_client, agent_communication};

/// Reaches agents that are programs (`type: acp`) and agents on servers (`type: acp_http`).
#[derive(Debug, Clone, Copy, Default)]
pub struct Connector;

impl Connector {
    /// A connector, as it is registered.
    pub fn shared() -> Arc<dyn AgentConnector> {
        Arc::new(Self)
    }
}

#[async_trait]
impl AgentConnector for Connector {
    fn speaks(&self, _: ConnectionKind) -> bool {
        true
    }

    async fn connect(
        &self,
        request: &ConnectRequest,
        host: &dyn AgentHost,
    ) -> Result<Arc<dyn ConnectedAgent>, AgentError> {
        match request.connection.kind {
            ConnectionKind::Acp => agent_client::connect(request, host).await,
            ConnectionKind::AcpHttp => agent_communication::connect(request).await,
        }
    }
}
