//! [`AgentManager`]: the one place where agents, their services, their models and their sessions come together.
//!
//! ```text
//! AgentManager { settings, store, pool }     one per process
//!      │ open(OpenOptions): models ─► permissions ─► extensions ─► hints ─► session ─► agent (tools)
//!      ▼
//! Exchange                                    one per conversation; takes ready parts, knows nothing of configuration
//! ```
//!
//! - `acp_mcp_adapter`: external agents;
//!   `open`: an exchange put together; `options`: what a conversation is opened with; `host_extensions`: extensions that the program brings itself;
//!   `served_agents`: our agents as tools of others; `agent_maker`: an agent with its services; `delegation`: conversations that a conversation starts; `service_broker`: from a mode to its services; `session_extensions`: extensions that are
//!   switched while a session is open;
//!   `models`: from a profile to the models that are asked.

pub mod acp_mcp_adapter;
mod agent_maker;
mod delegation;
mod host_extensions;
mod models;
mod open;
mod options;
mod served_agents;
mod service_broker;
mod session_extensions;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use async_trait::async_trait;
use goose_extension::{
    ExchangeView, Extension, Model, Notifier, RequirementError, Sampled, Sampling, ToolError, ToolResult,
};
use goose_mcp_bridge::OAuth;
use goose_providers::SetupError;
use thiserror::Error;

pub(crate) use self::agent_maker::Binder;
pub use self::options::{OpenOptions, SessionState};
use self::{acp_mcp_adapter::Connectors, agent_maker::AgentMaker, models::ConfiguredModel};
use crate::{
    agents::{
        agent::Agent,
        extension_manager::{ManagerError, ManagerOptions},
        known_agents::KnownAgents,
    },
    config::{BaseEnvironment, ConfigError, Paths, Profile, Settings, SettingsSource},
    exchange::Exchange,
    permission::{Mode, PermissionOptions, Permissions, UnknownMode},
    platform,
    services::{BindingContext, PoolOptions, ServicePool, earlier_logins, registered_builtins},
    session::{Session, SessionStore, StoreError},
};

/// The setting that says what may be done without asking.
const MODE: &str = "GOOSE_MODE";

/// Opens a conversation with the settings of this process: its environment, its folders, its working folder.
///
/// # Errors
///
/// Returns an error that says what is missing or wrong, and where.
pub async fn build_exchange(
    profile: Profile,
    notifier: impl Notifier + 'static,
) -> Result<Exchange, OpenError> {
    let source = SettingsSource::of_this_process(Paths::from_env()?).with_builtins(registered_builtins());
    let settings = Settings::load(source)?;
    AgentManager::new(settings).open(OpenOptions::new(profile).with_notifier(notifier)).await
}

/// Why a conversation could not be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// No model is chosen.
    #[error("no model is chosen. Choose one with `goose configure`, or set GOOSE_PROVIDER and GOOSE_MODEL")]
    NoModel,
    /// The model cannot be asked.
    #[error(transparent)]
    Model(#[from] SetupError),
    /// The configuration does not fit together.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The extensions do not fit together.
    #[error(transparent)]
    Extensions(#[from] ManagerError),
    /// An extension cannot have what it requires.
    #[error(transparent)]
    Requirement(#[from] RequirementError),
    /// The session cannot be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The schema of the final answer is not one.
    #[error("the response schema is not valid: {0}")]
    Schema(String),
    /// The profile names a mode that does not exist.
    #[error(transparent)]
    Mode(#[from] UnknownMode),
    /// The settings name a mode that does not exist.
    #[error("GOOSE_MODE from {origin}: {error}")]
    ModeSetting {
        /// The place where it is set.
        origin: String,
        /// The reason.
        error: UnknownMode,
    },
    /// The folder to work in cannot be used.
    #[error("the working folder cannot be used: {0}")]
    WorkingDir(String),
}

impl OpenError {
    /// Returns what to do about it, where there is something to add.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Model(error) => error.hint(),
            Self::Store(error) => error.hint(),
            _ => None,
        }
    }
}

/// The parts that all conversations of a process share. Making one reads and starts nothing; clones share everything.
#[derive(Clone)]
pub struct AgentManager {
    settings: Settings,
    store: SessionStore,
    pool: Arc<ServicePool>,
    environment: OnceLock<Arc<BaseEnvironment>>,
    oauth: Arc<OAuth>,
    connectors: Connectors,
    known_agents: KnownAgents,
}

impl AgentManager {
    /// A manager with a pool and a store of its own, in the folders of the settings.
    pub fn new(settings: Settings) -> Self {
        let paths = settings.paths();
        Self {
            store: SessionStore::at(SessionStore::file(paths)),
            pool: ServicePool::new(PoolOptions::new(paths, settings.builtins())),
            environment: OnceLock::new(),
            oauth: Arc::new(earlier_logins(paths)),
            connectors: Connectors::default(),
            known_agents: KnownAgents::new(paths.clone()),
            settings,
        }
    }

    /// With a store that is open already.
    #[must_use]
    pub fn with_store(mut self, store: SessionStore) -> Self {
        self.store = store;
        self
    }

    /// With the services of this pool.
    #[must_use]
    pub fn with_pool(mut self, pool: Arc<ServicePool>) -> Self {
        self.pool = pool;
        self
    }

    /// With another environment for child processes than the settings'.
    #[must_use]
    pub fn with_environment(mut self, environment: BaseEnvironment) -> Self {
        self.environment = OnceLock::from(Arc::new(environment));
        self
    }

    /// With another way to log in to servers than by earlier logins.
    #[must_use]
    pub fn with_oauth(mut self, oauth: OAuth) -> Self {
        self.oauth = Arc::new(oauth);
        self
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The sessions.
    pub fn store(&self) -> &SessionStore {
        &self.store
    }

    /// The services.
    pub fn pool(&self) -> &Arc<ServicePool> {
        &self.pool
    }

    /// Makes an agent outside of a conversation, for programs that look at its tools. No model is needed.
    ///
    /// # Errors
    ///
    /// Fails if extensions are missing or do not fit together.
    pub async fn agent(&self, options: OpenOptions) -> Result<Agent, OpenError> {
        let maker = AgentMaker {
            permissions: match options.permissions {
                Some(permissions) => permissions,
                None => self.permissions(&options.profile)?,
            },
            binder: Arc::new(Binder {
                manager: self.clone(),
                profile: options.profile,
                extensions: options.extensions,
                host_extensions: options.host_extensions,
                switched: Arc::new(options.switched),
                working_dir: working_dir(options.working_dir)?,
                only: options.only_extensions,
            }),
            instructions: options.instructions,
            notifier: options.notifier,
            view: ExchangeView::default(),
            session: Session::unsaved(),
            model: Arc::new(NoModel),
            delegation: None,
        };
        maker.agent(options.manifest, options.mode).await
    }

    /// Builds a platform extension for a program that has no session, such as `goose mcp`; none for one that
    /// [needs it](crate::builtins::PlatformExtension::needs_session).
    pub fn standalone(&self, name: &str, working_dir: &Path) -> Option<Arc<dyn Extension>> {
        let model = Arc::new(ConfiguredModel(self.settings.clone()));
        platform::standalone(name, &self.settings, &self.store, model, working_dir)
    }

    /// The options of an extension manager in a folder, for programs that need no model.
    pub fn manager_options(&self, working_dir: impl Into<PathBuf>) -> ManagerOptions {
        ManagerOptions::in_pool(Arc::clone(&self.pool), self.context(working_dir))
    }

    /// The context of the services of a session in a folder.
    fn context(&self, working_dir: impl Into<PathBuf>) -> BindingContext {
        let environment = self.environment.get_or_init(|| Arc::new(self.settings.environment().collect()));
        BindingContext {
            working_dir: Some(working_dir.into()),
            environment: Arc::clone(environment),
            secrets: self.settings.secrets(),
            oauth: Some(Arc::clone(&self.oauth)),
        }
    }

    /// The permissions of a profile.
    ///
    /// # Errors
    ///
    /// Fails if there is no such mode; the error says where it is set.
    pub fn permissions(&self, profile: &Profile) -> Result<Arc<Permissions>, OpenError> {
        let settings = &self.settings;
        let mode = profile.mode.as_deref().map(|mode| self.permission_mode(mode)).transpose()?;
        let mut options = PermissionOptions::new(mode.unwrap_or_default()).with_paths(settings.paths());
        if let Some(home) = settings.variable("HOME") {
            options = options.with_home(home);
        }
        if let Some(shell) = settings.variable("GOOSE_SHELL") {
            options = options.with_shell(shell);
        }
        Ok(Permissions::new(options))
    }

    fn permission_mode(&self, mode: &str) -> Result<Mode, OpenError> {
        mode.parse().map_err(|error| {
            let is_set = self.settings.get::<String>(MODE).is_ok_and(|said| said.as_deref() == Some(mode));
            match self.settings.origin(MODE).filter(|_| is_set) {
                Some(origin) => OpenError::ModeSetting { origin: origin.to_string(), error },
                None => OpenError::Mode(error),
            }
        })
    }
}

/// The model of an agent outside of a conversation.
struct NoModel;

#[async_trait]
impl Model for NoModel {
    async fn sample(&self, _: Sampling) -> ToolResult<Sampled> {
        Err(ToolError::execution("There is no model outside of a session."))
    }
}

fn working_dir(dir: Option<PathBuf>) -> Result<PathBuf, OpenError> {
    let dir = match dir {
        Some(dir) => Ok(dir),
        None => std::env::current_dir(),
    };
    dir.and_then(std::path::absolute).map_err(|error| OpenError::WorkingDir(error.to_string()))
}

impl std::fmt::Debug for AgentManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentManager").field("pool", &self.pool).finish_non_exhaustive()
    }
}
