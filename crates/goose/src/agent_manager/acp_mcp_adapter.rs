//! External agents of a manager: the connectors of the program, and a connection for each agent of a session.
//! The protocols are in the connectors.

use std::{path::PathBuf, sync::Arc};

use parking_lot::Mutex;

use super::AgentManager;
pub use crate::agents::external_agent::{
    ActionEffect, AgentAction, AgentConnector, AgentEnd, AgentError, AgentHost, CANCEL_GRACE, COOL_DOWN,
    ConnectRequest, ConnectedAgent, ExternalAgent, MAX_ACTION_FILES, MAX_ANSWER_BYTES, MAX_FAILURES,
    MAX_FILE_BYTES, Mentions, SILENCE_LIMIT, START_TIMEOUT, TASK_LIMIT,
};
use crate::{
    agents::{connection::AgentConnection, external_agent::CircuitBreaker, manifest::AgentManifest},
    config::{ConfigError, ExtensionConfig},
    services::BindingContext,
};

/// Connectors of a program, and the health of the agents that they reach.
#[derive(Clone, Default)]
pub(super) struct Connectors {
    connectors: Vec<Arc<dyn AgentConnector>>,
    breakers: Arc<Mutex<std::collections::BTreeMap<String, Arc<CircuitBreaker>>>>,
}

impl AgentManager {
    /// Adds a connector for external agents.
    #[must_use]
    pub fn with_connector(mut self, connector: Arc<dyn AgentConnector>) -> Self {
        self.connectors.connectors.push(connector);
        self
    }

    /// Returns an external agent for a session in a folder, with services that it connects to by itself.
    /// Nothing is started before its first task. Returns `None` for an agent without a connection, which
    /// goose runs itself.
    pub(super) fn connect_agent(
        &self,
        manifest: &AgentManifest,
        working_dir: PathBuf,
        services: &[ExtensionConfig],
    ) -> Option<Arc<ExternalAgent>> {
        let connection = manifest.connection.clone()?;
        let name = manifest.name.clone();
        let connectors = &self.connectors;
        let connector = connectors.connectors.iter().find(|it| it.speaks(connection.kind)).cloned();
        let breaker = Arc::clone(connectors.breakers.lock().entry(name.clone()).or_default());
        let context = self.context(&working_dir);
        let request = request(&name, connection, working_dir, &context, services);
        let request = request.map_err(|error| format!("The agent `{name}` cannot be used: {error}."));
        Some(Arc::new(ExternalAgent::new(name, connector, request, breaker)))
    }
}

fn request(
    name: &str,
    connection: AgentConnection,
    working_dir: PathBuf,
    context: &BindingContext,
    services: &[ExtensionConfig],
) -> Result<ConnectRequest, ConfigError> {
    let resolved = connection.as_extension(name)?.resolve(&*context.secrets)?;
    let environment = context.environment.for_child(&resolved).into_iter().collect();
    let mut reached = Vec::with_capacity(services.len());
    for service in services {
        service.check()?;
        reached.push((service.clone(), service.resolve(&*context.secrets)?));
    }
    Ok(ConnectRequest {
        name: name.to_owned(),
        connection,
        working_dir,
        resolved,
        environment,
        services: reached,
    })
}
