//! [`Delegation`]: tasks that a conversation gives to other agents, each in a separate session.
//!
//! A delegate has the tools of its mode, under the permissions of the session that started it, and its cost
//! is added to that session. It holds only a weak reference to the session, so it never keeps it open, and it
//! ends with the session.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
};

use async_trait::async_trait;
use goose_extension::{Backend, Caller, ToolError, ToolResult, visible_line};
use goose_providers::{Provider, RetryPolicy, Usage};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;

use super::{
    OpenOptions, RecipeChecks, SessionState, Unattended,
    agent_maker::Binder,
    recipe_run::try_again,
    run_result::{CANCELLED, last_answer, result},
};
use crate::{
    agents::{
        catalog::AgentCatalog,
        manifest::{AgentManifest, AgentMode},
        orchestrator_agent::{EventParent, OrchestratorSettings, relay},
    },
    config::ConfigError,
    context::Handover,
    exchange::{
        ActiveModels, DONE, Delegate, DelegateEnd, DelegateTask, Delegates, EventHub, Exchange, MAX_AT_ONCE,
        Outcome, PreparedDelegate, RecipeTask, SessionTasks, TaskWriter, UsageLedger, used_up,
    },
    permission::Permissions,
    session::{Facts, NewSession, Session, SessionId, Step},
};

/// Maximum number of characters of a task in the name of its session.
pub(super) const NAME_CHARS: usize = 60;

/// Maximum depth of delegates that delegate.
pub(crate) const MAX_DEPTH: u32 = 2;

/// Default number of turns of a delegate.
const DEFAULT_TURNS: u32 = 25;

const SUBAGENT_PROVIDER: &str = "GOOSE_SUBAGENT_PROVIDER";
const SUBAGENT_MODEL: &str = "GOOSE_SUBAGENT_MODEL";
const SUBAGENT_MAX_TURNS: &str = "GOOSE_SUBAGENT_MAX_TURNS";

/// Position of a session among delegates.
pub(super) struct DelegateOrigin {
    /// Ledger of the session that started it.
    pub(super) payer: Option<Arc<UsageLedger>>,
    /// Number of sessions above it.
    depth: u32,
    /// Slots for delegates, shared by all sessions below one conversation.
    slots: Arc<Semaphore>,
    /// Task that the session works on, if other tasks run concurrently. Its delegates write on behalf of
    /// that task.
    pub(super) writer: Option<TaskWriter>,
}

impl Default for DelegateOrigin {
    fn default() -> Self {
        Self { payer: None, depth: 0, slots: Arc::new(Semaphore::new(MAX_AT_ONCE)), writer: None }
    }
}

/// Delegates of a session.
pub(super) struct Delegation(pub(super) Arc<DelegatingSession>);

/// Parts of a session that its delegates share.
pub(super) struct DelegatingSession {
    pub(super) binder: Binder,
    pub(super) permissions: Arc<Permissions>,
    pub(super) caller: Option<Arc<dyn Caller>>,
    pub(super) backend: Option<Arc<dyn Backend>>,
    pub(super) retry: RetryPolicy,
    pub(super) session: Session,
    pub(super) events: Weak<EventHub>,
    pub(super) usage: Arc<UsageLedger>,
    pub(super) models: ActiveModels,
    pub(super) tasks: SessionTasks,
    pub(super) origin: DelegateOrigin,
    pub(super) started: StartedDelegates,
}

/// Delegates that a session has started.
#[derive(Default)]
pub(super) struct StartedDelegates {
    /// Background tasks, by the id of their session.
    background: Mutex<BTreeMap<String, Delegate>>,
    /// Token budget of the current request, once it has started a delegate.
    budget: Mutex<Option<Budget>>,
}

/// Token budget that the tasks of one request share.
#[derive(Clone)]
pub(super) struct Budget {
    ledger: Arc<UsageLedger>,
    most: u64,
    /// Cancelled when the budget is used up, and with the session.
    used_up: CancellationToken,
}

#[async_trait]
impl Delegates for Delegation {
    fn may_delegate(&self) -> bool {
        self.0.origin.depth < MAX_DEPTH
    }

    fn catalog(&self) -> Arc<AgentCatalog> {
        let mut catalog = AgentCatalog::clone(&self.0.binder.catalog());
        catalog.agents.retain(|entry| !entry.is_internal());
        Arc::new(catalog)
    }

    fn check_extensions(
        &self,
        (manifest, mode): &(Arc<AgentManifest>, AgentMode),
        wanted: &[String],
    ) -> ToolResult<()> {
        let known = self.0.binder.names(mode).map_err(ToolError::execution)?;
        let Some(unknown) = wanted.iter().find(|name| !known.contains(name)) else { return Ok(()) };
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Err(ToolError::execution(format!(
            "{}/{} has no extension `{}`. It has: {known}. Without `extensions` it gets all of them.",
            manifest.name,
            mode.slug,
            visible_line(&goose_fs::truncate_chars(unknown, NAME_CHARS)),
        )))
    }

    async fn prepare(&self, task: DelegateTask, call: &str) -> ToolResult<PreparedDelegate> {
        if !self.may_delegate() {
            return Err(ToolError::Denied(format!(
                "Not run: delegates may delegate only {MAX_DEPTH} levels deep. Do the task yourself."
            )));
        }
        let session = Arc::clone(&self.0);
        let work = session.work(task, call).await?;
        Ok(PreparedDelegate::new(work.id.clone(), move || session.launch(work)))
    }

    fn begin_request(&self) {
        self.0.started.budget.lock().take();
    }

    fn keep(&self, mut delegate: Delegate) {
        let (session, id) = (Arc::clone(&self.0), delegate.id.to_string());
        self.0.started.background.lock().insert(id.clone(), delegate.clone());
        self.0.tasks.results.expect();
        self.0.tasks.tracker.spawn(async move {
            let result = delegate.result().await;
            let result = result.unwrap_or_else(|error| format!("Error: {error}"));
            let is_kept = session.started.background.lock().remove(&id).is_some();
            if is_kept {
                let result = format!("The background task {id} has ended:\n{result}");
                session.tasks.results.end(Some(result));
            }
        });
    }

    fn take(&self, id: &str) -> Option<Delegate> {
        let taken = self.0.started.background.lock().remove(id);
        taken.inspect(|_| self.0.tasks.results.end(None))
    }

    fn background(&self) -> Vec<String> {
        self.0.started.background.lock().keys().cloned().collect()
    }
}

impl DelegatingSession {
    /// Prepares the work of a delegate in a separate session.
    async fn work(&self, task: DelegateTask, call: &str) -> ToolResult<DelegateWork> {
        let place = self.place()?;
        let budget = task.graph.is_none().then(|| self.budget()).transpose()?;
        let session = self.session_of(&task).await?;
        let payer = budget.as_ref().map(|budget| Arc::clone(&budget.ledger));
        Ok(DelegateWork {
            id: session.session.id().clone(),
            place,
            prompt: task.prompt.clone(),
            begun: SessionProgress::from_session(&session),
            shown: match &task.graph {
                Some(graph) => EventParent::Task(graph.task.clone()),
                None => EventParent::Call(call.to_owned()),
            },
            cancellation: match (&task.graph, &budget) {
                (Some(graph), _) => graph.cancellation.clone(),
                (None, Some(budget)) => budget.used_up.child_token(),
                (None, None) => self.tasks.ended.child_token(),
            },
            recipe: task.recipe.clone(),
            options: self.options(task, payer).await?.with_session(session),
            budget,
        })
    }

    /// Returns the token budget of the current request.
    fn budget(&self) -> ToolResult<Budget> {
        let mut budget = self.started.budget.lock();
        let budget = match &*budget {
            Some(budget) => budget,
            None => {
                let settings = OrchestratorSettings::load(self.binder.manager.settings());
                let most = settings.map_err(ToolError::execution)?.max_tokens;
                let used_up = self.tasks.ended.child_token();
                let ledger = UsageLedger::part_of(&self.usage, Usage::default(), most, used_up.clone());
                budget.insert(Budget { ledger, most, used_up })
            }
        };
        if budget.used_up.is_cancelled() {
            let reason = used_up(budget.most);
            return Err(ToolError::Denied(format!("Not run: {reason} Do the task yourself.")));
        }
        Ok(budget.clone())
    }

    /// Starts a delegate.
    fn launch(self: Arc<Self>, work: DelegateWork) -> Delegate {
        let (finished, end) = watch::channel(None);
        let delegate = Delegate::new(work.id.clone(), work.cancellation.clone(), end);
        let tracker = self.tasks.tracker.clone();
        tracker.spawn(async move {
            let ended = self.run(work).await;
            // The receiver is gone if the call was cancelled.
            let _ = finished.send(Some(ended));
        });
        delegate
    }

    /// Takes a slot for a delegate of a delegate, and fails if none is free: waiting could deadlock, because
    /// the delegates that wait for it hold the slots. Returns `None` for other delegates, which can wait.
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

    /// Returns the session of a task: the one that it was started in, or a new one.
    async fn session_of(&self, task: &DelegateTask) -> ToolResult<SessionState> {
        if let Some(id) = task.graph.as_ref().and_then(|graph| graph.resumed.as_ref())
            && let Ok(opened) = self.binder.manager.store().open_session(id).await
            // A fork of this session must not write into the delegates of the original.
            && opened.summary.parent.as_ref() == Some(self.session.id())
        {
            return Ok(opened.into());
        }
        Ok(self.new_session(task).await?.into())
    }

    async fn new_session(&self, task: &DelegateTask) -> ToolResult<Session> {
        if !self.session.is_saved() {
            return Ok(Session::unsaved());
        }
        let (manifest, mode) = &task.agent;
        let title = goose_fs::truncate_chars(&task.title, NAME_CHARS).into_owned();
        let new = NewSession::in_folder(&self.binder.working_dir)
            .named(title)
            .delegated_by(self.session.id().clone())
            .with_agent(format!("{}/{}", manifest.name, mode.slug));
        let created = self.binder.manager.store().create(new).await;
        created.map_err(|error| {
            ToolError::execution(format!("The session of the delegate cannot be stored: {error}"))
        })
    }

    async fn options(&self, task: DelegateTask, payer: Option<Arc<UsageLedger>>) -> ToolResult<OpenOptions> {
        let limit = self.binder.manager.settings().get::<u32>(SUBAGENT_MAX_TURNS);
        let limit = limit.map_err(ToolError::execution)?.unwrap_or(DEFAULT_TURNS);
        let (manifest, mut mode) = task.agent;
        mode.temperature = task.temperature.or(mode.temperature);
        let mut profile = self.binder.profile.clone();
        profile.max_turns = Some(task.max_turns.unwrap_or(limit).max(1));
        let own_model = own_model(&mode).filter(|_| task.provider.is_none());
        let models = self.models_of(task.provider, task.model.or(own_model)).await?;
        let has_extensions = task.recipe.as_ref().is_some_and(|it| it.recipe.extensions.is_some());
        let given = if has_extensions { Vec::new() } else { self.binder.extensions.given.clone() };
        let mut options = OpenOptions::new(profile);
        if let Some(RecipeTask { recipe, file }) = task.recipe.as_deref() {
            options = options.with_recipe(recipe, file).map_err(ToolError::execution)?;
        }
        if let Some(turns) = task.max_turns {
            options = options.with_max_turns(turns.max(1));
        }
        let mut options = options
            .with_agent(manifest, mode)
            .with_working_dir(&self.binder.working_dir)
            .with_permissions(Arc::clone(&self.permissions))
            .with_extensions(given)
            .with_retry(self.retry.clone());
        let shared = &self.binder.extensions;
        options.extensions.host = shared.host.clone();
        options.extensions.switched = Arc::new(shared.switched.inherited());
        options.extensions.frontend = shared.frontend.clone();
        options.extensions.only = task.only_extensions;
        options.caller = self.caller.clone();
        options.place.backend = self.backend.clone();
        options.models = Some(models);
        let (payer, writer) = match task.graph {
            Some(graph) => (graph.payer, Some(graph.writer)),
            None => (payer.unwrap_or_else(|| Arc::clone(&self.usage)), self.origin.writer.clone()),
        };
        options.origin = Some(DelegateOrigin {
            payer: Some(payer),
            depth: self.origin.depth + 1,
            slots: Arc::clone(&self.origin.slots),
            writer,
        });
        Ok(options)
    }

    /// Returns the working model and the fast model of a task.
    async fn models_of(
        &self,
        provider: Option<String>,
        model: Option<String>,
    ) -> ToolResult<(Arc<dyn Provider>, Arc<dyn Provider>)> {
        let Some(name) = self.model_name(provider, model).map_err(ToolError::execution)? else {
            self.models.open().await.map_err(|failure| ToolError::execution(failure.message))?;
            return Ok(self.models.pair());
        };
        let model =
            self.models.find(&name).await.map_err(|error| {
                ToolError::execution(format!("The model `{name}` cannot be used: {error}"))
            })?;
        Ok((Arc::clone(&model), model))
    }

    /// Returns the model of a task: from the call or the settings, or `None` for the session's model.
    fn model_name(
        &self,
        provider: Option<String>,
        model: Option<String>,
    ) -> Result<Option<String>, ConfigError> {
        let settings = self.binder.manager.settings();
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
    async fn run(&self, work: DelegateWork) -> DelegateEnd {
        let DelegateWork { place, options, prompt, begun, shown, cancellation, budget, recipe, .. } = work;
        let cancelled = || DelegateEnd::without_session(ToolError::Cancelled(CANCELLED.to_owned()));
        let wait = Arc::clone(&self.origin.slots).acquire_owned();
        let _place = match place {
            Some(place) => Some(place),
            None => match cancellation.run_until_cancelled(wait).await {
                Some(place) => place.ok(),
                None => return cancelled(),
            },
        };
        let Some(opened) = cancellation.run_until_cancelled(self.binder.manager.open(options)).await else {
            return cancelled();
        };
        let exchange = match opened {
            Ok(exchange) => exchange,
            Err(error) => {
                let error = ToolError::execution(format!("The delegate could not be started: {error}"));
                return DelegateEnd::without_session(error);
            }
        };
        exchange.set_attended(self.events.upgrade().is_some_and(|events| events.is_attended()));
        let reply = match begun {
            SessionProgress::Finished => None,
            SessionProgress::Partly => Some(exchange.reply()),
            SessionProgress::NotYet => Some(exchange.reply_to_handover(prompt, self.models.pair().1)),
        };
        let mut ended = match reply {
            Some(reply) => relay(&self.events, &shown, &exchange, reply, &cancellation).await,
            None => (Outcome::Done { structured: None }, Facts::default()),
        };
        let unmet = match &recipe {
            Some(recipe) => self.retry(recipe, &exchange, &shown, &cancellation, &mut ended).await,
            None => None,
        };
        let (outcome, facts) = ended;
        let (answer, (usage, dollars)) = (last_answer(&exchange), exchange.spent());
        exchange.close().await;
        let most = budget.filter(|budget| budget.used_up.is_cancelled()).map(|budget| budget.most);
        let result = match (result(outcome, answer), most) {
            (Err(ToolError::Cancelled(_)), Some(most)) if !self.tasks.ended.is_cancelled() => {
                Err(ToolError::execution(used_up(most)))
            }
            (Ok(answer), _) => match unmet {
                Some(unmet) => Err(ToolError::execution(format!(
                    "The recipe's checks failed:\n{unmet}\nIt last said:\n{answer}"
                ))),
                None => Ok(answer),
            },
            (result, _) => result,
        };
        DelegateEnd { result, usage, dollars, facts }
    }

    /// Checks the result of a recipe, and tries again as often as it says. Returns the reasons of the last checks that
    /// failed.
    async fn retry(
        &self,
        recipe: &RecipeTask,
        exchange: &Exchange,
        shown: &EventParent,
        cancellation: &CancellationToken,
        ended: &mut (Outcome, Facts),
    ) -> Option<String> {
        let (task, retry) = recipe.recipe.task().zip(recipe.recipe.retry.as_ref())?;
        let checks = RecipeChecks {
            manager: &self.binder.manager,
            exchange,
            retry,
            working_dir: self.binder.working_dir.clone(),
            approval: &Unattended,
        };
        let mut tries = retry.max_retries;
        while matches!(ended.0, Outcome::Done { .. }) {
            let failures = cancellation.run_until_cancelled(checks.failures()).await?;
            if failures.is_empty() || tries == 0 {
                return (!failures.is_empty()).then(|| failures.join("\n"));
            }
            tries -= 1;
            checks.clean_up().await;
            exchange.clear().await.ok()?;
            let reply = exchange.reply_to(try_again(task, &failures));
            *ended = relay(&self.events, shown, exchange, reply, cancellation).await;
        }
        None
    }
}

/// Returns the model that the file of an agent names. Names of Claude's sizes stand for the session's model.
fn own_model(mode: &AgentMode) -> Option<String> {
    let model = mode.recommended_models.first()?;
    (!["sonnet", "opus", "haiku"].contains(&model.as_str())).then(|| model.clone())
}

/// A delegate that is ready to start.
struct DelegateWork {
    id: SessionId,
    place: Option<OwnedSemaphorePermit>,
    options: OpenOptions,
    prompt: Handover,
    begun: SessionProgress,
    shown: EventParent,
    cancellation: CancellationToken,
    budget: Option<Budget>,
    recipe: Option<Box<RecipeTask>>,
}

/// State of a delegate's session when it is opened.
enum SessionProgress {
    NotYet,
    /// goose ended during the task.
    Partly,
    /// goose ended before the result was stored.
    Finished,
}

impl SessionProgress {
    fn from_session(session: &SessionState) -> Self {
        let mut steps = session.steps.iter().rev().map(|stored| &stored.step);
        if !session.steps.iter().any(|stored| matches!(stored.step, Step::Message { .. })) {
            return Self::NotYet;
        }
        let last = steps.find(|step| {
            matches!(step, Step::ReplyEnded { .. } | Step::Interrupted { .. } | Step::Message { .. })
        });
        match last {
            Some(Step::ReplyEnded { outcome }) if outcome == DONE => Self::Finished,
            _ => Self::Partly,
        }
    }
}
