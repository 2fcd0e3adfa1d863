//! [`AgentManager::open`]: an exchange put together from its parts.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
use serde::Deserialize;

use super::{
    AgentManager, MODE, OpenError, OpenOptions, SessionState,
    agent_maker::{AgentMaker, Binder},
    delegation::Delegation,
    models::Models,
    options::ChosenSession,
    working_dir,
};
use crate::{
    agents::{
        agent::ChosenBy,
        goose_agent,
        orchestrator_agent::{RouteSettings, SplitSetting},
    },
    config::{FileSecrets, Origin, Profile, ProjectFile},
    context::hints::{self, Hints, Places, ProjectHints},
    exchange::{
        ActiveModels, EventHub, Exchange, FinalOutput, History, Limits, Parts, Recall, RecallScope, Routing,
        SessionNotifier, SessionTasks, TaskSettings, TaskWriter, prepare,
    },
    permission::{Mode, Permissions},
    platform::tom::TopOfMind,
    session::{NewSession, Step},
};

/// The settings of the orchestrator.
const ORCHESTRATOR: &str = "orchestrator";

/// The setting that names the files with hints.
const HINT_FILES: &str = "CONTEXT_FILE_NAMES";

impl AgentManager {
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
        let parts = Parts {
            agents: Arc::new(maker),
            routing: self.routing(is_root, options.split)?,
            recall: self.recall(is_root && session.is_saved())?,
            models,
            top_of_mind: self.top_of_mind(&folder)?,
            tasks,
            session,
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
        };
        let notices = self.notices().into_iter().chain(stricter).chain(lost).collect();
        Ok(Exchange::new(parts, agent, history, notices))
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

    /// The choice of agents for requests: in sessions of the user, as the settings and the options say.
    fn routing(&self, is_root: bool, split: Option<SplitSetting>) -> Result<Routing, OpenError> {
        if !is_root {
            return Ok(Routing::Delegate);
        }
        let settings = RouteSettings::load(&self.settings)?;
        Ok(Routing::session(RouteSettings { split: split.unwrap_or(settings.split), ..settings }))
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
