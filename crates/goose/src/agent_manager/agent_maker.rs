//! [`AgentMaker`]: makes the agents of one conversation, the first one and those that take its place.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use goose_extension::{ExchangeView, Model, Notifier};
use goose_providers::RequestOptions;
use tokio_util::sync::CancellationToken;

use super::{
    AgentManager, OpenError,
    acp_mcp_adapter::ExternalAgent,
    delegation::Delegation,
    host_extensions::{HostExtension, add_host_extensions, without_host},
    service_broker::ServiceBroker,
};
use crate::{
    agents::{
        agent::{Agent, AgentSource},
        catalog::AgentCatalog,
        extension_manager::ExtensionManager,
        manifest::{AgentManifest, AgentMode},
        service_binding::{ServiceBindings, UnresolvedReason, UnresolvedService},
    },
    config::{ExtensionConfig, Profile, Settings},
    permission::Permissions,
    platform::{self, AgentTool, PlatformContext},
    session::Session,
};

/// The parts that all agents of a conversation share.
pub(super) struct AgentMaker {
    pub(super) binder: Binder,
    pub(super) instructions: Vec<String>,
    pub(super) permissions: Arc<Permissions>,
    pub(super) notifier: Arc<dyn Notifier>,
    pub(super) view: ExchangeView,
    pub(super) session: Session,
    /// The working model of the session.
    pub(super) model: Arc<dyn Model>,
    /// The way to delegates; none outside of a conversation.
    pub(super) delegation: Option<Arc<Delegation>>,
}

/// The part of them that needs no session: it finds and binds the services of a mode.
pub(super) struct Binder {
    pub(super) manager: AgentManager,
    pub(super) profile: Profile,
    pub(super) extensions: Vec<ExtensionConfig>,
    pub(super) host_extensions: Vec<HostExtension>,
    pub(super) working_dir: PathBuf,
    /// The only extensions that its agents may have, if that is said.
    pub(super) only: Option<Vec<String>>,
}

/// The services of a mode, and the built-ins that are made for each agent.
pub(super) struct Bound {
    extensions: ExtensionManager,
    bindings: ServiceBindings,
    /// The agent itself, if it is another maker's.
    external: Option<Arc<ExternalAgent>>,
}

impl AgentMaker {
    /// Makes an agent: binds the services that its mode can use, and starts those whose tools are not known.
    pub(super) async fn agent(
        &self,
        manifest: Arc<AgentManifest>,
        mode: AgentMode,
    ) -> Result<Agent, OpenError> {
        let bound = self.binder.bind(&manifest, &mode).await?;
        self.agent_with(bound, manifest, mode).await
    }

    /// Makes an agent with services that are bound.
    pub(super) async fn agent_with(
        &self,
        bound: Bound,
        manifest: Arc<AgentManifest>,
        mode: AgentMode,
    ) -> Result<Agent, OpenError> {
        let Bound { extensions, external, bindings: ServiceBindings { platform, unresolved, agents, .. } } =
            bound;
        let Binder { manager, profile, host_extensions, .. } = &self.binder;
        let extensions = Arc::new(extensions);
        let (notifier, view) = (Arc::clone(&self.notifier), self.view.clone());
        add_host_extensions(&extensions, profile, host_extensions, notifier, view).await?;
        let mut agent = Agent::new(manifest, mode, Arc::clone(&extensions), &self.permissions);
        let context = PlatformContext {
            session: &self.session,
            store: manager.store(),
            settings: manager.settings(),
            working_dir: &self.binder.working_dir,
            toolset: &agent.toolset,
            model: &self.model,
            delegation: self.delegation.as_ref(),
        };
        for builtin in platform {
            if let Some(extension) = platform::build(builtin.name, &context) {
                extensions.add_extension(extension)?;
            }
        }
        for agent in agents {
            extensions.add_extension(Arc::new(AgentTool::new(agent, self.delegation.clone())))?;
        }
        let own = [&agent.manifest.instructions, &agent.mode.instructions];
        let said = profile.instructions.iter().chain(&self.instructions);
        agent.instructions = own.into_iter().chain(said).filter(|text| !text.is_empty()).cloned().collect();
        agent.options = RequestOptions {
            temperature: agent.mode.temperature.or(profile.temperature),
            max_tokens: profile.max_tokens,
            effort: profile.effort,
            ..RequestOptions::default()
        };
        agent.unresolved = unresolved;
        agent.external = external;
        Ok(agent)
    }
}

impl Binder {
    /// Binds the services that a mode can use, and starts those whose tools are not known.
    pub(super) async fn bind(&self, manifest: &AgentManifest, mode: &AgentMode) -> Result<Bound, OpenError> {
        let mut bindings = self.bindings(mode)?;
        let mut services = std::mem::take(&mut bindings.services);
        let reached = match manifest.connection {
            Some(_) => reached_by_external(&mut services, &mut bindings),
            None => Vec::new(),
        };
        let external = self.manager.connect_agent_with(manifest, self.working_dir.clone(), &reached);
        let needed = services.clone();
        let look_up = move |settings: &Settings| {
            needed.iter().for_each(|config| drop(config.resolve(&*settings.secrets())));
        };
        self.manager.settings().look_up_in_advance(look_up).await;
        let options = self.manager.manager_options(&self.working_dir);
        let extensions = ExtensionManager::with_options(services, CancellationToken::new(), options).await?;
        Ok(Bound { extensions, bindings, external })
    }

    /// The names of the extensions that an agent in a mode has.
    pub(super) fn names(&self, mode: &AgentMode) -> Result<Vec<String>, OpenError> {
        let found = self.bindings(mode)?;
        let host = self.host_extensions.iter().map(|extension| extension.name().to_owned());
        let platform = found.platform.iter().map(|builtin| builtin.name.to_owned());
        let agents = found.agents.iter().map(|agent| agent.name.clone());
        Ok(found
            .services
            .iter()
            .map(ExtensionConfig::key)
            .chain(platform)
            .chain(host)
            .chain(agents)
            .collect())
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
            agents: &|| self.catalog(),
        };
        let mut found = broker.resolve(mode)?;
        if let Some(only) = &self.only {
            let is_wanted = |name: &str| only.iter().any(|wanted| wanted == name);
            found.services.retain(|config| is_wanted(&config.key()));
            found.platform.retain(|builtin| is_wanted(builtin.name));
            found.agents.retain(|agent| is_wanted(&agent.name));
        }
        Ok(found)
    }

    fn catalog(&self) -> AgentCatalog {
        AgentCatalog::load(self.manager.settings().paths(), &self.working_dir)
    }
}

/// The servers that an agent of another maker reaches by itself. Of our own services it has `developer`, which its requests are
/// judged by; others, and our agents, cannot be handed to it and are reported.
fn reached_by_external(
    services: &mut Vec<ExtensionConfig>,
    bindings: &mut ServiceBindings,
) -> Vec<ExtensionConfig> {
    let ours = services.extract_if(.., |config| config.is_own() && config.key() != "developer");
    let ours: Vec<String> = ours.map(|config| config.key()).collect();
    let agents = std::mem::take(&mut bindings.agents).into_iter().map(|agent| agent.name.clone());
    for name in ours.into_iter().chain(agents) {
        bindings.unresolved.push(UnresolvedService { name, reason: UnresolvedReason::OursAlone });
    }
    services.extract_if(.., |config| !config.is_own()).collect()
}

#[async_trait]
impl AgentSource for AgentMaker {
    fn catalog(&self) -> AgentCatalog {
        self.binder.catalog()
    }

    async fn make(&self, manifest: Arc<AgentManifest>, mode: AgentMode) -> Result<Agent, String> {
        self.agent(manifest, mode).await.map_err(|error| error.to_string())
    }
}
