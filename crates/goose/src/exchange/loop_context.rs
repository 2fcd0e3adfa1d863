//! [`LoopContext`]: the parts of the loop that live as long as its session, and [`LoopState`], which one
//! reply at a time changes.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc, time::Duration};

use goose_extension::{Backend, Caller, ExchangeView, Model, Notifier, Tool};
use goose_providers::{RequestOptions, RetryPolicy};
use jiff::tz::TimeZone;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    agent_loop::LoopFunction,
    compaction::ContextUsage,
    event_hub::EventHub,
    final_output::FinalOutput,
    models::{ActiveModels, SessionModel},
    prepare::ReportedFailures,
    task_writes::TaskWriter,
    usage_ledger::UsageLedger,
};
use crate::{
    agents::{
        agent::{ActiveAgent, Agent, AgentSource},
        extension_manager::Events,
    },
    checkpoints::Checkpoints,
    config::Moderator,
    context::hints::Hints,
    hooks::Hooks,
    permission::Permissions,
    session::{Conversation, Session, Step, StoredStep, clock},
};

/// Parts of the loop that live as long as its session. All are immutable or behind a lock.
pub(crate) struct LoopContext {
    pub(crate) folder: FolderContext,
    pub(crate) session: Session,
    pub(crate) models: ActiveModels,
    /// Source of other agents.
    pub(crate) agents: Arc<dyn AgentSource>,
    pub(crate) agent: ActiveAgent,
    pub(crate) guard: CallGuard,
    pub(crate) limits: Limits,
    pub(crate) final_output: Option<FinalOutput>,
    pub(crate) outlets: Outlets,
    /// Tasks that may outlive a reply.
    pub(crate) tasks: SessionTasks,
    /// Usage of the model by the loop and by tools.
    pub(crate) usage: Arc<UsageLedger>,
    pub(crate) conversation: SharedConversation,
}

/// Parts that depend on the session's working folder.
pub(crate) struct FolderContext {
    pub(crate) working_dir: PathBuf,
    pub(crate) hints: Hints,
    /// True if shell commands can use `rg`.
    pub(crate) has_ripgrep: bool,
    /// Folder for messages that are too long for the model.
    pub(crate) long_messages: PathBuf,
    /// Files and programs of the tools; by default those of this machine.
    pub(crate) backend: Option<Arc<dyn Backend>>,
    /// Copies of the files that the session changes, if they are kept.
    pub(crate) checkpoints: Option<Arc<Checkpoints>>,
}

/// Parts that every call of a tool must pass.
#[derive(Clone)]
pub(crate) struct CallGuard {
    pub(crate) permissions: Arc<Permissions>,
    /// `None` if none are configured.
    pub(crate) hooks: Option<Arc<Hooks>>,
    /// Task that this session works on, if others run in parallel: it claims the files that it writes.
    pub(crate) writer: Option<TaskWriter>,
}

/// Connections from a session to its user interfaces.
pub(crate) struct Outlets {
    pub(crate) events: Arc<EventHub>,
    pub(crate) notifier: Arc<dyn Notifier>,
    pub(crate) caller: Option<Arc<dyn Caller>>,
}

/// Conversation of a session, which one reply at a time changes.
pub(crate) struct SharedConversation {
    pub(super) view: ExchangeView,
    pub(super) state: Arc<tokio::sync::Mutex<LoopState>>,
    /// Cancels the current reply.
    pub(super) current: Mutex<CancellationToken>,
    /// Day on which the session was opened. A change of the prompt would invalidate the service's cache.
    pub(super) today: String,
}

/// Tasks of a session, which end with it.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionTasks {
    pub(crate) tracker: TaskTracker,
    /// Cancelled when the session is closed.
    pub(crate) ended: CancellationToken,
    pub(crate) results: Arc<BackgroundResults>,
}

/// Number of running background tasks, and the results that the model has not seen yet.
#[derive(Debug, Default)]
pub(crate) struct BackgroundResults {
    state: Mutex<BackgroundState>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct BackgroundState {
    at_work: usize,
    results: Vec<String>,
}

impl BackgroundResults {
    /// Counts a new background task.
    pub(crate) fn expect(&self) {
        self.state.lock().at_work += 1;
    }

    /// Ends a task with its result, or without one if the result was handed out directly.
    pub(crate) fn end(&self, result: Option<String>) {
        let mut state = self.state.lock();
        state.at_work = state.at_work.saturating_sub(1);
        state.results.extend(result);
        drop(state);
        self.changed.notify_one();
    }

    /// Waits for the next result. Returns false if no task runs and no result is left.
    pub(super) async fn wait(&self) -> bool {
        loop {
            {
                let state = self.state.lock();
                if !state.results.is_empty() || state.at_work == 0 {
                    return !state.results.is_empty();
                }
            }
            self.changed.notified().await;
        }
    }

    /// Returns the number of running tasks.
    pub(super) fn at_work(&self) -> usize {
        self.state.lock().at_work
    }

    /// Takes all results, in the order in which the tasks ended.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().results)
    }
}

/// Limits of a reply.
#[derive(Debug)]
pub(crate) struct Limits {
    /// Maximum number of requests to the model for one reply.
    pub(crate) turns: u32,
    /// Maximum number of repetitions of the same call in a row.
    pub(crate) repetitions: u32,
    /// Maximum number of tokens of the conversation, if set.
    pub(crate) context: Option<u64>,
    /// Share of that limit at which older messages are compacted, if set.
    pub(crate) threshold: Option<f64>,
    /// Method of compaction.
    pub(crate) moderator: Moderator,
    /// Maximum time for one answer of the model while no user interface is attached.
    pub(crate) unattended_answer: Duration,
    /// Repetition of requests to the model that fail.
    pub(crate) retry: RetryPolicy,
}

impl Limits {
    /// Default of [`turns`](Self::turns).
    pub(crate) const TURNS: u32 = 1000;

    /// Default of [`unattended_answer`](Self::unattended_answer). The longest plausible answers, of a large
    /// model that thinks or of a small one on a slow machine, take some tens of minutes.
    pub(crate) const UNATTENDED_ANSWER: Duration = Duration::from_secs(2 * 60 * 60);

    /// Default of [`repetitions`](Self::repetitions).
    pub(crate) const REPETITIONS: u32 = 5;
}

/// Conversation and usage of an earlier run.
pub(crate) struct History {
    conversation: Conversation,
    usage: Arc<UsageLedger>,
    is_unfinished: bool,
}

impl History {
    /// Folds the steps of a session. `is_unfinished` is true if goose was ended in the middle of the last
    /// reply. `payer` is the ledger of the session that delegated this one.
    pub(crate) fn new(steps: Vec<StoredStep>, is_unfinished: bool, payer: Option<Arc<UsageLedger>>) -> Self {
        let usage = Arc::new(UsageLedger::from_steps(steps.iter().map(|stored| &stored.step), payer));
        let conversation = Conversation::from_steps(steps.into_iter().map(|stored| stored.step));
        Self { conversation, usage, is_unfinished }
    }

    /// Returns the working model of the session, for extensions that are built with one.
    pub(crate) fn session_model(&self, models: &ActiveModels) -> Arc<dyn Model> {
        Arc::new(SessionModel::new(models, &self.usage))
    }

    /// Returns the ledger of the session.
    pub(crate) fn usage(&self) -> Arc<UsageLedger> {
        Arc::clone(&self.usage)
    }

    /// Returns a view that follows the conversation.
    pub(crate) fn view(&self) -> ExchangeView {
        self.conversation.view()
    }

    /// Returns the conversation, to be continued with an agent. The notices are reported before the first
    /// reply.
    pub(crate) fn into_conversation(
        self,
        agent: &ActiveAgent,
        mut notices: Vec<String>,
    ) -> SharedConversation {
        let view = self.conversation.view();
        let agent = agent.get();
        notices.extend(agent.notices());
        let state = LoopState {
            conversation: self.conversation,
            unwritten: Vec::new(),
            context_usage: ContextUsage::default(),
            services: agent.extensions.events(),
            offered_by: agent,
            switched: 0,
            offer: Offer::default(),
            notices,
            failures: ReportedFailures::default(),
            late: BTreeSet::new(),
            is_unfinished: self.is_unfinished,
        };
        SharedConversation {
            view,
            state: Arc::new(tokio::sync::Mutex::new(state)),
            current: Mutex::new(CancellationToken::new()),
            today: clock::now().to_zoned(TimeZone::system()).strftime("%Y-%m-%d").to_string(),
        }
    }
}

/// State that a reply changes.
pub(crate) struct LoopState {
    pub(crate) conversation: Conversation,
    /// Steps of the conversation that could not be stored. They are stored before the next one.
    pub(super) unwritten: Vec<Step>,
    pub(crate) context_usage: ContextUsage,
    /// Agent whose tools are in the offer.
    pub(super) offered_by: Arc<Agent>,
    /// Version of the session's extensions that the agent was updated to.
    pub(super) switched: u64,
    /// Events of the agent's services.
    pub(super) services: Events,
    /// Offer to the model, built once for each change.
    pub(super) offer: Offer,
    /// Notices that were not reported yet.
    pub(crate) notices: Vec<String>,
    pub(super) failures: ReportedFailures,
    /// Extensions whose start took too long. Requests do not wait for them again.
    pub(super) late: BTreeSet<String>,
    /// True if goose was ended in the middle of the last reply and the log does not record that yet.
    pub(super) is_unfinished: bool,
}

/// Tools that the model sees, and the matching system prompt.
#[derive(Debug, Default)]
pub(super) struct Offer {
    /// List of the toolset that this was built from.
    pub(super) made_from: Option<Arc<[Tool]>>,
    /// Functions besides the toolset.
    pub(super) functions: Vec<LoopFunction>,
    pub(super) tools: Vec<Tool>,
    pub(super) system: String,
    /// Prompts of extensions that were sent to the model, by name.
    pub(super) prompts: Vec<(String, String)>,
    /// Set once the tools were prepared for their first call.
    pub(super) is_ready: bool,
}

impl LoopContext {
    /// Returns the current agent.
    pub(crate) fn agent(&self) -> Arc<Agent> {
        self.agent.get()
    }

    /// Closes a replaced agent in the background: its services take a while to end, and an external agent may
    /// be in the middle of a task.
    pub(crate) fn close_later(&self, agent: Arc<Agent>) {
        self.tasks.tracker.spawn(async move { agent.close().await });
    }

    /// Returns the maximum number of requests to the model for one reply.
    pub(super) fn max_turns(&self) -> u32 {
        self.agent().mode.max_turns.map_or(self.limits.turns, |turns| turns.min(self.limits.turns).max(1))
    }

    /// Returns the options of the next request.
    pub(super) fn request_options(&self) -> RequestOptions {
        RequestOptions {
            conversation: Some(self.session.id().to_string()),
            is_ephemeral: !self.session.is_saved(),
            ..self.agent().options.clone()
        }
    }

    /// Creates the token that cancels the reply that starts now.
    pub(super) fn begin(&self) -> CancellationToken {
        let token = CancellationToken::new();
        *self.conversation.current.lock() = token.clone();
        token
    }

    /// Returns true if the last reply was cancelled.
    pub(super) fn is_stopping(&self) -> bool {
        self.conversation.current.lock().is_cancelled()
    }

    /// Cancels the current reply.
    pub(super) fn stop(&self) {
        self.conversation.current.lock().cancel();
    }
}

impl Drop for LoopContext {
    fn drop(&mut self) {
        self.tasks.ended.cancel();
        self.outlets.events.close();
    }
}
