//! [`OpenOptions`]: the options of a conversation, set before it is opened.

use std::{path::PathBuf, sync::Arc};

use goose_extension::{Backend, BuildExtension, Caller, Notifier, SilentNotifier};
use goose_providers::{Provider, RetryPolicy};
use serde_json::Value;

use super::{
    OpenError, delegation::DelegateOrigin, host_extensions::HostExtension,
    session_extensions::SessionExtensions,
};
use goose_session::ChosenBy;

use crate::{
    agents::{
        catalog::AgentCatalog,
        manifest::{AgentManifest, AgentMode},
        orchestrator_agent::SplitSetting,
    },
    config::{ExtensionConfig, Profile},
    exchange::FinalOutput,
    permission::{Mode, Permissions},
    recipe::ResolvedSubRecipe,
    services::Frontend,
    session::{LoadedSession, PendingSession, Session, Step, StoreError, StoredStep},
};

/// The session of a conversation, new or resumed.
#[derive(Debug)]
pub struct SessionState {
    pub(crate) session: Session,
    pub(crate) steps: Vec<StoredStep>,
    pub(crate) is_unfinished: bool,
    /// Agent that the session was last used with.
    pub(crate) agent: Option<String>,
    /// Origin of that choice.
    pub(crate) chosen_by: ChosenBy,
}

impl From<Session> for SessionState {
    fn from(session: Session) -> Self {
        Self { session, steps: Vec::new(), is_unfinished: false, agent: None, chosen_by: ChosenBy::Default }
    }
}

impl From<LoadedSession> for SessionState {
    fn from(opened: LoadedSession) -> Self {
        let chosen_by = last_choice(&opened);
        Self {
            chosen_by,
            session: opened.session,
            steps: opened.steps,
            is_unfinished: opened.unfinished,
            agent: opened.summary.agent,
        }
    }
}

/// Returns how the agent of a session was chosen. An agent without a logged change was named at the start,
/// like a delegate's.
fn last_choice(opened: &LoadedSession) -> ChosenBy {
    let change = opened.steps.iter().rev().find_map(|stored| match &stored.step {
        Step::ModeChanged { agent: Some(_), routed, .. } => Some(*routed),
        _ => None,
    });
    match change {
        Some(true) => ChosenBy::Routing,
        Some(false) => ChosenBy::User,
        None if opened.summary.agent.is_some() => ChosenBy::User,
        None => ChosenBy::Default,
    }
}

/// The session of a conversation, which may still be being created.
pub(super) enum ChosenSession {
    Ready(SessionState),
    Pending(PendingSession),
}

impl ChosenSession {
    /// Returns the permission mode that a resumed session was last in.
    pub(super) fn last_mode(&self) -> Option<Mode> {
        self.steps().iter().rev().find_map(|stored| match stored.step {
            Step::ModeChanged { permission, .. } => permission,
            _ => None,
        })
    }

    /// Returns the log of a resumed session.
    pub(super) fn steps(&self) -> &[StoredStep] {
        match self {
            Self::Ready(state) => &state.steps,
            Self::Pending(_) => &[],
        }
    }

    /// Returns true if the session has no messages.
    pub(super) fn is_new(&self) -> bool {
        !self.steps().iter().any(|stored| matches!(stored.step, Step::Message { .. }))
    }

    pub(super) async fn ready(self) -> Result<SessionState, StoreError> {
        match self {
            Self::Ready(state) => Ok(state),
            Self::Pending(pending) => pending.created().await.map(SessionState::from),
        }
    }
}

/// Options of a conversation. Everything that is not set comes from the settings of the
/// [`AgentManager`](super::AgentManager).
#[must_use]
pub struct OpenOptions {
    pub(super) profile: Profile,
    pub(super) agent: ChosenAgent,
    pub(super) session: Option<ChosenSession>,
    pub(super) permissions: Option<Arc<Permissions>>,
    /// Origin of this session, if it is a delegate.
    pub(super) origin: Option<DelegateOrigin>,
    pub(super) place: ToolPlace,
    pub(super) notifier: Arc<dyn Notifier>,
    pub(super) caller: Option<Arc<dyn Caller>>,
    /// Working model and fast model, instead of the profile's.
    pub(super) models: Option<(Arc<dyn Provider>, Arc<dyn Provider>)>,
    pub(super) retry: RetryPolicy,
    pub(super) extensions: ExtensionOptions,
    pub(super) instructions: Vec<String>,
    pub(super) response_schema: Option<Value>,
    /// First request of the session, if it is known.
    pub(super) first_request: Option<String>,
    /// Splitting of lists into tasks, instead of the settings'.
    pub(super) split: Option<SplitSetting>,
}

/// Agent of a conversation.
#[derive(Clone)]
pub(super) struct ChosenAgent {
    pub(super) manifest: Arc<AgentManifest>,
    pub(super) mode: AgentMode,
    /// Origin of the choice. A resumed session has its own value.
    pub(super) chosen_by: ChosenBy,
}

/// Place where the tools of a session work.
#[derive(Default)]
pub(super) struct ToolPlace {
    pub(super) working_dir: Option<PathBuf>,
    /// Files and programs, instead of those of this machine.
    pub(super) backend: Option<Arc<dyn Backend>>,
    /// True if files are copied before the backend changes them.
    pub(super) keeps_checkpoints: bool,
}

/// Extensions of a session, besides those of its profile.
#[derive(Clone, Default)]
pub(super) struct ExtensionOptions {
    pub(super) given: Vec<ExtensionConfig>,
    pub(super) host: Vec<HostExtension>,
    /// Extensions that were enabled or disabled in the session, or in the one that delegates.
    pub(super) switched: Arc<SessionExtensions>,
    /// User interface that runs the tools of `frontend` extensions.
    pub(super) frontend: Option<Arc<dyn Frontend>>,
    /// Recipes that the session can delegate to.
    pub(super) sub_recipes: Arc<[ResolvedSubRecipe]>,
    /// If set, agents may have only these extensions.
    pub(super) only: Option<Vec<String>>,
}

impl OpenOptions {
    /// Returns the form of the final answer, if there is a schema for it.
    pub(super) fn final_output(&self) -> Result<Option<FinalOutput>, OpenError> {
        self.response_schema.as_ref().map(FinalOutput::new).transpose().map_err(OpenError::Schema)
    }

    /// Creates options for a conversation with the models and extensions of a profile, in a new session of
    /// the store.
    pub fn new(profile: Profile) -> Self {
        let (manifest, mode) = AgentCatalog::default_agent();
        Self {
            profile,
            agent: ChosenAgent { manifest, mode, chosen_by: ChosenBy::Default },
            session: None,
            permissions: None,
            origin: None,
            place: ToolPlace::default(),
            notifier: Arc::new(SilentNotifier),
            caller: None,
            models: None,
            retry: RetryPolicy::default(),
            extensions: ExtensionOptions::default(),
            instructions: Vec::new(),
            response_schema: None,
            first_request: None,
            split: None,
        }
    }

    /// Uses an agent that the user named, in one of its modes. Requests are not routed to another agent.
    pub fn with_agent(mut self, manifest: Arc<AgentManifest>, mode: AgentMode) -> Self {
        self.agent = ChosenAgent { manifest, mode, chosen_by: ChosenBy::User };
        self
    }

    /// Uses the agent that the session was last used with.
    pub fn with_last_agent(mut self, manifest: Arc<AgentManifest>, mode: AgentMode) -> Self {
        (self.agent.manifest, self.agent.mode) = (manifest, mode);
        self
    }

    /// Uses another mode, which the user named.
    pub fn with_mode(mut self, mode: AgentMode) -> Self {
        (self.agent.mode, self.agent.chosen_by) = (mode, ChosenBy::User);
        self
    }

    /// Stores the conversation in this session, new or resumed.
    pub fn with_session(mut self, session: impl Into<SessionState>) -> Self {
        self.session = Some(ChosenSession::Ready(session.into()));
        self
    }

    /// Stores the conversation in this new session, which is awaited only when everything else is ready.
    pub fn with_pending_session(mut self, session: PendingSession) -> Self {
        self.session = Some(ChosenSession::Pending(session));
        self
    }

    /// Sets the working folder; by default that of the process.
    pub fn with_working_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.place.working_dir = Some(dir.into());
        self
    }

    /// Sets the receiver of notifications from extensions.
    pub fn with_notifier(mut self, notifier: impl Notifier + 'static) -> Self {
        self.notifier = Arc::new(notifier);
        self
    }

    /// Sets the caller that answers questions of tools.
    pub fn with_caller(mut self, caller: Arc<dyn Caller>) -> Self {
        self.caller = Some(caller);
        self
    }

    /// Uses these files and programs for the tools of the session and of its delegates.
    pub fn with_backend(mut self, backend: Arc<dyn Backend>) -> Self {
        self.place.backend = Some(backend);
        self
    }

    /// Keeps copies of the files that the [backend](Self::with_backend) changes, so that the user can take changes
    /// back. A session that is not stored has none.
    pub fn with_checkpoints(mut self) -> Self {
        self.place.keeps_checkpoints = true;
        self
    }

    /// Attaches a user interface that runs the tools of `frontend` extensions.
    pub fn with_frontend(mut self, frontend: Arc<dyn Frontend>) -> Self {
        self.extensions.frontend = Some(frontend);
        self
    }

    /// Uses these permissions instead of the profile's.
    pub fn with_permissions(mut self, permissions: Arc<Permissions>) -> Self {
        self.permissions = Some(permissions);
        self
    }

    /// Uses this model instead of the profile's, also as the fast model.
    pub fn with_provider(mut self, provider: Arc<dyn Provider>) -> Self {
        self.models = Some((Arc::clone(&provider), provider));
        self
    }

    /// Sets a fast model besides the model of [`with_provider`](Self::with_provider).
    pub fn with_accelerator(mut self, accelerator: Arc<dyn Provider>) -> Self {
        self.models = self.models.map(|(processor, _)| (processor, accelerator));
        self
    }

    /// Adds extensions to the profile's. They win over those of the profile with the same name.
    pub fn with_extensions(mut self, configs: impl IntoIterator<Item = ExtensionConfig>) -> Self {
        self.extensions.given.extend(configs);
        self
    }

    /// Registers an extension of the host program, for profiles that name it. The profile binds its
    /// requirements.
    pub fn with_extension<E: BuildExtension>(mut self, name: impl Into<String>) -> Self {
        self.extensions.host.push(HostExtension::new::<E>(name.into()));
        self
    }

    /// Adds instructions for the model.
    pub fn with_instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions.push(text.into());
        self
    }

    /// Requires a final answer that matches this JSON Schema.
    pub fn with_response_schema(mut self, schema: Value) -> Self {
        self.response_schema = Some(schema);
        self
    }

    /// Limits the number of model requests for one reply.
    pub fn with_max_turns(mut self, turns: u32) -> Self {
        self.profile.max_turns = Some(turns);
        self
    }

    /// Limits how often the same call may be made in a row.
    pub fn with_max_repetitions(mut self, repetitions: u32) -> Self {
        self.profile.max_tool_repetitions = Some(repetitions);
        self
    }

    /// Sets whether lists of independent jobs are split into tasks, instead of the settings.
    pub fn with_split(mut self, split: SplitSetting) -> Self {
        self.split = Some(split);
        self
    }

    /// Sets the first request, which must be the next message. Its agent is chosen before any service is
    /// bound.
    pub fn with_request(mut self, text: impl Into<String>) -> Self {
        self.first_request = Some(text.into());
        self
    }

    /// Sets the retry policy.
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }
}

impl std::fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenOptions")
            .field("profile", &self.profile)
            .field("mode", &self.agent.mode.slug)
            .finish_non_exhaustive()
    }
}
