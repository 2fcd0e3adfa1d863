//! [`LoopContext`]: what the loop has for the life of a session, and [`LoopState`], which one reply at a time changes.

use std::{path::PathBuf, sync::Arc, time::Duration};

use goose_extension::{Caller, ExchangeView, Model, Notifier, Tool};
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
    models::ActiveModels,
    repetition::DEFAULT_MAX_REPETITIONS,
    task_writes::TaskWriter,
    usage_ledger::{SessionModel, UsageLedger},
};
use goose_config::Moderator;
use goose_session::clock;

use crate::{
    agents::{
        agent::{ActiveAgent, Agent, AgentSource},
        extension_manager::Events,
    },
    context::hints::Hints,
    permission::Permissions,
    session::{Conversation, Session, Step, StoredStep},
};

/// Parts of the loop that live as long as its session. Nothing in it changes, or it has a lock.
pub(crate) struct LoopContext {
    pub(crate) folder: FolderContext,
    pub(crate) session: Session,
    pub(crate) models: ActiveModels,
    /// The source of other agents.
    pub(crate) agents: Arc<dyn AgentSource>,
    pub(crate) agent: ActiveAgent,
    pub(crate) permissions: Arc<Permissions>,
    pub(crate) limits: Limits,
    pub(crate) retry: RetryPolicy,
    pub(crate) final_output: Option<FinalOutput>,
    pub(crate) outlets: Outlets,
    /// The task that this session works on, if others run beside it.
    pub(crate) writer: Option<TaskWriter>,
    /// Work that continues after a reply.
    pub(crate) tasks: SessionTasks,
    /// The usage of the model by the loop and by tools.
    pub(crate) usage: Arc<UsageLedger>,
    pub(crate) conversation: SharedConversation,
}

/// Parts that belong to the folder that a session works in.
pub(crate) struct FolderContext {
    pub(crate) working_dir: PathBuf,
    pub(crate) hints: Hints,
    /// True if commands have `rg`.
    pub(crate) has_ripgrep: bool,
}

/// The ways from a session to its user interfaces.
pub(crate) struct Outlets {
    pub(crate) events: Arc<EventHub>,
    pub(crate) notifier: Arc<dyn Notifier>,
    pub(crate) caller: Option<Arc<dyn Caller>>,
}

/// The conversation of a session, which one reply at a time changes.
pub(crate) struct SharedConversation {
    pub(super) view: ExchangeView,
    pub(super) state: Arc<tokio::sync::Mutex<LoopState>>,
    /// Stops the reply that is being made.
    pub(super) current: Mutex<CancellationToken>,
    /// The day on which it began: a change in the prompt would spoil the service's cache.
    pub(super) today: String,
}

/// The tasks of a session. They end with it.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionTasks {
    pub(crate) tracker: TaskTracker,
    /// Cancelled when the session is closed.
    pub(crate) ended: CancellationToken,
    pub(crate) results: Arc<BackgroundResults>,
}

/// Background tasks at work, and results of others that the model does not know yet.
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
    /// Counts a task whose result is to come.
    pub(crate) fn expect(&self) {
        self.state.lock().at_work += 1;
    }

    /// Ends a task: with its result, or without one if it was handed out.
    pub(crate) fn end(&self, result: Option<String>) {
        let mut state = self.state.lock();
        state.at_work = state.at_work.saturating_sub(1);
        state.results.extend(result);
        drop(state);
        self.changed.notify_one();
    }

    /// Waits for the next result. Returns false if none is to come.
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

    /// The number of tasks at work.
    pub(super) fn at_work(&self) -> usize {
        self.state.lock().at_work
    }

    /// Takes all results, in the order of their end.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().results)
    }
}

/// The limits of a reply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The most requests to the model for one reply.
    pub(crate) turns: u32,
    /// The most repetitions of the same call in a row.
    pub(crate) repetitions: u32,
    /// The most tokens of the conversation, if that is set.
    pub(crate) context: Option<u64>,
    /// The fraction of that at which older messages are compacted, if that is set.
    pub(crate) threshold: Option<f64>,
    /// The way to compact them.
    pub(crate) moderator: Moderator,
    /// The longest time for one answer of the model while no person is there to cancel it.
    pub(crate) unattended_answer: Duration,
}

impl Limits {
    /// The default number of times that the model is asked for one reply.
    pub(crate) const TURNS: u32 = 1000;

    /// The default of [`unattended_answer`](Self::unattended_answer). The longest honest answers, of a large model that
    /// thinks or of a small one on a slow machine, take some tens of minutes.
    pub(crate) const UNATTENDED_ANSWER: Duration = Duration::from_secs(2 * 60 * 60);

    /// The default number of times that the same call is made in a row.
    pub(crate) const REPETITIONS: u32 = DEFAULT_MAX_REPETITIONS;
}

/// The conversation and the usage of an earlier run.
pub(crate) struct History {
    conversation: Conversation,
    usage: Arc<UsageLedger>,
    is_unfinished: bool,
}

impl History {
    /// Folds the steps of a session. `is_unfinished` says whether goose was ended in the middle of its last reply; `payer` is
    /// the ledger of the session that delegated this one.
    pub(crate) fn new(steps: Vec<StoredStep>, is_unfinished: bool, payer: Option<Arc<UsageLedger>>) -> Self {
        let usage = Arc::new(UsageLedger::from_steps(steps.iter().map(|stored| &stored.step), payer));
        let conversation = Conversation::from_steps(steps.into_iter().map(|stored| stored.step));
        Self { conversation, usage, is_unfinished }
    }

    /// The working model of the session, for extensions that are built with one.
    pub(crate) fn session_model(&self, models: &ActiveModels) -> Arc<dyn Model> {
        Arc::new(SessionModel { models: models.clone(), usage: Arc::clone(&self.usage) })
    }

    /// The ledger of the session.
    pub(crate) fn usage(&self) -> Arc<UsageLedger> {
        Arc::clone(&self.usage)
    }

    /// A view of the conversation that follows it.
    pub(crate) fn view(&self) -> ExchangeView {
        self.conversation.view()
    }

    /// The conversation with the agent that it goes on with. The user should read the notices before the first reply.
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

/// The state that a reply changes.
pub(crate) struct LoopState {
    pub(crate) conversation: Conversation,
    /// Steps of the conversation that could not be stored. They are stored before the next one.
    pub(super) unwritten: Vec<Step>,
    pub(crate) context_usage: ContextUsage,
    /// The agent whose offer this is.
    pub(super) offered_by: Arc<Agent>,
    /// The changes of the session's extensions that were applied to it.
    pub(super) switched: u64,
    /// The news of its extensions.
    pub(super) services: Events,
    /// The offer to the model, made once for each change.
    pub(super) offer: Offer,
    /// The notices that were found when the exchange was made.
    pub(crate) notices: Vec<String>,
    /// Set if goose was ended in the middle of the last reply, and the log does not say so yet.
    pub(super) is_unfinished: bool,
}

/// The tools as the model sees them, and the prompt that goes with them.
#[derive(Debug, Default)]
pub(super) struct Offer {
    /// The toolset's list that this was made from.
    pub(super) made_from: Option<Arc<[Tool]>>,
    /// The functions besides the toolset, by name.
    pub(super) functions: Vec<LoopFunction>,
    pub(super) tools: Vec<Tool>,
    pub(super) system: String,
    /// The prompts of extensions that the model has been told, by name.
    pub(super) prompts: Vec<(String, String)>,
    /// Set once the tools are ready for their first call.
    pub(super) is_ready: bool,
}

impl LoopContext {
    /// The agent as it is now.
    pub(crate) fn agent(&self) -> Arc<Agent> {
        self.agent.get()
    }

    /// Closes an agent that was replaced, without waiting: its services take a while to end, and an external agent may be in the
    /// middle of a task.
    pub(crate) fn close_later(&self, agent: Arc<Agent>) {
        self.tasks.tracker.spawn(async move { agent.close().await });
    }

    /// The most requests to the model for one reply.
    pub(super) fn max_turns(&self) -> u32 {
        self.agent().mode.max_turns.map_or(self.limits.turns, |turns| turns.min(self.limits.turns).max(1))
    }

    /// The options of the next request.
    pub(super) fn request_options(&self) -> RequestOptions {
        RequestOptions {
            conversation: Some(self.session.id().to_string()),
            is_ephemeral: !self.session.is_saved(),
            ..self.agent().options.clone()
        }
    }

    /// Makes a token for the reply that begins now.
    pub(super) fn begin(&self) -> CancellationToken {
        let token = CancellationToken::new();
        *self.conversation.current.lock() = token.clone();
        token
    }

    /// Returns whether the last reply was told to stop.
    pub(super) fn is_stopping(&self) -> bool {
        self.conversation.current.lock().is_cancelled()
    }

    /// Stops the reply that is being made.
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
