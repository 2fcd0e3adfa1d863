//! [`OpenOptions`]: everything that can be said about a conversation before it is opened.

use std::{path::PathBuf, sync::Arc};

use goose_extension::{BuildExtension, Caller, Notifier, SilentNotifier};
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
    exchange::{FinalOutput, TaskWriter},
    permission::{Mode, Permissions},
    session::{LoadedSession, PendingSession, Session, Step, StoreError, StoredStep},
};

/// The session that a conversation is kept in: a new one, or one that is resumed.
#[derive(Debug)]
pub struct SessionState {
    pub(crate) session: Session,
    pub(crate) steps: Vec<StoredStep>,
    pub(crate) is_unfinished: bool,
    /// The agent that it was last used with.
    pub(crate) agent: Option<String>,
    /// The reason for that agent.
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

/// The reason why a session has its agent. One that is there from the beginning was named, as a delegate's is.
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

/// The session of a conversation, which may still be in the making.
pub(super) enum ChosenSession {
    Ready(SessionState),
    Pending(PendingSession),
}

impl ChosenSession {
    /// The permission mode that a resumed session was last in.
    pub(super) fn last_mode(&self) -> Option<Mode> {
        self.steps().iter().rev().find_map(|stored| match stored.step {
            Step::ModeChanged { permission, .. } => permission,
            _ => None,
        })
    }

    /// The log of a session that is resumed.
    pub(super) fn steps(&self) -> &[StoredStep] {
        match self {
            Self::Ready(state) => &state.steps,
            Self::Pending(_) => &[],
        }
    }

    /// Returns true if nothing was said in it.
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

/// The options of a conversation. Everything that they leave out comes from the settings of the
/// [`AgentManager`](super::AgentManager).
#[must_use]
pub struct OpenOptions {
    pub(super) profile: Profile,
    pub(super) manifest: Arc<AgentManifest>,
    pub(super) mode: AgentMode,
    /// The reason for this agent; the session's own where it is resumed.
    pub(super) chosen_by: ChosenBy,
    pub(super) session: Option<ChosenSession>,
    pub(super) working_dir: Option<PathBuf>,
    pub(super) notifier: Arc<dyn Notifier>,
    pub(super) caller: Option<Arc<dyn Caller>>,
    pub(super) permissions: Option<Arc<Permissions>>,
    /// The working model and the fast one, in place of the profile's.
    pub(super) models: Option<(Arc<dyn Provider>, Arc<dyn Provider>)>,
    pub(super) extensions: Vec<ExtensionConfig>,
    pub(super) host_extensions: Vec<HostExtension>,
    pub(super) instructions: Vec<String>,
    pub(super) response_schema: Option<Value>,
    pub(super) retry: RetryPolicy,
    pub(super) only_extensions: Option<Vec<String>>,
    /// The task that this session works on, if others run beside it.
    pub(super) writer: Option<TaskWriter>,
    /// The session that delegates this one.
    pub(super) origin: Option<DelegateOrigin>,
    /// Extensions that were enabled and disabled there.
    pub(super) switched: SessionExtensions,
    /// Splitting of lists into tasks, in place of the settings'.
    pub(super) split: Option<SplitSetting>,
    /// The first request, if it is known.
    pub(super) request: Option<String>,
}

impl OpenOptions {
    /// The form of the final answer, if one is asked for.
    pub(super) fn final_output(&self) -> Result<Option<FinalOutput>, OpenError> {
        self.response_schema.as_ref().map(FinalOutput::new).transpose().map_err(OpenError::Schema)
    }

    /// A conversation with the models and extensions of a profile, in a new session of the store.
    pub fn new(profile: Profile) -> Self {
        let (manifest, mode) = AgentCatalog::default_agent();
        Self {
            profile,
            manifest,
            mode,
            chosen_by: ChosenBy::Default,
            session: None,
            working_dir: None,
            notifier: Arc::new(SilentNotifier),
            caller: None,
            permissions: None,
            models: None,
            extensions: Vec::new(),
            host_extensions: Vec::new(),
            instructions: Vec::new(),
            response_schema: None,
            retry: RetryPolicy::default(),
            only_extensions: None,
            writer: None,
            origin: None,
            switched: SessionExtensions::default(),
            split: None,
            request: None,
        }
    }

    /// With an agent that the user named, in one of its modes. No request is routed to another one.
    pub fn with_agent(mut self, manifest: Arc<AgentManifest>, mode: AgentMode) -> Self {
        (self.manifest, self.mode, self.chosen_by) = (manifest, mode, ChosenBy::User);
        self
    }

    /// With the agent that the session was last used with.
    pub fn with_last_agent(mut self, manifest: Arc<AgentManifest>, mode: AgentMode) -> Self {
        (self.manifest, self.mode) = (manifest, mode);
        self
    }

    /// With another mode, which the user named.
    pub fn with_mode(mut self, mode: AgentMode) -> Self {
        (self.mode, self.chosen_by) = (mode, ChosenBy::User);
        self
    }

    /// Kept in this session, new or resumed.
    pub fn with_session(mut self, session: impl Into<SessionState>) -> Self {
        self.session = Some(ChosenSession::Ready(session.into()));
        self
    }

    /// Kept in this new session, which is waited for only once everything else is there.
    pub fn with_pending_session(mut self, session: PendingSession) -> Self {
        self.session = Some(ChosenSession::Pending(session));
        self
    }

    /// Working in this folder; by default in this process's.
    pub fn with_working_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.working_dir = Some(dir.into());
        self
    }

    /// With reports of extensions.
    pub fn with_notifier(mut self, notifier: impl Notifier + 'static) -> Self {
        self.notifier = Arc::new(notifier);
        self
    }

    /// With answers to what tools ask.
    pub fn with_caller(mut self, caller: Arc<dyn Caller>) -> Self {
        self.caller = Some(caller);
        self
    }

    /// Under these permissions, in place of the profile's.
    pub fn with_permissions(mut self, permissions: Arc<Permissions>) -> Self {
        self.permissions = Some(permissions);
        self
    }

    /// With this model in place of the profile's, for everything.
    pub fn with_provider(mut self, provider: Arc<dyn Provider>) -> Self {
        self.models = Some((Arc::clone(&provider), provider));
        self
    }

    /// With another fast model than the one of [`with_provider`](Self::with_provider).
    pub fn with_accelerator(mut self, accelerator: Arc<dyn Provider>) -> Self {
        self.models = self.models.map(|(processor, _)| (processor, accelerator));
        self
    }

    /// With these extensions besides the profile's. They win where the profile has some of the same names.
    pub fn with_extensions(mut self, configs: impl IntoIterator<Item = ExtensionConfig>) -> Self {
        self.extensions.extend(configs);
        self
    }

    /// With an extension of the program's own, for profiles that name it. What it requires is what the profile binds.
    pub fn with_extension<E: BuildExtension>(mut self, name: impl Into<String>) -> Self {
        self.host_extensions.push(HostExtension::new::<E>(name.into()));
        self
    }

    /// With more that the model is told.
    pub fn with_instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions.push(text.into());
        self
    }

    /// With a final answer that fits this JSON Schema.
    pub fn with_response_schema(mut self, schema: Value) -> Self {
        self.response_schema = Some(schema);
        self
    }

    /// Asks the model at most this often for one reply.
    pub fn with_max_turns(mut self, turns: u32) -> Self {
        self.profile.max_turns = Some(turns);
        self
    }

    /// Makes the same call at most this often in a row.
    pub fn with_max_repetitions(mut self, repetitions: u32) -> Self {
        self.profile.max_tool_repetitions = Some(repetitions);
        self
    }

    /// Splits lists of independent jobs into tasks, or not, whatever the settings say.
    pub fn with_split(mut self, split: SplitSetting) -> Self {
        self.split = Some(split);
        self
    }

    /// With the first request, which is replied to next: its agent is chosen before anything is wired.
    pub fn with_request(mut self, text: impl Into<String>) -> Self {
        self.request = Some(text.into());
        self
    }

    /// With another way to try again.
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }
}

impl std::fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenOptions")
            .field("profile", &self.profile)
            .field("mode", &self.mode.slug)
            .finish_non_exhaustive()
    }
}
