//! [`AgentMaker`]: makes the agents of one conversation, the first one and those that replace it. [`Binder`]
//! finds and binds the services of a mode, for delegates too.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use goose_extension::{ExchangeView, Model, Notifier};
use goose_providers::RequestOptions;
use tokio_util::sync::CancellationToken;

use super::{
    AgentManager, OpenError,
    acp_mcp_adapter::ExternalAgent,
    host_extensions::{HostExtension, add_host_extensions, without_host},
    options::ExtensionOptions,
    service_broker::ServiceBroker,
};
use crate::{
    agents::{
        agent::{Agent, AgentSetupError, AgentSource},
        catalog::AgentCatalog,
        connection::ConnectionKind,
        extension_manager::{ExtensionManager, ManagerError, ManagerOptions},
        manifest::{AgentManifest, AgentMode},
        service_binding::{ServiceBindings, UnresolvedReason, UnresolvedService},
    },
    builtins::PlatformExtension,
    config::{ExtensionConfig, Profile, Settings},
    exchange::Delegates,
    permission::Permissions,
    platform::{self, AgentTool, PlatformContext, SessionServices},
    services::BindingContext,
    session::Session,
};

/// Maximum number of modes that a text about an extension names.
const MAX_NAMED: usize = 12;

/// Parts that all agents of a conversation share.
pub(super) struct AgentMaker {
    pub(super) binder: Arc<Binder>,
    pub(super) instructions: Vec<String>,
    pub(super) permissions: Arc<Permissions>,
    pub(super) notifier: Arc<dyn Notifier>,
    pub(super) view: ExchangeView,
    pub(super) session: Session,
    /// Working model of the session.
    pub(super) model: Arc<dyn Model>,
    /// Interface that starts delegates. `None` outside of a conversation.
    pub(super) delegation: Option<Arc<dyn Delegates>>,
}

/// Finds and binds the services of a mode. The delegates of a conversation share it.
#[derive(Clone)]
pub(crate) struct Binder {
    pub(super) manager: AgentManager,
    pub(super) profile: Profile,
    pub(super) working_dir: PathBuf,
    pub(super) extensions: ExtensionOptions,
}

/// Services of a mode, and the built-ins to be made for the agent.
pub(super) struct BoundServices {
    extensions: ExtensionManager,
    bindings: ServiceBindings,
    /// Connection to the agent, if it is an external one.
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

    /// Makes an agent with bound services.
    pub(super) async fn agent_with(
        &self,
        bound: BoundServices,
        manifest: Arc<AgentManifest>,
        mode: AgentMode,
    ) -> Result<Agent, OpenError> {
        let BoundServices {
            extensions,
            external,
            bindings: ServiceBindings { platform, unresolved, agents, .. },
        } = bound;
        let Binder { profile, extensions: ExtensionOptions { host, .. }, .. } = &*self.binder;
        let extensions = Arc::new(extensions);
        let (notifier, view) = (Arc::clone(&self.notifier), self.view.clone());
        add_host_extensions(&extensions, profile, host, notifier, view).await?;
        let mut agent = Agent::new(manifest, mode, Arc::clone(&extensions), &self.permissions);
        self.add_platform(&agent, platform)?;
        for agent in agents {
            extensions.add_extension(Arc::new(AgentTool::extension(agent, self.delegation.clone())))?;
        }
        let own = [&agent.manifest.instructions, &agent.mode.instructions];
        let said = profile.instructions.iter().chain(&self.instructions);
        agent.instructions = own.into_iter().chain(said).filter(|text| !text.is_empty()).cloned().collect();
        if agent.extensions.names().iter().any(|name| name == "summon") {
            let skills = platform::skill_places(self.binder.manager.settings(), &self.binder.working_dir);
            agent.instructions.extend(skills.announcement());
        }
        agent.options = RequestOptions {
            temperature: agent.mode.temperature.or(profile.temperature),
            max_tokens: profile.max_tokens,
            effort: profile.effort,
            ..RequestOptions::default()
        };
        agent.unresolved = unresolved;
        agent.external = external;
        self.remove_disabled(&agent).await;
        Ok(agent)
    }

    /// Builds platform extensions for an agent.
    fn add_platform(
        &self,
        agent: &Agent,
        builtins: impl IntoIterator<Item = &'static PlatformExtension>,
    ) -> Result<(), ManagerError> {
        let manager = &self.binder.manager;
        let services: Arc<dyn SessionServices> = self.binder.clone();
        let context = PlatformContext {
            session: &self.session,
            store: manager.store(),
            settings: manager.settings(),
            working_dir: &self.binder.working_dir,
            toolset: &agent.toolset,
            model: &self.model,
            services: &services,
            delegation: self.delegation.as_ref(),
            sub_recipes: &self.binder.extensions.sub_recipes,
        };
        let built = builtins.into_iter().filter_map(|builtin| platform::build(builtin.name, &context));
        built.into_iter().try_for_each(|extension| agent.extensions.add_extension(extension))
    }

    /// Removes extensions from an agent that were disabled in the session, including those that others were
    /// built with.
    async fn remove_disabled(&self, agent: &Agent) {
        for name in agent.extensions.names() {
            if self.binder.extensions.switched.is_disabled(&name) {
                // A call may have removed it already.
                let _ = agent.extensions.remove(&name).await;
            }
        }
    }

    /// Adds the extensions to an agent that were enabled in the session since it was made and that its mode
    /// may use, and removes the disabled ones.
    async fn update_agent(&self, agent: &Agent) -> Result<(), OpenError> {
        self.remove_disabled(agent).await;
        let names = agent.extensions.names();
        let is_missing = |name: &str| !names.iter().any(|it| it == name);
        let is_new = |name: &str| self.binder.extensions.switched.is_enabled(name) && is_missing(name);
        let found = self.binder.bindings(&agent.mode)?;
        // An external agent gets its services when it connects.
        let services = found.services.iter().filter(|_| agent.external.is_none());
        for config in services.filter(|config| is_new(&config.key())) {
            agent.extensions.add(config)?;
        }
        self.add_platform(agent, found.platform.into_iter().filter(|builtin| is_missing(builtin.name)))?;
        Ok(())
    }
}

impl Binder {
    /// Binds the services that a mode can use, and starts those whose tools are not known.
    pub(super) async fn bind(
        &self,
        manifest: &AgentManifest,
        mode: &AgentMode,
    ) -> Result<BoundServices, OpenError> {
        let mut bindings = self.bindings(mode)?;
        let mut services = std::mem::take(&mut bindings.services);
        let reached = match &manifest.connection {
            Some(it) => reached_by_external(it.kind, mode, &mut services, &mut bindings),
            None => Vec::new(),
        };
        let external = self.manager.connect_agent(manifest, self.working_dir.clone(), &reached);
        let needed = services.clone();
        let look_up = move |settings: &Settings| {
            needed.iter().for_each(|config| drop(config.resolve(&*settings.secrets())));
        };
        self.manager.settings().look_up(look_up).await;
        let context = BindingContext {
            frontend: self.extensions.frontend.clone(),
            ..self.manager.context(&self.working_dir)
        };
        let options = ManagerOptions::in_pool(Arc::clone(self.manager.pool()), context);
        let extensions = ExtensionManager::with_options(services, CancellationToken::new(), options).await?;
        Ok(BoundServices { extensions, bindings, external })
    }

    /// Returns the names of the extensions of an agent in a mode.
    pub(super) fn names(&self, mode: &AgentMode) -> Result<Vec<String>, OpenError> {
        let found = self.bindings(mode)?;
        let host = self.extensions.host.iter().map(|extension| extension.name().to_owned());
        let platform = found.platform.iter().map(|builtin| builtin.name.to_owned());
        let agents = found.agents.iter().map(|agent| agent.name.clone());
        let services = found.services.iter().map(ExtensionConfig::key);
        Ok(services.chain(platform).chain(host).chain(agents).collect())
    }

    fn bindings(&self, mode: &AgentMode) -> Result<ServiceBindings, OpenError> {
        let used = self.profile.extensions.iter().filter(|extension| mode.can_use(&extension.name, true));
        let required: Vec<&str> =
            used.flat_map(|extension| extension.requires.values()).map(String::as_str).collect();
        let host: Vec<&str> = self.extensions.host.iter().map(HostExtension::name).collect();
        let mut given = self.extensions.switched.services();
        let of_command_line =
            self.extensions.given.iter().filter(|config| !self.extensions.switched.is_enabled(&config.key()));
        given.extend(of_command_line.cloned());
        let broker = ServiceBroker {
            settings: self.manager.settings(),
            profile: &without_host(&self.profile, &self.extensions.host),
            given: &given,
            host: &host,
            required: &required,
            agents: &|| self.catalog(),
        };
        let mut found = broker.resolve(mode)?;
        let is_on = |name: &str| self.is_wanted(name) && !self.extensions.switched.is_disabled(name);
        found.services.retain(|config| {
            let name = config.key();
            is_on(&name) || (self.is_wanted(&name) && required.contains(&name.as_str()))
        });
        found.platform.retain(|builtin| is_on(builtin.name));
        found.agents.retain(|agent| is_on(&agent.name));
        Ok(found)
    }

    /// Returns true unless the agents may have only other extensions.
    fn is_wanted(&self, name: &str) -> bool {
        self.extensions.only.as_ref().is_none_or(|only| only.iter().any(|wanted| wanted == name))
    }

    /// Returns the agents that can be chosen.
    pub(super) fn catalog(&self) -> Arc<AgentCatalog> {
        self.manager.known_agents.catalog(&self.working_dir)
    }
}

impl SessionServices for Binder {
    fn settings(&self) -> &Settings {
        self.manager.settings()
    }

    fn enable_again(&self, name: &str) -> bool {
        let was_disabled = self.extensions.switched.is_disabled(name);
        if was_disabled {
            self.extensions.switched.enable(name, None);
        }
        was_disabled
    }

    fn disable(&self, name: &str) {
        self.extensions.switched.disable(name);
    }

    fn is_enabled(&self, name: &str) -> bool {
        let profile = without_host(&self.profile, &self.extensions.host);
        let configured = || self.settings().profile_extensions(&profile).unwrap_or_default();
        !self.extensions.switched.is_disabled(name)
            && self.is_wanted(name)
            && (self.extensions.switched.is_enabled(name)
                || self.extensions.given.iter().any(|config| config.key() == name)
                || self.extensions.host.iter().any(|host| host.name() == name)
                || configured().iter().any(|config| config.key() == name))
    }

    fn enable(
        &self,
        config: &ExtensionConfig,
        extensions: Option<&ExtensionManager>,
    ) -> Result<(), ManagerError> {
        let name = config.key();
        if self.is_enabled(&name) {
            return Err(ManagerError::Duplicate(name));
        }
        extensions.map(|extensions| extensions.add(config)).transpose()?;
        self.extensions.switched.enable(&name, Some(config.clone()));
        Ok(())
    }

    fn users(&self, config: &ExtensionConfig) -> String {
        let catalog = self.catalog();
        let modes = catalog.agents.iter().flat_map(|entry| {
            let able =
                entry.manifest.modes.iter().filter(|mode| mode.can_use(&config.key(), config.is_own()));
            able.map(|mode| format!("{}/{}", entry.manifest.name, mode.slug))
        });
        let mut modes: Vec<String> = modes.collect();
        let more = modes.len().saturating_sub(MAX_NAMED);
        modes.truncate(MAX_NAMED);
        match (modes.is_empty(), more) {
            (true, _) => "none".to_owned(),
            (false, 0) => modes.join(", "),
            (false, more) => format!("{} and {more} more", modes.join(", ")),
        }
    }
}

/// Returns the servers that an external agent connects to by itself. The connector serves goose's own
/// services to it if the protocol supports that. Otherwise they are reported as missing, except for
/// `developer`, which its requests are judged by.
fn reached_by_external(
    protocol: ConnectionKind,
    mode: &AgentMode,
    services: &mut Vec<ExtensionConfig>,
    bindings: &mut ServiceBindings,
) -> Vec<ExtensionConfig> {
    // It gets what its entry names, without the platform extensions that goose's own agents always have.
    bindings.platform.retain(|builtin| mode.has_group(builtin.name));
    if protocol == ConnectionKind::Acp {
        return services.extract_if(.., |config| !config.is_own()).collect();
    }
    let left_out = services.extract_if(.., |config| config.key() != "developer").map(|config| config.key());
    let mut left_out: Vec<String> = left_out.collect();
    left_out.extend(std::mem::take(&mut bindings.agents).iter().map(|agent| agent.name.clone()));
    left_out.extend(std::mem::take(&mut bindings.platform).iter().map(|builtin| builtin.name.to_owned()));
    let reason = UnresolvedReason::NoPlace;
    bindings.unresolved.extend(left_out.into_iter().map(|name| UnresolvedService { name, reason }));
    Vec::new()
}

#[async_trait]
impl AgentSource for AgentMaker {
    fn catalog(&self) -> Arc<AgentCatalog> {
        self.binder.catalog()
    }

    async fn make(&self, manifest: Arc<AgentManifest>, mode: AgentMode) -> Result<Agent, AgentSetupError> {
        self.agent(manifest, mode).await.map_err(AgentSetupError::new)
    }

    fn enable(&self, agent: &Agent, config: &ExtensionConfig) -> Result<Option<String>, ManagerError> {
        let is_used = agent.mode.can_use(&config.key(), config.is_own());
        // An external agent gets its services when it connects.
        let extensions = Some(&*agent.extensions).filter(|_| is_used && agent.external.is_none());
        self.binder.enable(config, extensions)?;
        Ok((!is_used).then(|| self.binder.users(config)))
    }

    async fn disable(&self, agent: &Agent, name: &str) -> Result<(), ManagerError> {
        let is_enabled = self.binder.is_enabled(name);
        match agent.extensions.remove(name).await {
            Err(error) if !is_enabled => return Err(error),
            // Modes that cannot use an extension do not have it.
            _ => self.binder.extensions.switched.disable(name),
        }
        Ok(())
    }

    fn version(&self) -> u64 {
        self.binder.extensions.switched.version()
    }

    async fn update(&self, agent: &Agent) -> Result<(), AgentSetupError> {
        self.update_agent(agent).await.map_err(AgentSetupError::new)
    }
}
