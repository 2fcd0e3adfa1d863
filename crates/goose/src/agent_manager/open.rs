//! [`AgentManager::open`]: puts an exchange together from the parts of its folder, its session and its
//! agents.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use goose_providers::RetryPolicy;
use parking_lot::Mutex;

use super::{
    AgentManager, MODE, OpenError, OpenOptions, SessionState,
    agent_maker::{AgentMaker, Binder, BoundServices},
    delegation::{DelegateOrigin, DelegatingSession, Delegation, StartedDelegates},
    models::open_models,
    options::{ChosenAgent, ChosenSession},
    working_dir,
};
use goose_session::ChosenBy;

use crate::{
    agents::{
        agent::{ActiveAgent, Agent},
        goose_agent,
        orchestrator_agent::{
            ContextInputs, OrchestratorAgent, OrchestratorSettings, Recall, RecallScope, Route,
            RouteSettings, TaskGraph, route,
        },
    },
    checkpoints::{CheckpointBackend, Checkpoints},
    config::{ConfigFile, FileSecrets, Origin, Profile, ProjectFile},
    context::hints::{self, Hints, Places, ProjectHints},
    exchange::{
        ActiveModels, CallGuard, Delegates, EventHub, Exchange, FolderContext, History, Limits, LoopContext,
        Outlets, SessionNotifier, SessionTasks, TaskWriter,
    },
    hooks::{HookFile, HookFileState, HookPlace, Hooks, SessionSource, untrusted_hooks_notice},
    permission::{Mode, Permissions},
    platform::tom::TopOfMind,
    session::{NewSession, Session, Step},
};

/// Setting with the names of the hint files.
const HINT_FILES: &str = "CONTEXT_FILE_NAMES";

impl AgentManager {
    /// Opens a conversation. Extensions whose tools are not known are started in the background.
    ///
    /// # Errors
    ///
    /// Returns an error that says what is missing or wrong, and where.
    pub async fn open(&self, mut options: OpenOptions) -> Result<Exchange, OpenError> {
        let final_output = options.final_output()?;
        let dir = working_dir(options.place.working_dir.take())?;
        let chosen = options.session.take().unwrap_or_else(|| {
            ChosenSession::Pending(self.store.start_creating(NewSession::in_folder(&dir)))
        });
        let models = open_models(&self.settings, &options).await?;
        let guard = self.guard(&options, &chosen)?;
        let routing = self.routing(&options)?;
        let lost = options.extensions.switched.restore(chosen.steps(), &self.settings);
        let binder = self.binder(&mut options, &dir);
        let first = FirstAgent::choose(&mut options, routing, &chosen, &binder);
        let (first, bound) = first.bind(&options, &binder).await?;
        let hints = self.hints(&dir)?;
        // Awaited as late as possible, because the store opens concurrently until here.
        let mut runtime = SessionRuntime::new(chosen.ready().await?, &mut options, &binder, &guard);
        let folder = self.folder(dir, hints, &mut options, &runtime);
        let (maker, delegates) = agent_maker(binder, &options, &guard.permissions, &models, &runtime);
        let agent = ActiveAgent::new(first.make(bound, &maker, &runtime).await?);
        let orchestrator = self.orchestrator(routing, first, &folder, delegates, &mut runtime)?;
        let mut notices = self.notices(&folder.hints, routing.is_some().then_some(&options.profile));
        notices.extend(guard.notice);
        let hooks = self.hooks(routing.is_some(), &guard.permissions, &folder, &runtime, &mut notices);
        notices.extend(lost.iter().map(|name| not_restored(name)));
        let context = LoopContext {
            folder,
            session: runtime.session,
            models,
            agents: Arc::new(maker),
            guard: CallGuard { permissions: guard.permissions, hooks, writer: runtime.writer },
            limits: limits(&options.profile, options.retry),
            final_output,
            outlets: Outlets { events: runtime.events, notifier: options.notifier, caller: options.caller },
            tasks: runtime.tasks,
            usage: runtime.history.usage(),
            conversation: runtime.history.into_conversation(&agent, notices),
            agent,
        };
        Ok(Exchange::new(context, Arc::new(orchestrator)))
    }

    /// Returns the permissions of a session: those of the options, or of the profile.
    fn guard(&self, options: &OpenOptions, chosen: &ChosenSession) -> Result<SessionGuard, OpenError> {
        if let Some(permissions) = options.permissions.clone() {
            return Ok(SessionGuard { permissions, notice: None, mode_change: None });
        }
        let last = chosen.last_mode();
        let (permissions, notice) = self.session_permissions(&options.profile, last)?;
        let mode = permissions.mode();
        let mode_change = (last.unwrap_or_default() != mode).then_some(mode);
        Ok(SessionGuard { permissions, notice, mode_change })
    }

    fn folder(
        &self,
        working_dir: PathBuf,
        hints: Hints,
        options: &mut OpenOptions,
        runtime: &SessionRuntime,
    ) -> FolderContext {
        let checkpoints = self.checkpoints(options, runtime);
        FolderContext {
            hints,
            working_dir,
            has_ripgrep: self.has_program("rg"),
            long_messages: self.settings.paths().cache.join("messages"),
            backend: options.place.backend.clone(),
            checkpoints,
        }
    }

    /// Puts checkpoints in front of the backend, if the options ask for them.
    fn checkpoints(&self, options: &mut OpenOptions, runtime: &SessionRuntime) -> Option<Arc<Checkpoints>> {
        let inner = options.place.backend.clone().filter(|_| options.place.keeps_checkpoints)?;
        if !runtime.session.is_saved() || !inner.is_local() {
            return None;
        }
        let events = Arc::downgrade(&runtime.events);
        let now = move || events.upgrade().map(|events| events.moment()).unwrap_or_default();
        let (paths, session) = (self.settings.paths(), runtime.session.id().clone());
        let checkpoints = Checkpoints::new(paths, session, Box::new(now), inner);
        options.place.backend = Some(Arc::new(CheckpointBackend(Arc::clone(&checkpoints))));
        Some(checkpoints)
    }

    /// Returns the settings of the routing, from the settings and the options. Returns `None` for a delegate.
    fn routing(&self, options: &OpenOptions) -> Result<Option<RouteSettings>, OpenError> {
        if options.origin.is_some() {
            return Ok(None);
        }
        let settings = RouteSettings::load(&self.settings)?;
        Ok(Some(RouteSettings { split: options.split.unwrap_or(settings.split), ..settings }))
    }

    /// Returns the binder of a session. Takes the extensions of the options.
    pub(super) fn binder(&self, options: &mut OpenOptions, working_dir: &Path) -> Arc<Binder> {
        Arc::new(Binder {
            manager: self.clone(),
            profile: options.profile.clone(),
            working_dir: working_dir.to_owned(),
            extensions: std::mem::take(&mut options.extensions),
        })
    }

    fn orchestrator(
        &self,
        routing: Option<RouteSettings>,
        first: FirstAgent,
        folder: &FolderContext,
        delegates: Arc<dyn Delegates>,
        runtime: &mut SessionRuntime,
    ) -> Result<OrchestratorAgent, OpenError> {
        let settings = OrchestratorSettings::load(&self.settings)?;
        let is_off = settings.recall == RecallScope::Off || self.is_switched_off("chatrecall");
        let recall = Recall { store: self.store.clone(), scope: settings.recall };
        let context = ContextInputs {
            top_of_mind: self.top_of_mind(&folder.working_dir)?,
            recall: (routing.is_some() && runtime.session.is_saved() && !is_off).then_some(recall),
        };
        let interrupted = runtime.interrupted.take();
        Ok(OrchestratorAgent::new(settings, routing, first.route, context, delegates, interrupted))
    }

    /// Returns the permissions of a session that was last in some mode: in that mode, unless another one is
    /// given explicitly or the configuration has a stricter one. Then there is a notice for the user.
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

    /// Returns true if commands find a program by its name.
    fn has_program(&self, name: &str) -> bool {
        let path = self.settings.variable("PATH").unwrap_or_default();
        std::env::split_paths(path).any(|folder| folder.join(name).is_file())
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

    /// Returns the hooks of a session, and notices about those that cannot be used. A delegate has only the
    /// hooks about tools.
    fn hooks(
        &self,
        is_root: bool,
        permissions: &Arc<Permissions>,
        folder: &FolderContext,
        runtime: &SessionRuntime,
        notices: &mut Vec<String>,
    ) -> Option<Arc<Hooks>> {
        let files = HookFile::find_all(&self.settings, &folder.working_dir);
        if is_root {
            notices.extend(files.iter().filter_map(HookFile::notice));
            notices.extend(untrusted_hooks_notice(&files));
        }
        let used = files.into_iter().filter(|file| file.state == HookFileState::Used);
        let hooks = used.flat_map(|file| file.hooks).filter(|hook| is_root || hook.event.is_about_tool());
        let hooks = Hooks::new(hooks.collect(), || HookPlace {
            session_id: runtime.session.id().to_string(),
            working_dir: folder.working_dir.clone(),
            environment: self.context(&folder.working_dir).environment,
            permissions: Arc::clone(permissions),
        })?;
        if !runtime.history.view().processor.messages.snapshot().is_empty() {
            hooks.starts_by(SessionSource::Resume);
        }
        Some(hooks)
    }

    /// Returns true if the configuration disables a platform extension.
    fn is_switched_off(&self, name: &str) -> bool {
        self.settings.extensions().iter().any(|entry| entry.key == name && !entry.enabled)
    }

    /// Returns the top-of-mind text, unless the configuration disables `tom`.
    fn top_of_mind(&self, working_dir: &Path) -> Result<TopOfMind, OpenError> {
        let settings = &self.settings;
        if self.is_switched_off("tom") {
            return Ok(TopOfMind::default());
        }
        let home = settings.variable("HOME").map(Path::new);
        Ok(TopOfMind::new(settings, home, working_dir)?)
    }

    /// Decides whether the hints of the project are used. If the project has a configuration, the user must
    /// trust it.
    fn project_hints(&self, working_dir: &Path) -> ProjectHints {
        let is_trusted = self.settings.project_file().is_some();
        match ProjectFile::find(working_dir) {
            Ok(Some(_)) | Err(_) if !is_trusted => ProjectHints::LeftOut,
            _ => ProjectHints::Used,
        }
    }

    /// Returns notices for the user before the first reply. Those about hints and configuration are not repeated
    /// in a delegate, which has no profile of the root.
    fn notices(&self, hints: &Hints, root: Option<&Profile>) -> Vec<String> {
        let problems = self.settings.registry().problems().iter();
        let problems = problems.map(|problem| format!("A service cannot be used. {problem}."));
        let secrets = self.settings.paths().secrets_file();
        let is_exposed = FileSecrets::new(&secrets).is_readable_by_others();
        let exposed = is_exposed.then(|| {
            let path = secrets.display();
            format!("Others on this machine can read the secrets in {path}. Run `chmod 600 {path}`.")
        });
        let notices = problems.chain(exposed);
        let Some(profile) = root else { return notices.collect() };
        let files = self.settings.project_file().into_iter().chain([self.settings.user_file()]);
        let unknown = files.flat_map(ConfigFile::unknown_keys).map(|key| key.to_string());
        let unusable = self.unusable_extensions(profile);
        notices.chain(hints.problems.iter().cloned()).chain(unusable).chain(unknown).collect()
    }

    /// Returns a notice for each enabled entry under `extensions:` that cannot be used. A profile that lists
    /// its extensions uses no other entries.
    fn unusable_extensions(&self, profile: &Profile) -> Vec<String> {
        let entries = self.settings.extensions().iter().filter(|_| profile.adds_dependencies);
        let errors = entries.filter(|entry| entry.enabled).filter_map(|entry| entry.checked().err());
        errors.map(|error| format!("An extension is not used: {error}")).collect()
    }
}

/// Permissions of a session.
struct SessionGuard {
    permissions: Arc<Permissions>,
    /// Notice that the configuration is stricter than the session was.
    notice: Option<String>,
    /// Mode to be logged, if the log has another one.
    mode_change: Option<Mode>,
}

/// The agent that a session is opened with.
struct FirstAgent {
    agent: ChosenAgent,
    /// Route of the first request, if the request is known and routing chose the agent.
    route: Option<Route>,
}

impl FirstAgent {
    /// Returns the agent of the options. If the first request of a session is known and no agent is named,
    /// the request is routed before any service is bound.
    fn choose(
        options: &mut OpenOptions,
        routing: Option<RouteSettings>,
        chosen: &ChosenSession,
        binder: &Binder,
    ) -> Self {
        let agent = options.agent.clone();
        let is_open = agent.chosen_by == ChosenBy::Default && chosen.is_new();
        let request = options.first_request.take().filter(|_| is_open);
        let given = Self { agent, route: None };
        let Some((request, settings)) = request.zip(routing.filter(|settings| settings.is_on)) else {
            return given;
        };
        let catalog = binder.catalog();
        let route = route(&catalog, &request, settings, None).ok().filter(Route::is_settled);
        let found = route.as_ref().and_then(|route| catalog.find(&route.id()).ok());
        match found {
            Some((manifest, mode))
                if given.agent.manifest.name == manifest.name && given.agent.mode.slug == mode.slug =>
            {
                Self { route, ..given }
            }
            Some((manifest, mode)) => {
                Self { agent: ChosenAgent { manifest, mode, chosen_by: ChosenBy::Routing }, route }
            }
            None => given,
        }
    }

    /// Binds the services of the agent. If a routed agent cannot have them, the session gets the given agent.
    async fn bind(self, options: &OpenOptions, binder: &Binder) -> Result<(Self, BoundServices), OpenError> {
        match binder.bind(&self.agent.manifest, &self.agent.mode).await {
            Ok(bound) => Ok((self, bound)),
            Err(error) if self.route.is_some() => {
                tracing::debug!(%error, "the routed agent cannot be bound");
                let given = options.agent.clone();
                let bound = binder.bind(&given.manifest, &given.mode).await?;
                Ok((Self { agent: given, route: None }, bound))
            }
            Err(error) => Err(error),
        }
    }

    /// Makes the agent. Logs how it was chosen, if that has changed.
    async fn make(
        &self,
        bound: BoundServices,
        maker: &AgentMaker,
        runtime: &SessionRuntime,
    ) -> Result<Agent, OpenError> {
        let ChosenAgent { manifest, mode, chosen_by } = self.agent.clone();
        let mut agent = maker.agent_with(bound, manifest, mode).await?;
        let default = || goose_agent::id(goose_agent::ASSISTANT);
        let is_last = runtime.last_agent.clone().unwrap_or_else(default) == agent.id();
        agent.chosen_by = match chosen_by {
            ChosenBy::Default if is_last => runtime.chosen_by,
            named => named,
        };
        if !is_last || agent.chosen_by != runtime.chosen_by {
            runtime.events.store_later(Step::agent_changed(agent.id(), agent.chosen_by));
        }
        Ok(agent)
    }
}

/// Parts of a session that live while it is open.
struct SessionRuntime {
    session: Session,
    history: History,
    /// Tasks that were interrupted because goose ended.
    interrupted: Option<TaskGraph>,
    last_agent: Option<String>,
    chosen_by: ChosenBy,
    events: Arc<EventHub>,
    tasks: SessionTasks,
    origin: Mutex<DelegateOrigin>,
    /// Task that the session works on, if others run in parallel.
    writer: Option<TaskWriter>,
}

impl SessionRuntime {
    fn new(state: SessionState, options: &mut OpenOptions, binder: &Binder, guard: &SessionGuard) -> Self {
        let SessionState { session, steps, is_unfinished, agent, chosen_by } = state;
        let origin = options.origin.take().unwrap_or_default();
        let last = steps.last().map_or(0, |stored| stored.seq);
        let events = EventHub::new(session.id().clone(), last, origin.writer.as_ref().map(TaskWriter::task));
        binder.extensions.switched.log_to(&events);
        if let Some(mode) = guard.mode_change {
            events.store_later(Step::permission_changed(mode));
        }
        Self {
            session,
            interrupted: TaskGraph::from_steps(steps.iter().map(|stored| &stored.step)),
            history: History::new(steps, is_unfinished, origin.payer.clone()),
            last_agent: agent,
            chosen_by,
            events,
            tasks: SessionTasks::default(),
            writer: origin.writer.clone(),
            origin: Mutex::new(origin),
        }
    }
}

/// Returns the makers of a session's agents and of its delegates.
fn agent_maker(
    binder: Arc<Binder>,
    options: &OpenOptions,
    permissions: &Arc<Permissions>,
    models: &ActiveModels,
    runtime: &SessionRuntime,
) -> (AgentMaker, Arc<dyn Delegates>) {
    let mut shared = Binder::clone(&binder);
    shared.extensions.only = None;
    let delegates: Arc<dyn Delegates> = Arc::new(Delegation(Arc::new(DelegatingSession {
        binder: shared,
        permissions: Arc::clone(permissions),
        caller: options.caller.clone(),
        backend: options.place.backend.clone(),
        retry: options.retry.clone(),
        session: runtime.session.clone(),
        events: Arc::downgrade(&runtime.events),
        usage: runtime.history.usage(),
        models: models.clone(),
        tasks: runtime.tasks.clone(),
        origin: std::mem::take(&mut *runtime.origin.lock()),
        started: StartedDelegates::default(),
    })));
    let notifier = SessionNotifier::new(&runtime.events, Arc::clone(&options.notifier));
    let maker = AgentMaker {
        binder,
        instructions: options.instructions.clone(),
        permissions: Arc::clone(permissions),
        notifier: Arc::new(notifier),
        view: runtime.history.view(),
        session: runtime.session.clone(),
        model: runtime.history.session_model(models),
        delegation: Some(Arc::clone(&delegates)),
    };
    (maker, delegates)
}

/// Returns the notice about an extension that was enabled in an earlier run of a session.
fn not_restored(name: &str) -> String {
    format!(
        "The extension `{name}` was enabled in this session, but the configuration does not enable it. Enable it again to use it."
    )
}

fn limits(profile: &Profile, retry: RetryPolicy) -> Limits {
    Limits {
        turns: profile.max_turns.unwrap_or(Limits::TURNS).max(1),
        repetitions: profile.max_tool_repetitions.unwrap_or(Limits::REPETITIONS).max(1),
        context: profile.context_limit,
        threshold: profile.compact_threshold,
        moderator: profile.moderator,
        unattended_answer: Limits::UNATTENDED_ANSWER,
        retry,
    }
}
