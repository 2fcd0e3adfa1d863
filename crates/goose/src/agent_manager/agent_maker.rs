//! [`AgentMaker`]: makes the agents of one conversation, the first one and those that take its place.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use goose_extension::{ExchangeView, Notifier};
use goose_providers::RequestOptions;
use tokio_util::sync::CancellationToken;

use super::{
    AgentManager, OpenError,
    host_extensions::{HostExtension, add_host_extensions, without_host},
    service_broker::ServiceBroker,
};
use crate::{
    agents::{
        agent::{Agent, AgentSource},
        catalog::AgentCatalog,
        extension_manager::ExtensionManager,
        manifest::{AgentManifest, AgentMode},
        service_binding::ServiceBindings,
    },
    config::{ExtensionConfig, Profile},
    permission::Permissions,
    platform::{self, PlatformContext},
    session::Session,
};

/// The parts that all agents of a conversation share.
pub(super) struct AgentMaker {
    pub(super) manager: AgentManager,
    pub(super) profile: Profile,
    pub(super) extensions: Vec<ExtensionConfig>,
    pub(super) host_extensions: Vec<HostExtension>,
    pub(super) instructions: Vec<String>,
    pub(super) permissions: Arc<Permissions>,
    pub(super) notifier: Arc<dyn Notifier>,
    pub(super) view: ExchangeView,
    pub(super) session: Session,
    pub(super) working_dir: PathBuf,
}

impl AgentMaker {
    /// Makes an agent: binds the services that its mode can use, and starts those whose tools are not known.
    pub(super) async fn agent(
        &self,
        manifest: Arc<AgentManifest>,
        mode: AgentMode,
    ) -> Result<Agent, OpenError> {
        let ServiceBindings { services, platform, unresolved } = self.bindings(&mode)?;
        let options = self.manager.manager_options(&self.working_dir);
        let extensions = ExtensionManager::with_options(services, CancellationToken::new(), options).await?;
        let extensions = Arc::new(extensions);
        let (notifier, view) = (Arc::clone(&self.notifier), self.view.clone());
        add_host_extensions(&extensions, &self.profile, &self.host_extensions, notifier, view).await?;
        let mut agent = Agent::new(manifest, mode, Arc::clone(&extensions), &self.permissions);
        let context = PlatformContext { session: &self.session, store: self.manager.store() };
        for builtin in platform {
            if let Some(extension) = platform::build(builtin.name, &context) {
                extensions.add_extension(extension)?;
            }
        }
        let own = [&agent.manifest.instructions, &agent.mode.instructions];
        let said = self.profile.instructions.iter().chain(&self.instructions);
        agent.instructions = own.into_iter().chain(said).filter(|text| !text.is_empty()).cloned().collect();
        agent.options = RequestOptions {
            temperature: agent.mode.temperature.or(self.profile.temperature),
            max_tokens: self.profile.max_tokens,
            effort: self.profile.effort,
            ..RequestOptions::default()
        };
        agent.unresolved = unresolved;
        Ok(agent)
    }

    fn bindings(&self, mode: &AgentMode) -> Result<ServiceBindings, OpenError> {
        let used = self.profile.extensions.iter().filter(|extension| mode.can_use(&extension.name, true));
        let required: Vec<&str> =
            used.flat_map(|extension| extension.requires.values()).map(String::as_str).collect();
        let host: Vec<&str> = self.host_extensions.iter().map(HostExtension::name).collect();
        let broker = ServiceBroker {
            settings: self.manager.settings(),
            profile: &without_host(&self.profile, &self.host_extensions),
            given: &self.extensions,
            host: &host,
            required: &required,
        };
        Ok(broker.resolve(mode)?)
    }
}

#[async_trait]
impl AgentSource for AgentMaker {
    fn catalog(&self) -> AgentCatalog {
        AgentCatalog::load(self.manager.settings().paths(), &self.working_dir)
    }

    async fn make(&self, manifest: Arc<AgentManifest>, mode: AgentMode) -> Result<Agent, String> {
        self.agent(manifest, mode).await.map_err(|error| error.to_string())
    }
}
