//! [`AgentManager`]: the one place where agents, their services, their models and their sessions come together.
//!
//! ```text
//! AgentManager { settings, store, pool }     one per process
//!      │ open(OpenOptions): models ─► permissions ─► extensions ─► hints ─► session ─► agent (tools)
//!      ▼
//! Exchange                                    one per conversation; takes ready parts, knows nothing of configuration
//! ```
//!
//! - `acp_mcp_adapter`: agents of other makers, kept from being tried in vain by `circuit_breaker`;
//!   `options`: what a conversation is opened with; `host_extensions`: extensions that the program brings itself;
//!   `served_agents`: our agents as tools of others; `agent_maker`: an agent with its services; `delegation`: conversations that a conversation starts, each a `delegate`; `service_broker`: from a mode to its services; `session_extensions`: extensions that are
//!   switched while a session is open;
//!   `models`: from a profile to the models that are asked.

pub mod acp_mcp_adapter;
mod agent_maker;
mod circuit_breaker;
mod delegate;
mod delegation;
mod host_extensions;
mod models;
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
use parking_lot::Mutex;
use serde::Deserialize;
use thiserror::Error;

pub use self::options::{OpenOptions, SessionState};
use self::{
    acp_mcp_adapter::Connectors,
    agent_maker::AgentMaker,
    models::{ConfiguredModel, Models},
    options::ChosenSession,
};
pub(crate) use self::{
    agent_maker::Binder,
    delegate::{DelegateEnd, DelegateTask, GraphPlace},
    delegation::{Delegation, MAX_AT_ONCE},
};
use crate::{
    agents::{
        agent::{Agent, ChosenBy},
        extension_manager::{ManagerError, ManagerOptions},
        goose_agent,
    },
    config::{
        BaseEnvironment, ConfigError, FileSecrets, Origin, Paths, Profile, ProjectFile, Settings,
        SettingsSource,
    },
    context::hints::{self, Hints, Places, ProjectHints},
    exchange::{
        ActiveModels, EventHub, Exchange, FinalOutput, History, Limits, Parts, Recall, RecallScope, Routing,
        SessionNotifier, SessionTasks, TaskSettings, TaskWriter, prepare,
    },
    permission::{Mode, PermissionOptions, Permissions, UnknownMode},
    platform::{self, tom::TopOfMind},
    services::{BindingContext, PoolOptions, ServicePool, earlier_logins},
    session::{NewSession, Session, SessionStore, Step, StoreError},
};

/// The setting that says what may be done without asking.
const MODE: &str = "GOOSE_MODE";

/// The setting that switches off routing and splitting.
const ORCHESTRATOR_DISABLED: &str = "GOOSE_ORCHESTRATOR_DISABLED";

/// The settings of the orchestrator.
const ORCHESTRATOR: &str = "orchestrator";

/// The setting that names the files with hints.
const HINT_FILES: &str = "CONTEXT_FILE_NAMES";

/// Opens a conversation with the settings of this process: its environment, its folders, its working folder.
///
/// # Errors
///
/// Returns an error that says what is missing or wrong, and where.
pub async fn build_exchange(
    profile: Profile,
    notifier: impl Notifier + 'static,
) -> Result<Exchange, OpenError> {
    let settings = Settings::load(SettingsSource::of_this_process(Paths::from_env()?))?;
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
}

impl AgentManager {
    /// A manager with a pool and a store of its own, in the folders of the settings.
    pub fn new(settings: Settings) -> Self {
        let paths = settings.paths();
        Self {
            store: SessionStore::at(SessionStore::file(paths)),
            pool: ServicePool::new(PoolOptions::new(paths)),
            environment: OnceLock::new(),
            oauth: Arc::new(earlier_logins(paths)),
            connectors: Connectors::default(),
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

    /// Opens a conversation. Extensions whose tools are not known are started in the background.
    ///
    /// # Errors
    ///
    /// Returns an error that says what is missing or wrong, and where.
    pub async fn open(&self, mut options: OpenOptions) -> Result<Exchange, OpenError> {
        let final_output = options.response_schema.as_ref().map(FinalOutput::new).transpose();
        let final_output = final_output.map_err(OpenError::Schema)?;
        options.working_dir = Some(working_dir(options.working_dir.take())?);
        let folder = options.working_dir.clone().unwrap_or_default();
        let chosen = options.session.take().unwrap_or_else(|| {
            ChosenSession::Pending(self.store.start_creating(NewSession::in_folder(&folder)))
        });
        let models = Models::open(&self.settings, &options.profile, options.models.clone()).await?;
        prepare(&models.processor);
        let models = ActiveModels::new(models.processor, models.accelerator, models.source);
        let last_mode = chosen.last_mode();
        let (permissions, stricter) = match options.permissions.clone() {
            Some(permissions) => (permissions, None),
            None => self.session_permissions(&options.profile, last_mode)?,
        };
        let lost = options.switched.restore(chosen.steps(), &self.settings);
        let lost: Vec<String> = lost.iter().map(|name| not_restored(name)).collect();
        let binder = Arc::new(Binder {
            manager: self.clone(),
            profile: options.profile.clone(),
            extensions: options.extensions,
            host_extensions: options.host_extensions,
            switched: Arc::new(options.switched),
            working_dir: folder.clone(),
            only: options.only_extensions,
        });
        let bound = binder.bind(&options.manifest, &options.mode).await?;
        let hints = self.hints(&folder)?;
        // As late as possible: until here, the store has been opening at the same time.
        let SessionState { session, steps, is_unfinished, agent: last_agent, chosen_by } =
            chosen.ready().await?;
        let is_root = options.origin.is_none();
        let origin = options.origin.unwrap_or_default();
        let history = History::new(steps, is_unfinished, origin.payer.clone());
        let events = EventHub::new(session.id().clone(), options.writer.as_ref().map(TaskWriter::task));
        binder.switched.log_to(&events);
        if options.permissions.is_none() && last_mode.unwrap_or_default() != permissions.mode() {
            events.store_later(Step::permission_changed(permissions.mode()));
        }
        let notifier = Arc::clone(&options.notifier);
        let tasks = SessionTasks::default();
        let delegation = Arc::new(Delegation {
            binder: Binder { only: None, ..Binder::clone(&binder) },
            permissions: Arc::clone(&permissions),
            caller: options.caller.clone(),
            retry: options.retry.clone(),
            session: session.clone(),
            events: Arc::downgrade(&events),
            usage: history.usage(),
            models: models.clone(),
            tasks: tasks.clone(),
            writer: options.writer.clone(),
            origin,
            background: Mutex::default(),
        });
        let maker = AgentMaker {
            binder,
            instructions: options.instructions,
            permissions: Arc::clone(&permissions),
            notifier: Arc::new(SessionNotifier::new(&events, Arc::clone(&notifier))),
            view: history.view(),
            session: session.clone(),
            model: history.session_model(&models),
            delegation: Some(Arc::clone(&delegation)),
        };
        let mut agent = maker.agent_with(bound, options.manifest, options.mode).await?;
        let is_last = last_agent.unwrap_or_else(default_agent) == agent.id();
        agent.chosen_by = match options.chosen_by {
            ChosenBy::Default if is_last => chosen_by,
            named => named,
        };
        if !is_last || agent.chosen_by != chosen_by {
            events.store_later(Step::agent_changed(agent.id(), agent.chosen_by));
        }
        Ok(Exchange::new(Parts {
            agents: Arc::new(maker),
            routing: self.routing(is_root),
            recall: self.recall(is_root && session.is_saved())?,
            models,
            top_of_mind: self.top_of_mind(&folder)?,
            tasks,
            agent,
            session,
            history,
            permissions,
            limits: limits(&options.profile),
            moderator: options.profile.moderator,
            retry: options.retry,
            hints,
            final_output,
            events,
            notifier,
            caller: options.caller,
            working_dir: folder,
            delegation,
            writer: options.writer,
            task_settings: self.task_settings()?,
            notices: self.notices().into_iter().chain(stricter).chain(lost).collect(),
        }))
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
    /// [needs it](crate::builtins::Builtin::needs_session).
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

    /// The permissions of a session that was last in some mode: in that mode, unless another one is given explicitly or the
    /// configuration has a stricter one. Then there is a notice for the user.
    fn session_permissions(
        &self,
        profile: &Profile,
        last: Option<Mode>,
    ) -> Result<(Arc<Permissions>, Option<String>), OpenError> {
        let permissions = self.permissions(profile)?;
        let is_explicit = matches!(self.settings.origin(MODE), Some(Origin::Flag | Origin::Environment(_)));
        let Some(last) = last.filter(|_| !is_explicit) else { return Ok((permissions, None)) };
        let configured = permissions.mode();
        permissions.set_mode(configured.stricter(last));
        let notice = (configured > last).then(|| {
            format!(
                "The session was last in the permission mode `{last}`. The configuration has `{configured}`, which is stricter \
                 and counts; `/mode {last}` changes it."
            )
        });
        Ok((permissions, notice))
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

    fn hints(&self, working_dir: &Path) -> Result<Hints, OpenError> {
        let settings = &self.settings;
        let home = settings.variable("HOME").map(PathBuf::from);
        let config_dir = &settings.paths().config;
        let project = self.project_hints(working_dir);
        let places = Places { config_dir, working_dir, home: home.as_deref(), project };
        Ok(match settings.get::<Vec<String>>(HINT_FILES)? {
            Some(names) => hints::load(places, &names),
            None => hints::load(places, hints::DEFAULT_NAMES),
        })
    }

    /// The choice of agents for requests: in sessions of the user, unless it is switched off.
    fn routing(&self, is_root: bool) -> Routing {
        match is_root {
            true if self.settings.is_on(ORCHESTRATOR_DISABLED) => Routing::Off,
            true => Routing::on(),
            false => Routing::Delegate,
        }
    }

    /// The source of what earlier sessions have about the first request, unless it is switched off.
    fn recall(&self, is_wanted: bool) -> Result<Option<Recall>, OpenError> {
        let settings: OrchestratorSettings = self.settings.get(ORCHESTRATOR)?.unwrap_or_default();
        let is_off = settings.recall == RecallScope::Off || self.is_switched_off("chatrecall");
        let recall = Recall { store: self.store.clone(), scope: settings.recall };
        Ok((is_wanted && !is_off).then_some(recall))
    }

    /// Returns true if the configuration switches a platform extension off.
    fn is_switched_off(&self, name: &str) -> bool {
        self.settings.extensions().iter().any(|entry| entry.key == name && !entry.enabled)
    }

    /// The settings of task graphs.
    fn task_settings(&self) -> Result<TaskSettings, OpenError> {
        Ok(self.settings.get::<TaskSettings>(ORCHESTRATOR)?.unwrap_or_default())
    }

    /// The text that the user wants the model to see, unless the configuration switches `tom` off.
    fn top_of_mind(&self, working_dir: &Path) -> Result<TopOfMind, OpenError> {
        let settings = &self.settings;
        if self.is_switched_off("tom") {
            return Ok(TopOfMind::default());
        }
        let home = settings.variable("HOME").map(Path::new);
        Ok(TopOfMind::new(settings, home, working_dir)?)
    }

    /// A project that brings a configuration is used as a whole or not at all.
    fn project_hints(&self, working_dir: &Path) -> ProjectHints {
        let is_trusted = self.settings.project_file().is_some();
        match ProjectFile::find(working_dir) {
            Ok(None) => ProjectHints::Used,
            _ if is_trusted => ProjectHints::Used,
            _ => ProjectHints::LeftOut,
        }
    }

    /// The notices that a person should read before the first reply.
    fn notices(&self) -> Vec<String> {
        let problems = self.settings.registry().problems().iter();
        let problems = problems.map(|problem| format!("A service cannot be used. {problem}."));
        let secrets = self.settings.paths().secrets_file();
        let is_exposed = FileSecrets::new(&secrets).is_readable_by_others();
        let exposed = is_exposed.then(|| {
            let path = secrets.display();
            format!("Others on this machine can read the secrets in {path}. Run `chmod 600 {path}`.")
        });
        problems.chain(exposed).collect()
    }
}

/// The settings under `orchestrator:` about what a request gets.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OrchestratorSettings {
    recall: RecallScope,
}

/// The model of an agent outside of a conversation.
struct NoModel;

#[async_trait]
impl Model for NoModel {
    async fn sample(&self, _: Sampling) -> ToolResult<Sampled> {
        Err(ToolError::execution("There is no model outside of a session."))
    }
}

/// The notice about an extension that was enabled in an earlier run of a session.
fn not_restored(name: &str) -> String {
    format!(
        "The extension `{name}` was enabled in this session, but the configuration does not enable it. Enable it again to use it."
    )
}

/// The agent of a session that does not name one.
fn default_agent() -> String {
    format!("{}/{}", goose_agent::NAME, goose_agent::ASSISTANT)
}

fn limits(profile: &Profile) -> Limits {
    Limits {
        turns: profile.max_turns.unwrap_or(Limits::TURNS).max(1),
        repetitions: profile.max_tool_repetitions.unwrap_or(Limits::REPETITIONS).max(1),
        context: profile.context_limit,
        threshold: profile.compact_threshold,
        unattended_answer: Limits::UNATTENDED_ANSWER,
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
