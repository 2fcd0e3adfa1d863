//! [`Delegation`]: tasks that a conversation gives to other agents, each in a session of its own.
//!
//! A delegate has what its own mode gives, under the permissions of the session that started it, and is paid by that session. It
//! refers to the session only weakly, so it never keeps it open; it ends when the session does.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Weak},
};

use goose_extension::{Caller, MessageContent, Role, ToolError, ToolResult, visible_line};
use goose_providers::RetryPolicy;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{AgentManager, OpenOptions, agent_maker::Binder, host_extensions::HostExtension};
use crate::{
    agents::{
        catalog::AgentCatalog,
        manifest::{AgentManifest, AgentMode},
    },
    config::{ConfigError, ExtensionConfig, Profile},
    exchange::{ActiveModels, EventHub, Exchange, Outcome, SessionTasks, UsageLedger, relay},
    permission::Permissions,
    session::{NewSession, Session},
};

/// The delegates that work at once, of a session and of its delegates together.
const MAX_AT_ONCE: usize = 8;

/// The depth to which delegates may delegate.
pub(crate) const MAX_DEPTH: u32 = 2;

/// The turns of a delegate unless something else is said.
const DEFAULT_TURNS: u32 = 25;

/// The longest result of a delegate, in bytes.
const MAX_RESULT: usize = 50_000;

/// The results of background tasks that are kept until they are asked for.
const MAX_KEPT: usize = 64;

/// The characters of a task that its session is called by.
const NAME_CHARS: usize = 60;

const SUBAGENT_PROVIDER: &str = "GOOSE_SUBAGENT_PROVIDER";
const SUBAGENT_MODEL: &str = "GOOSE_SUBAGENT_MODEL";
const SUBAGENT_MAX_TURNS: &str = "GOOSE_SUBAGENT_MAX_TURNS";

/// The place of a session among delegates.
pub(super) struct DelegateOrigin {
    /// The ledger of the session that started it.
    pub(super) payer: Option<Arc<UsageLedger>>,
    /// The number of sessions above it.
    depth: u32,
    /// The places for delegates, which all sessions below one conversation share.
    slots: Arc<Semaphore>,
}

impl Default for DelegateOrigin {
    fn default() -> Self {
        Self { payer: None, depth: 0, slots: Arc::new(Semaphore::new(MAX_AT_ONCE)) }
    }
}

/// The parts of a session that its delegates share.
pub(crate) struct Delegation {
    pub(super) manager: AgentManager,
    pub(super) profile: Profile,
    pub(super) extensions: Vec<ExtensionConfig>,
    pub(super) host_extensions: Vec<HostExtension>,
    pub(super) permissions: Arc<Permissions>,
    pub(super) caller: Option<Arc<dyn Caller>>,
    pub(super) retry: RetryPolicy,
    pub(super) session: Session,
    pub(super) working_dir: PathBuf,
    pub(super) events: Weak<EventHub>,
    pub(super) usage: Arc<UsageLedger>,
    pub(super) models: ActiveModels,
    pub(super) tasks: SessionTasks,
    pub(super) origin: DelegateOrigin,
    /// Background tasks by the id of their session.
    pub(super) background: Mutex<BTreeMap<String, Delegate>>,
}

/// A task for a delegate.
pub(crate) struct DelegateTask {
    /// The message that it begins with.
    pub(crate) prompt: String,
    /// The name of its session.
    pub(crate) title: String,
    pub(crate) agent: (Arc<AgentManifest>, AgentMode),
    pub(crate) only_extensions: Option<Vec<String>>,
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) temperature: Option<f32>,
    pub(crate) max_turns: Option<u32>,
}

/// A delegate at work, or its result.
#[derive(Clone)]
pub(crate) struct Delegate {
    /// The id of its session.
    pub(crate) id: String,
    cancellation: CancellationToken,
    result: watch::Receiver<Option<ToolResult<String>>>,
}

impl Delegate {
    /// Waits for the result.
    pub(crate) async fn result(&mut self) -> ToolResult<String> {
        match self.result.wait_for(Option::is_some).await.map(|result| result.clone()) {
            Ok(Some(result)) => result,
            _ => Err(ToolError::execution(format!(
                "The delegate of session {} ended without a result because of a fault of goose. Do the task yourself.",
                self.id
            ))),
        }
    }

    /// Stops it. The result says so.
    pub(crate) fn cancel(&self) {
        self.cancellation.cancel();
    }

    /// Stops it when the guard is dropped.
    pub(crate) fn cancel_on_drop(&self) -> DropGuard {
        self.cancellation.clone().drop_guard()
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.result.borrow().is_some() || self.result.has_changed().is_err()
    }
}

impl Delegation {
    /// Returns true if delegates may be started from this session.
    pub(crate) fn may_delegate(&self) -> bool {
        self.origin.depth < MAX_DEPTH
    }

    /// The agents that a task can be given to.
    pub(crate) fn catalog(&self) -> AgentCatalog {
        AgentCatalog::load(self.manager.settings().paths(), &self.working_dir)
    }

    /// Checks that a delegate would have these extensions.
    ///
    /// # Errors
    ///
    /// The text names those that it has.
    pub(crate) fn check_extensions(
        &self,
        (manifest, mode): &(Arc<AgentManifest>, AgentMode),
        wanted: &[String],
    ) -> ToolResult<()> {
        let binder = Binder {
            manager: self.manager.clone(),
            profile: self.profile.clone(),
            extensions: self.extensions.clone(),
            host_extensions: self.host_extensions.clone(),
            working_dir: self.working_dir.clone(),
            only: None,
        };
        let known = binder.names(mode).map_err(|error| ToolError::execution(error.to_string()))?;
        let Some(unknown) = wanted.iter().find(|name| !known.contains(name)) else { return Ok(()) };
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Err(ToolError::execution(format!(
            "{}/{} has no extension `{}`. It has: {known}. Without `extensions` it gets all of them.",
            manifest.name,
            mode.slug,
            visible_line(&goose_fs::truncate_chars(unknown, NAME_CHARS)),
        )))
    }

    /// Starts a delegate inside a call. It works until its task is done, it is cancelled, or the session ends.
    ///
    /// # Errors
    ///
    /// Where it cannot be started; the text says why.
    pub(crate) async fn start(self: &Arc<Self>, task: DelegateTask, call: &str) -> ToolResult<Delegate> {
        if !self.may_delegate() {
            return Err(ToolError::Denied(format!(
                "Not run: delegates may delegate only {MAX_DEPTH} levels deep. Do the task yourself."
            )));
        }
        let place = self.place()?;
        let prompt = task.prompt.clone();
        let session = self.new_session(&task).await?;
        let (id, options) = (session.id().to_string(), self.options(task)?.with_session(session));
        let cancellation = self.tasks.ended.child_token();
        let (finished, result) = watch::channel(None);
        let delegate = Delegate { id: id.clone(), cancellation: cancellation.clone(), result };
        let (delegation, call) = (Arc::clone(self), call.to_owned());
        self.tasks.tracker.spawn(async move {
            let ended = delegation.run(place, options, prompt, &call, &cancellation).await;
            let named = |text: String| format!("{text}\n\n(session {id})");
            let ended = ended.map(&named).map_err(|error| match error {
                ToolError::Cancelled(text) => ToolError::Cancelled(named(text)),
                error => ToolError::execution(named(error.to_string())),
            });
            // The receiver is gone where the call was cancelled.
            let _ = finished.send(Some(ended));
        });
        Ok(delegate)
    }

    /// Keeps a delegate that works in the background, until its result is asked for.
    pub(crate) fn keep(&self, delegate: Delegate) {
        let mut background = self.background.lock();
        while background.len() >= MAX_KEPT
            && let Some(id) = background.iter().find(|(_, kept)| kept.is_finished()).map(|(id, _)| id.clone())
        {
            background.remove(&id);
        }
        background.insert(delegate.id.clone(), delegate);
    }

    /// A background task by its id.
    pub(crate) fn find(&self, id: &str) -> Option<Delegate> {
        self.background.lock().get(id).cloned()
    }

    /// Forgets a background task whose result was handed out.
    pub(crate) fn forget(&self, id: &str) {
        self.background.lock().remove(id);
    }

    /// The background tasks: their ids, and whether they are finished.
    pub(crate) fn background(&self) -> Vec<(String, bool)> {
        self.background.lock().values().map(|kept| (kept.id.clone(), kept.is_finished())).collect()
    }

    /// A place among the delegates. A delegate of a delegate does not wait for one: those that wait for it hold the others.
    fn place(&self) -> ToolResult<Option<OwnedSemaphorePermit>> {
        if self.origin.depth == 0 {
            return Ok(None);
        }
        Arc::clone(&self.origin.slots).try_acquire_owned().map(Some).map_err(|_| {
            ToolError::execution(format!(
                "{MAX_AT_ONCE} delegates are at work already, which is the most. Do the task yourself, or try again later."
            ))
        })
    }

    async fn new_session(&self, task: &DelegateTask) -> ToolResult<Session> {
        if !self.session.is_saved() {
            return Ok(Session::unsaved());
        }
        let (manifest, mode) = &task.agent;
        let title = goose_fs::truncate_chars(&task.title, NAME_CHARS).into_owned();
        let new = NewSession::in_folder(&self.working_dir)
            .named(title)
            .delegated_by(self.session.id().clone())
            .with_agent(format!("{}/{}", manifest.name, mode.slug));
        let created = self.manager.store().create(new).await;
        created.map_err(|error| {
            ToolError::execution(format!("The session of the delegate cannot be stored: {error}"))
        })
    }

    fn options(&self, task: DelegateTask) -> ToolResult<OpenOptions> {
        let unusable = |error: ConfigError| ToolError::execution(error.to_string());
        let settings = self.manager.settings();
        let limit = settings.get::<u32>(SUBAGENT_MAX_TURNS).map_err(unusable)?.unwrap_or(DEFAULT_TURNS);
        let (manifest, mut mode) = task.agent;
        mode.temperature = task.temperature.or(mode.temperature);
        let mut profile = self.profile.clone();
        profile.max_turns = Some(task.max_turns.unwrap_or(limit).max(1));
        let models = match self.model_name(task.provider, task.model).map_err(unusable)? {
            None => self.models.pair(),
            Some(name) => {
                let model = self.models.find(&name).map_err(|error| {
                    ToolError::execution(format!("The model `{name}` cannot be used: {error}"))
                })?;
                (Arc::clone(&model), model)
            }
        };
        let mut options = OpenOptions::new(profile)
            .with_agent(manifest, mode)
            .with_working_dir(&self.working_dir)
            .with_permissions(Arc::clone(&self.permissions))
            .with_extensions(self.extensions.iter().cloned())
            .with_retry(self.retry.clone());
        options.host_extensions = self.host_extensions.clone();
        options.caller = self.caller.clone();
        options.models = Some(models);
        options.only_extensions = task.only_extensions;
        options.origin = Some(DelegateOrigin {
            payer: Some(Arc::clone(&self.usage)),
            depth: self.origin.depth + 1,
            slots: Arc::clone(&self.origin.slots),
        });
        Ok(options)
    }

    /// The model of a task: the call's, the settings', or none for the session's own.
    fn model_name(
        &self,
        provider: Option<String>,
        model: Option<String>,
    ) -> Result<Option<String>, ConfigError> {
        let settings = self.manager.settings();
        let (provider, model) = match (provider, model) {
            (None, None) => (settings.get(SUBAGENT_PROVIDER)?, settings.get(SUBAGENT_MODEL)?),
            said => said,
        };
        Ok(match (provider, model) {
            (None, model) => model,
            (Some(provider), Some(model)) => Some(format!("{provider}:{model}")),
            (Some(provider), None) => Some(format!("{provider}:{}", self.models.in_use().model())),
        })
    }

    /// Works on a task to its end. Everything that it started has ended when this returns.
    async fn run(
        &self,
        place: Option<OwnedSemaphorePermit>,
        options: OpenOptions,
        prompt: String,
        call: &str,
        cancellation: &CancellationToken,
    ) -> ToolResult<String> {
        let cancelled = || ToolError::Cancelled("The delegate was cancelled.".to_owned());
        let wait = Arc::clone(&self.origin.slots).acquire_owned();
        let _place = match place {
            Some(place) => Some(place),
            None => cancellation.run_until_cancelled(wait).await.ok_or_else(cancelled)?.ok(),
        };
        let opened = cancellation.run_until_cancelled(self.manager.open(options)).await;
        let exchange = opened
            .ok_or_else(cancelled)?
            .map_err(|error| ToolError::execution(format!("The delegate could not be started: {error}")))?;
        exchange.set_attended(self.events.upgrade().is_some_and(|events| events.is_attended()));
        let reply = exchange.reply_to(prompt.as_str());
        let outcome = relay(&self.events, call, &exchange, reply, cancellation).await;
        let answer = last_answer(&exchange);
        exchange.close().await;
        result(outcome, answer)
    }
}

/// The text of the model's last message.
fn last_answer(exchange: &Exchange) -> String {
    let messages = exchange.messages();
    let last = messages.iter().rev().find(|message| message.role == Role::Assistant);
    let texts = last.iter().flat_map(|message| message.content.iter().filter_map(MessageContent::as_text));
    let text = texts.collect::<Vec<_>>().join("\n");
    goose_fs::truncate_lines(text, MAX_RESULT, |rest| {
        format!("(The answer is cut here; {} more bytes are in the session.)", rest.len())
    })
}

fn result(outcome: Outcome, answer: String) -> ToolResult<String> {
    let unfinished = |reason: String| {
        let answer = if answer.is_empty() { String::new() } else { format!(" It last said:\n{answer}") };
        Err(ToolError::execution(format!("The delegate did not finish: {reason}.{answer}")))
    };
    match outcome {
        Outcome::Done { .. } => Ok(answer),
        Outcome::Cancelled => Err(ToolError::Cancelled("The delegate was cancelled.".to_owned())),
        Outcome::Failed(failure) => {
            let hint = failure.hint.map(|hint| format!(" {hint}")).unwrap_or_default();
            Err(ToolError::execution(format!("The delegate failed: {}{hint}", failure.message)))
        }
        Outcome::MaxTurns(turns) => unfinished(format!(
            "it reached its limit of {turns} turns. Give it a smaller task, or a higher `max_turns`"
        )),
        Outcome::MaxTokens => unfinished("its answer reached the greatest length".to_owned()),
        Outcome::Refused => unfinished("the model refused".to_owned()),
        Outcome::Empty => unfinished("the model answered nothing".to_owned()),
    }
}
