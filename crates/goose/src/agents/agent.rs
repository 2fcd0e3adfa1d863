//! [`Agent`]: an agent in one of its modes, as one value that an open conversation can replace between two
//! replies.

use std::{error::Error as StdError, sync::Arc};

use async_trait::async_trait;
use goose_providers::RequestOptions;
use parking_lot::RwLock;
use thiserror::Error;

use super::{
    catalog::{AgentCatalog, UnknownAgent},
    extension_manager::{ExtensionManager, ManagerError},
    external_agent::ExternalAgent,
    manifest::{AgentManifest, AgentMode},
    service_binding::UnresolvedService,
    tool_index::ToolHandle,
    toolset::Toolset,
};
use goose_session::ChosenBy;

use crate::{config::ExtensionConfig, permission::Permissions};

/// An agent in one of its modes, with its extensions and the tools that the mode may use.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Manifest of the agent.
    pub manifest: Arc<AgentManifest>,
    /// Active mode.
    pub mode: AgentMode,
    /// Extensions that the mode can use.
    pub extensions: Arc<ExtensionManager>,
    /// Tools that the mode may use.
    pub toolset: Arc<Toolset>,
    /// Additional instructions for the model.
    pub instructions: Vec<String>,
    /// Options for the model. The conversation adds its id.
    pub options: RequestOptions,
    /// Dependencies of the mode that were not found.
    pub unresolved: Vec<UnresolvedService>,
    /// Connection to the agent if it is an external one, which does the work instead of the model.
    pub external: Option<Arc<ExternalAgent>>,
    /// Reason why the session has this agent.
    pub chosen_by: ChosenBy,
}

impl Agent {
    /// Releases the extensions, and closes the connection of an external agent.
    pub(crate) async fn close(&self) {
        if let Some(external) = &self.external {
            external.close().await;
        }
        self.extensions.close().await;
    }

    /// Returns notices about missing dependencies that the user can do something about.
    pub(crate) fn notices(&self) -> impl Iterator<Item = String> {
        let worth = self.unresolved.iter().filter(|unresolved| unresolved.is_worth_telling());
        worth.map(|unresolved| format!("{} works without one of its services: {unresolved}.", self.id()))
    }

    /// Returns true if the mode has the session's task list.
    pub(crate) fn has_task_list(&self) -> bool {
        self.toolset.has(ToolHandle::keeps_task_list)
    }

    /// Returns the name with the mode, such as `goose-agent/assistant`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.manifest.name, self.mode.slug)
    }

    /// Creates an agent in a mode, under the given permissions.
    pub fn new(
        manifest: Arc<AgentManifest>,
        mode: AgentMode,
        extensions: Arc<ExtensionManager>,
        permissions: &Arc<Permissions>,
    ) -> Self {
        let toolset = Toolset::compute(&mode, &extensions).with_permissions(Arc::clone(permissions));
        Self {
            manifest,
            mode,
            extensions,
            toolset: Arc::new(toolset),
            instructions: Vec::new(),
            options: RequestOptions::default(),
            unresolved: Vec::new(),
            chosen_by: ChosenBy::default(),
            external: None,
        }
    }
}

/// The current agent of a conversation. It can be replaced at any time; running calls finish with the agent
/// that they started with.
#[derive(Clone)]
pub(crate) struct ActiveAgent(Arc<RwLock<Arc<Agent>>>);

impl ActiveAgent {
    pub(crate) fn new(agent: Agent) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(agent))))
    }

    pub(crate) fn get(&self) -> Arc<Agent> {
        Arc::clone(&self.0.read())
    }

    /// Replaces the agent, and returns the previous one.
    pub(crate) fn replace(&self, agent: Arc<Agent>) -> Arc<Agent> {
        let mut now = self.0.write();
        std::mem::replace(&mut now, agent)
    }

    /// Replaces the agent if it is still `present`. Returns false otherwise.
    pub(crate) fn replace_if(&self, present: &Arc<Agent>, agent: &Arc<Agent>) -> bool {
        let mut now = self.0.write();
        let is_present = Arc::ptr_eq(&now, present);
        if is_present {
            *now = Arc::clone(agent);
        }
        is_present
    }
}

/// Error for an agent whose services cannot be bound.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct AgentSetupError(Box<dyn StdError + Send + Sync>);

impl AgentSetupError {
    pub(crate) fn new(error: impl StdError + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }
}

/// Error for a session that cannot change its agent.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SwitchAgentError {
    /// No agent or mode has the name.
    #[error(transparent)]
    Unknown(#[from] UnknownAgent),
    /// The services of the agent cannot be bound.
    #[error(transparent)]
    Setup(#[from] AgentSetupError),
}

/// Source of other agents for an open conversation.
#[async_trait]
pub(crate) trait AgentSource: Send + Sync {
    /// Returns all agents that can be chosen.
    fn catalog(&self) -> Arc<AgentCatalog>;

    /// Creates an agent in a mode, with its services bound.
    async fn make(&self, manifest: Arc<AgentManifest>, mode: AgentMode) -> Result<Agent, AgentSetupError>;

    /// Enables an extension for the rest of the session. If the agent's mode cannot use it, returns a text
    /// that names the modes that can.
    fn enable(&self, agent: &Agent, config: &ExtensionConfig) -> Result<Option<String>, ManagerError>;

    /// Disables an extension for the rest of the session.
    async fn disable(&self, agent: &Agent, name: &str) -> Result<(), ManagerError>;

    /// Returns how often extensions of the session were enabled or disabled.
    fn version(&self) -> u64;

    /// Adds the extensions that were enabled in the session since the agent was made, and removes the
    /// disabled ones.
    async fn update(&self, agent: &Agent) -> Result<(), AgentSetupError>;
}
