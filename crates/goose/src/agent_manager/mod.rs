//! [`AgentManager`]: opens conversations from settings, sessions, services, models and agents. The
//! conversation itself is in `exchange`.
//!
//! ```text
//! AgentManager { settings, store, pool }     one per process
//!      │ open(OpenOptions): models ─► permissions ─► extensions ─► hints ─► session ─► agent (tools)
//!      ▼
//! Exchange                               one per conversation; takes ready parts, does not read settings
//! ```
//!
//! - `open`: puts an exchange together; `options`: what a conversation is opened with; `models`: the models
//!   of a profile;
//! - `agent_maker`: an agent with its services; `service_broker`: the services of a mode;
//!   `session_extensions`: extensions that are enabled and disabled in a session; `host_extensions`:
//!   extensions of the host program; `recipe_run`: recipes and the checks of their results;
//! - `open_sessions`: the sessions that several users of a process share;
//! - `delegation`: tasks in separate sessions; `run_result`: their results; `acp_mcp_adapter`: external agents;
//!   `served_agents`: goose's agents as tools of other programs.

pub mod acp_mcp_adapter;
mod agent_maker;
mod delegation;
mod host_extensions;
mod models;
mod open;
mod open_sessions;
mod options;
mod recipe_run;
mod run_result;
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

use self::{acp_mcp_adapter::Connectors, agent_maker::AgentMaker, models::ConfiguredModel};
pub use self::{
    open_sessions::{OpenSessions, SharedSession},
    options::{OpenOptions, SessionState},
    recipe_run::{CommandApproval, RecipeChecks, Unattended, added_extensions, try_again},
};
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
    services::{BindingContext, PoolOptions, SHELL_ENV, ServicePool, earlier_logins, registered_builtins},
    session::{Session, SessionStore, StoreError},
};

/// Setting with the permission mode.
const MODE: &str = "GOOSE_MODE";

/// Name of the setting for the shell of commands.
const SHELL: &str = "GOOSE_SHELL";

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

/// Error for a conversation that cannot be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// No model is chosen.
    #[error("no model is chosen. Choose one with `goose configure`, or set GOOSE_PROVIDER and GOOSE_MODEL")]
    NoModel,
    /// The model cannot be used.
    #[error(transparent)]
    Model(#[from] SetupError),
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The extensions are invalid or conflict.
    #[error(transparent)]
    Extensions(#[from] ManagerError),
    /// A requirement of an extension cannot be met.
    #[error(transparent)]
    Requirement(#[from] RequirementError),
    /// The session cannot be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The schema of the final answer is invalid.
    #[error("the response schema is not valid: {0}")]
    Schema(String),
    /// The profile names a mode that does not exist.
    #[error(transparent)]
    Mode(#[from] UnknownMode),
    /// The settings name a mode that does not exist.
    #[error("GOOSE_MODE from {origin}: {error}")]
    ModeSetting {
        /// Place where the mode is set.
        origin: String,
        /// Error about the mode.
        error: UnknownMode,
    },
    /// The working folder cannot be used.
    #[error("the working folder cannot be used: {0}")]
    WorkingDir(String),
}

impl OpenError {
    /// Returns what to do about the error, if there is something to add.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Model(error) => error.hint(),
            Self::Store(error) => error.hint(),
            _ => None,
        }
    }
}

/// Parts that all conversations of a process share, with the settings of one folder; [`in_folder`](Self::in_folder)
/// returns the manager of another one. Creating a manager reads and starts nothing; clones share everything.
#[derive(Clone)]
pub struct AgentManager {
    settings: Settings,
    sessions: OpenSessions,
    /// Environment for child processes before the settings are applied, instead of the settings' environment.
    base_environment: Option<Arc<BaseEnvironment>>,
    store: SessionStore,
    pool: Arc<ServicePool>,
    environment: OnceLock<Arc<BaseEnvironment>>,
    oauth: Arc<OAuth>,
    connectors: Connectors,
    known_agents: KnownAgents,
}

impl AgentManager {
    /// Creates a manager with a new pool and store, in the folders of the settings.
    pub fn new(settings: Settings) -> Self {
        let paths = settings.paths();
        Self {
            store: SessionStore::at(SessionStore::file(paths)),
            pool: ServicePool::new(PoolOptions::new(paths, settings.builtins())),
            sessions: OpenSessions::default(),
            base_environment: None,
            environment: OnceLock::new(),
            oauth: Arc::new(earlier_logins(paths)),
            connectors: Connectors::default(),
            known_agents: KnownAgents::new(paths.clone()),
            settings,
        }
    }

    /// Uses a store that is already open.
    #[must_use]
    pub fn with_store(mut self, store: SessionStore) -> Self {
        self.store = store;
        self
    }

    /// Uses the services of this pool.
    #[must_use]
    pub fn with_pool(mut self, pool: Arc<ServicePool>) -> Self {
        self.pool = pool;
        self
    }

    /// Replaces the environment for child processes, which is the settings' by default.
    #[must_use]
    pub fn with_environment(mut self, environment: BaseEnvironment) -> Self {
        self.base_environment = Some(Arc::new(environment));
        self.environment = OnceLock::new();
        self
    }

    /// Replaces the login to servers, which uses only earlier logins by default.
    #[must_use]
    pub fn with_oauth(mut self, oauth: OAuth) -> Self {
        self.oauth = Arc::new(oauth);
        self
    }

    /// Returns the manager of another folder: with its settings, and the same sessions, services, logins and
    /// connectors. One process serves sessions in many folders that way.
    ///
    /// # Errors
    ///
    /// Fails if the configuration cannot be read.
    pub fn in_folder(&self, working_dir: &Path) -> Result<Self, ConfigError> {
        let settings = self.settings.in_folder(working_dir)?;
        Ok(Self { settings, environment: OnceLock::new(), ..self.clone() })
    }

    /// Returns the sessions that are open in this process, if they are opened through it.
    pub fn sessions(&self) -> &OpenSessions {
        &self.sessions
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the store of the sessions.
    pub fn store(&self) -> &SessionStore {
        &self.store
    }

    /// Returns the pool of services.
    pub fn pool(&self) -> &Arc<ServicePool> {
        &self.pool
    }

    /// Makes an agent outside of a conversation, for programs that inspect its tools. No model is needed.
    ///
    /// # Errors
    ///
    /// Fails if extensions are missing or conflict.
    pub async fn agent(&self, mut options: OpenOptions) -> Result<Agent, OpenError> {
        let permissions = match options.permissions.take() {
            Some(permissions) => permissions,
            None => self.permissions(&options.profile)?,
        };
        let dir = working_dir(options.place.working_dir.take())?;
        let maker = AgentMaker {
            permissions,
            binder: self.binder(&mut options, &dir),
            instructions: options.instructions,
            notifier: options.notifier,
            view: ExchangeView::default(),
            session: Session::unsaved(),
            model: Arc::new(NoModel),
            delegation: None,
        };
        maker.agent(options.agent.manifest, options.agent.mode).await
    }

    /// Builds a platform extension for a program without a session, such as `goose mcp`. Returns `None` if
    /// the extension [needs a session](crate::builtins::PlatformExtension::needs_session).
    pub fn standalone(&self, name: &str, working_dir: &Path) -> Option<Arc<dyn Extension>> {
        let model = Arc::new(ConfiguredModel(self.settings.clone()));
        platform::standalone(name, &self.settings, &self.store, model, working_dir)
    }

    /// Returns options for an extension manager in a folder, for programs without a model.
    pub fn manager_options(&self, working_dir: impl Into<PathBuf>) -> ManagerOptions {
        ManagerOptions::in_pool(Arc::clone(&self.pool), self.context(working_dir))
    }

    /// Returns the binding context of a session's services in a folder.
    fn context(&self, working_dir: impl Into<PathBuf>) -> BindingContext {
        let environment = self.environment.get_or_init(|| {
            let mut environment = match &self.base_environment {
                Some(environment) => BaseEnvironment::clone(environment),
                None => self.settings.environment().collect(),
            };
            self.set_shell(&mut environment);
            Arc::new(environment)
        });
        BindingContext {
            working_dir: Some(working_dir.into()),
            environment: Arc::clone(environment),
            secrets: self.settings.secrets(),
            oauth: Some(Arc::clone(&self.oauth)),
            frontend: None,
        }
    }

    /// Returns the permissions of a profile.
    ///
    /// # Errors
    ///
    /// Fails if the permission mode does not exist. The error says where it is set.
    pub fn permissions(&self, profile: &Profile) -> Result<Arc<Permissions>, OpenError> {
        let settings = &self.settings;
        let mode = profile.mode.as_deref().map(|mode| self.permission_mode(mode)).transpose()?;
        let mut options = PermissionOptions::new(mode.unwrap_or_default()).with_paths(settings.paths());
        if let Some(home) = settings.variable("HOME") {
            options = options.with_home(home);
        }
        if let Ok(Some(shell)) = settings.get::<String>(SHELL) {
            options = options.with_shell(shell);
        }
        Ok(Permissions::new(options))
    }

    /// Tells commands about the shell and the secret variables that the configuration names.
    fn set_shell(&self, environment: &mut BaseEnvironment) {
        if let Ok(Some(shell)) = self.settings.get::<String>(SHELL) {
            environment.set(SHELL, shell);
        }
        let names = self.settings.get::<Vec<String>>(SHELL_ENV).ok().flatten().map(|names| names.join(","));
        let names = names.or_else(|| self.settings.get::<String>(SHELL_ENV).ok().flatten());
        if let Some(names) = names {
            environment.set(SHELL_ENV, names);
        }
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

/// Model of an agent outside of a conversation. Every request fails.
struct NoModel;

#[async_trait]
impl Model for NoModel {
    async fn sample(&self, _: Sampling) -> ToolResult<Sampled> {
        Err(ToolError::execution("There is no model outside of a session."))
    }
}

fn working_dir(dir: Option<PathBuf>) -> Result<PathBuf, OpenError> {
    let dir = dir.map_or_else(std::env::current_dir, Ok).and_then(std::path::absolute);
    dir.map_err(|error| OpenError::WorkingDir(error.to_string()))
}

impl std::fmt::Debug for AgentManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentManager").field("pool", &self.pool).finish_non_exhaustive()
    }
}
