//! OrchestratorAgent: stands in front of each request, behind the handle of an exchange. It adds context, chooses the agent, runs tasks
//! side by side, checks results, and lets the loop do the work.
//!
//! ```text
//! Exchange ─► respond ─► context before routing ─► choose the agent ─► context of the agent ─► AgentLoop::run ─► check
//!                              (tom, recall)            │                                           ▲   │ hand_back
//!                                                       └─► a list, agreed to: task graph           └───┘
//! ```
//!
//! - `route`: the agent for a request, without a session; `choice`: the same in a session, with the fast model;
//! - `context_sources`: what the model gets with a message, in order; `recall`: what earlier sessions have about it;
//! - `one_reply_agent`: an agent for one message, or for a plan; `external_reply`: an external agent in the model's place;
//! - `hand_back`: an agent that gives a request back; `result_check`: the verdict of the judge;
//! - `task_graph`: a list of jobs, run as tasks; `delegate_events`: what delegates do, in the session that started them;
//!   `handover`: what another session hands over, made to fit.

mod choice;
mod context_sources;
mod delegate_events;
mod external_reply;
mod hand_back;
mod handover;
mod one_reply_agent;
mod recall;
mod result_check;
mod route;
mod task_graph;

use std::sync::{Arc, Weak, atomic::AtomicBool};

use async_trait::async_trait;
use goose_extension::Message;
use parking_lot::Mutex;
use serde::Deserialize;

pub use self::route::{Route, RouteSettings, RoutedTask, SessionAgent, SplitSetting, route};
pub(crate) use self::{
    context_sources::ContextInputs,
    delegate_events::{Shown, relay},
    recall::{Recall, RecallScope},
    task_graph::TaskLog,
};
use self::{
    hand_back::HandBack,
    one_reply_agent::{InterruptedAgent, OneReplyAgent},
    task_graph::TaskBoard,
};
use super::{agent::Agent, external_agent::ExternalAgent};
pub use crate::exchange::RoutedBy;
use crate::{
    config::{ConfigError, Settings},
    exchange::{
        Abort, AgentLoop, Delegates, LoopEnd, Outcome, Request, Responder, StepResult, TaskStatus,
        check_message,
    },
    session::synthetic_message,
};

/// The settings of the orchestrator.
const ORCHESTRATOR: &str = "orchestrator";

/// The settings with the model of the planner.
const PLANNER_PROVIDER: &str = "GOOSE_PLANNER_PROVIDER";
const PLANNER_MODEL: &str = "GOOSE_PLANNER_MODEL";

/// The tokens that the tasks of one request may use together, unless `orchestrator.max_tokens` says otherwise.
const DEFAULT_MAX_TOKENS: u64 = 10_000_000;

/// The message that asks the planner for the plan.
const WRITE_PLAN: &str = "Now write the plan for the request above.";

/// The message after a step of the orchestrator's own.
const GO_ON_WITH_REST: &str = "The part of the request above that concerns extensions and earlier sessions is done. Go on with the rest \
                               of it; if there is none, say in a sentence what the result is.";

/// The mapping `orchestrator:` in the settings, but for `split`, which is a part of [`RouteSettings`].
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub(crate) struct OrchestratorSettings {
    /// The sessions that are recalled from.
    pub(crate) recall: RecallScope,
    /// Judge results against the request.
    check: bool,
    /// The most tokens of the tasks of one request.
    pub(crate) max_tokens: u64,
    /// The model of the planner, if it has one of its own.
    #[serde(skip)]
    planner_model: Option<String>,
}

impl Default for OrchestratorSettings {
    fn default() -> Self {
        let recall = RecallScope::default();
        Self { recall, check: false, max_tokens: DEFAULT_MAX_TOKENS, planner_model: None }
    }
}

impl OrchestratorSettings {
    /// Reads the settings.
    ///
    /// # Errors
    ///
    /// Fails if a value is of another kind.
    pub(crate) fn load(settings: &Settings) -> Result<Self, ConfigError> {
        let written: Self = settings.get(ORCHESTRATOR)?.unwrap_or_default();
        let model = settings.get::<String>(PLANNER_MODEL)?;
        let planner_model = match settings.get::<String>(PLANNER_PROVIDER)?.zip(model.clone()) {
            Some((provider, model)) => Some(format!("{provider}:{model}")),
            None => model,
        };
        Ok(Self { planner_model, ..written })
    }
}

/// The orchestrator of one session.
pub(crate) struct OrchestratorAgent {
    settings: OrchestratorSettings,
    /// Settings of the routing; `None` in the session of a delegate, whose agent is given.
    routing: Option<RouteSettings>,
    context: ContextInputs,
    delegates: Arc<dyn Delegates>,
    /// Set once the user knows which built-in agents were replaced by files.
    has_told_replaced: AtomicBool,
    /// The tasks of the request that is being worked on, or of the last one.
    board: TaskBoard,
    /// The tasks that goose was ended in the middle of.
    interrupted: Mutex<Option<TaskLog>>,
    /// The route of the first request, if the session was opened with it.
    first_route: Mutex<Option<Route>>,
    /// The default agent, while a specialist is the session's.
    parked: Mutex<Option<Arc<Agent>>>,
    /// The external agent that knows the session so far.
    told_external: Mutex<Option<Weak<ExternalAgent>>>,
}

impl OrchestratorAgent {
    /// An orchestrator for a session, with the tasks that goose was ended in the middle of.
    pub(crate) fn new(
        settings: OrchestratorSettings,
        routing: Option<RouteSettings>,
        context: ContextInputs,
        delegates: Arc<dyn Delegates>,
        interrupted: Option<TaskLog>,
    ) -> Self {
        let board = interrupted.as_ref().map(TaskLog::board).unwrap_or_default();
        Self {
            settings,
            routing,
            context,
            delegates,
            has_told_replaced: AtomicBool::new(false),
            board,
            interrupted: Mutex::new(interrupted),
            first_route: Mutex::default(),
            parked: Mutex::default(),
            told_external: Mutex::default(),
        }
    }

    /// Sets the route of the first request, whose agent the session has.
    pub(crate) fn with_first_route(self, route: Option<Route>) -> Self {
        Self { first_route: Mutex::new(route), ..self }
    }
}

#[async_trait]
impl Responder for OrchestratorAgent {
    async fn respond(&self, work: &mut AgentLoop, request: Request) -> StepResult<Outcome> {
        let mut handler = RequestHandler {
            orchestrator: self,
            work,
            one_reply: None,
            handing: HandBack::default(),
            next_step: None,
        };
        let outcome = handler.handle(request).await;
        handler.end_one_reply().await;
        outcome
    }

    fn tasks(&self) -> Vec<TaskStatus> {
        self.board.statuses()
    }

    fn cancel_task(&self, id: &str) -> bool {
        self.board.cancel(id)
    }

    async fn close(&self) {
        let parked = self.parked.lock().take();
        if let Some(parked) = parked {
            parked.close().await;
        }
    }

    fn forget_tasks(&self) {
        self.interrupted.lock().take();
        self.board.end();
    }
}

/// One request being handled.
struct RequestHandler<'a> {
    orchestrator: &'a OrchestratorAgent,
    work: &'a mut AgentLoop,
    /// The agent to go back to, if another one makes this reply.
    one_reply: Option<InterruptedAgent>,
    /// The request, where the agent may hand it back.
    handing: HandBack,
    /// The step that follows this one.
    next_step: Option<NextStep>,
}

/// A step of a request after its first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextStep {
    /// The planner writes a plan from what was found.
    Plan,
    /// The session's agent goes on with what is left.
    Rest,
}

/// The results that are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Checked {
    /// The joined results of tasks.
    Tasks,
    /// A single reply, if it changed files.
    Reply,
}

impl RequestHandler<'_> {
    async fn handle(&mut self, request: Request) -> StepResult<Outcome> {
        self.work.close_interrupted().await?;
        self.orchestrator.delegates.begin_request();
        match request {
            Request::Message(message) if self.resumes_tasks(&message) => self.go_on().await,
            Request::Message(message) => self.message(message).await,
            Request::GoOn => self.go_on().await,
            Request::Explore(message) => {
                let agent = OneReplyAgent::explorer(&self.work.context.agent());
                self.message_to(agent, message).await
            }
            Request::Plan => {
                let planner = self.planner().await?;
                self.message_to(planner, synthetic_message(WRITE_PLAN)).await
            }
            Request::Task(handover, summarizer) => {
                let message = self.fitting(handover, summarizer).await?;
                let context = self.context_before_routing(&message).await;
                self.answer_message(message, context).await
            }
        }
    }

    /// Goes on from the history, with the tasks that were interrupted if there are some.
    async fn go_on(&mut self) -> StepResult<Outcome> {
        self.work.begin(None).await?;
        let interrupted = self.orchestrator.interrupted.lock().take();
        match interrupted {
            Some(log) => self.resume_tasks(log).await,
            None => self.answer(None).await,
        }
    }

    /// Answers a message of the user.
    async fn message(&mut self, message: Message) -> StepResult<Outcome> {
        check_message(&message)?;
        let context = self.context_before_routing(&message).await;
        let route = self.choose_agent(&message).await?;
        let Some(route) = route.filter(|route| route.tasks.len() > 1) else {
            return self.answer_message(message, context).await;
        };
        self.begin(message.clone(), context).await?;
        match self.run_list(&route).await? {
            Some(outcome) => self.check_result(outcome, Checked::Tasks).await,
            None => {
                self.follow_as_one(&route).await?;
                self.answer(Some(message)).await
            }
        }
    }

    /// Lets an agent answer one message.
    async fn message_to(&mut self, agent: OneReplyAgent, message: Message) -> StepResult<Outcome> {
        check_message(&message)?;
        let context = self.context_before_routing(&message).await;
        self.begin_one_reply(agent).await?;
        self.answer_message(message, context).await
    }

    async fn answer_message(&mut self, message: Message, context: Context) -> StepResult<Outcome> {
        self.begin(message.clone(), context).await?;
        self.answer(Some(message)).await
    }

    /// Stores a message with its context.
    async fn begin(&mut self, message: Message, context: Context) -> StepResult<()> {
        let core = Arc::clone(&self.work.context);
        if core.agent().external.is_none() {
            // What goes with a message depends on the model.
            core.models.open().await.map_err(Abort::Failed)?;
        }
        let message = self.with_context(message, context).await;
        self.work.begin(Some(message)).await?;
        self.orchestrator.forget_tasks();
        Ok(())
    }

    /// Lets the agent answer, and the next one after it if this was a step of the request; and checks the result.
    async fn answer(&mut self, message: Option<Message>) -> StepResult<Outcome> {
        let mut outcome = self.run_agent(message.as_ref()).await?;
        if let (Outcome::Done { .. }, Some(next)) = (&outcome, self.next_step.take()) {
            self.end_one_reply().await;
            let words = match next {
                NextStep::Plan => {
                    let planner = self.planner().await?;
                    self.begin_one_reply(planner).await?;
                    WRITE_PLAN
                }
                NextStep::Rest => GO_ON_WITH_REST,
            };
            self.begin(synthetic_message(words), Context::new()).await?;
            outcome = self.run_agent(None).await?;
        }
        self.check_result(outcome, Checked::Reply).await
    }

    /// The mode that writes plans, with a model of its own if one is configured.
    async fn planner(&self) -> StepResult<OneReplyAgent> {
        let context = &self.work.context;
        let model = match &self.orchestrator.settings.planner_model {
            Some(name) => {
                let found = context.models.find(name).await;
                Some(found.map_err(|error| Abort::failed(error.to_string(), None))?)
            }
            None => None,
        };
        OneReplyAgent::planner(&context.agents.catalog(), model)
    }

    /// Runs the loop with the agent, and with the next one if it hands the request back. An external agent works in the model's place.
    async fn run_agent(&mut self, message: Option<&Message>) -> StepResult<Outcome> {
        loop {
            let external = self.work.context.agent().external.clone();
            if let Some(external) = external {
                return self.reply_by_external(&external, message).await;
            }
            // What is said now, an external agent does not know.
            self.orchestrator.told_external.lock().take();
            let functions = self.functions();
            match self.work.run(functions).await? {
                LoopEnd::Over(outcome) => return Ok(outcome),
                LoopEnd::Called(arguments) => self.take_back(&arguments).await?,
            }
        }
    }
}

/// Parts of a message that the model gets before the user's words.
type Context = Vec<goose_extension::MessageContent>;
