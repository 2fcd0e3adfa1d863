//! OrchestratorAgent: handles each request between the handle of an exchange and the loop. It adds context,
//! chooses the agent, runs tasks concurrently and checks results. The loop does the work.
//!
//! ```text
//! Exchange ─► respond ─► early context ─► choose the agent ─► its context ─► AgentLoop::run ─► check
//!                        (tom, recall)     │                                  ▲   │ hand_back
//!                                          └─► an agreed list: task graph     └───┘
//! ```
//!
//! - `route`: the agent for a request, without a session; `choice`: the same in a session, with the fast
//!   model;
//! - `context_sources`: the context of a message, in order; `recall`: text of earlier sessions about a
//!   request;
//! - `one_reply_agent`: an agent for one message, or for a plan; `external_reply`: replies by external
//!   agents;
//! - `request_hooks`: the hooks before a message and after a reply;
//! - `hand_back`: an agent that gives a request back; `result_check`: the verdict of the judge;
//! - `task_graph`: a list of jobs, run as tasks; `delegate_events`: events of delegates in the session that
//!   started them; `handover`: the message for a delegate, made to fit.

mod choice;
mod context_sources;
mod delegate_events;
mod external_reply;
mod hand_back;
mod handover;
mod one_reply_agent;
mod recall;
mod request_hooks;
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
    delegate_events::{EventParent, relay},
    recall::{Recall, RecallScope},
    task_graph::TaskGraph,
};
use self::{
    hand_back::HandBack,
    one_reply_agent::{InterruptedAgent, OneReplyAgent},
    task_graph::TaskBoard,
};
use super::{agent::Agent, external_agent::ExternalAgent, manifest::RequestStep};
pub use crate::exchange::RoutedBy;
use crate::{
    config::{ConfigError, Settings},
    exchange::{
        Abort, AgentLoop, Delegates, LoopEnd, Outcome, Request, Responder, StepResult, TaskStatus,
        check_message,
    },
    session::synthetic_message,
};

/// Key of the orchestrator's settings.
const ORCHESTRATOR: &str = "orchestrator";

/// Settings with the provider and the model of the planner.
const PLANNER_PROVIDER: &str = "GOOSE_PLANNER_PROVIDER";
const PLANNER_MODEL: &str = "GOOSE_PLANNER_MODEL";

/// Default number of tokens that the tasks of one request may use together. `orchestrator.max_tokens`
/// overrides it.
const DEFAULT_MAX_TOKENS: u64 = 10_000_000;

/// Message that asks the planner for the plan.
const WRITE_PLAN: &str = "Now write the plan for the request above.";

/// Message to the session's agent after the orchestrator has done its own part.
const GO_ON_WITH_REST: &str = "The part of the request above that concerns extensions and earlier sessions is done. Go on with the rest \
                               of it; if there is none, say in a sentence what the result is.";

/// Mapping `orchestrator:` in the settings, except for `split`, which is in [`RouteSettings`].
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub(crate) struct OrchestratorSettings {
    /// Sessions that text is recalled from.
    pub(crate) recall: RecallScope,
    /// If true, results are judged against the request.
    check: bool,
    /// Maximum number of tokens for the tasks of one request.
    pub(crate) max_tokens: u64,
    /// Model of the planner, if it has a separate one.
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
    /// Fails if a value has the wrong type.
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
    /// Settings of the routing. `None` in the session of a delegate, whose agent is given.
    routing: Option<RouteSettings>,
    context: ContextInputs,
    delegates: Arc<dyn Delegates>,
    /// True once the user was informed about built-in agents that files replaced.
    has_told_replaced: AtomicBool,
    /// Tasks of the current request, or of the last one.
    board: TaskBoard,
    /// Tasks that were interrupted because goose ended.
    interrupted: Mutex<Option<TaskGraph>>,
    /// Route of the first request, if the session was opened with it.
    first_route: Mutex<Option<Route>>,
    /// The default agent, while a specialist is the session's agent.
    parked: Mutex<Option<Arc<Agent>>>,
    /// External agent that knows the conversation so far.
    told_external: Mutex<Option<Weak<ExternalAgent>>>,
}

impl OrchestratorAgent {
    /// Creates the orchestrator of a session, with tasks that were interrupted because goose ended. If there is a
    /// route of the first request, the session already has the agent of that route.
    pub(crate) fn new(
        settings: OrchestratorSettings,
        routing: Option<RouteSettings>,
        first_route: Option<Route>,
        context: ContextInputs,
        delegates: Arc<dyn Delegates>,
        interrupted: Option<TaskGraph>,
    ) -> Self {
        let board = interrupted.as_ref().map(TaskGraph::board).unwrap_or_default();
        Self {
            settings,
            routing,
            context,
            delegates,
            has_told_replaced: AtomicBool::new(false),
            board,
            interrupted: Mutex::new(interrupted),
            first_route: Mutex::new(first_route),
            parked: Mutex::default(),
            told_external: Mutex::default(),
        }
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
            unfinished_step: None,
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

/// A request that is being handled.
struct RequestHandler<'a> {
    orchestrator: &'a OrchestratorAgent,
    work: &'a mut AgentLoop,
    /// Agent to return to, if another one makes this reply.
    one_reply: Option<InterruptedAgent>,
    /// State of the request, for an agent that may hand it back.
    handing: HandBack,
    /// Step whose second part follows.
    unfinished_step: Option<RequestStep>,
}

/// Results that can be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckTarget {
    /// The joined results of tasks.
    Tasks,
    /// A single reply that changed files.
    Reply,
}

impl RequestHandler<'_> {
    async fn handle(&mut self, request: Request) -> StepResult<Outcome> {
        self.run_hooks_before(&request).await?;
        self.work.close_interrupted().await?;
        self.orchestrator.delegates.begin_request();
        let (outcome, what) = match request {
            Request::Message(message) if self.resumes_tasks(&message) => self.go_on().await?,
            Request::Message(message) => self.message(&message).await?,
            Request::GoOn => self.go_on().await?,
            Request::Explore(message) => {
                let agent = OneReplyAgent::explorer(&self.work.context.agent());
                (self.message_to(agent, &message).await?, CheckTarget::Reply)
            }
            Request::Plan => {
                let planner = self.planner().await?;
                (self.message_to(planner, &synthetic_message(WRITE_PLAN)).await?, CheckTarget::Reply)
            }
            Request::Task(handover, summarizer) => {
                let message = self.fitting(handover, summarizer).await?;
                let context = self.context_before_routing(&message).await;
                self.begin(message.clone(), context).await?;
                (self.answer(Some(&message)).await?, CheckTarget::Reply)
            }
        };
        let outcome = self.check_result(outcome, what).await?;
        self.continue_for_hooks(outcome).await
    }

    /// Continues from the history, with the interrupted tasks if there are any.
    async fn go_on(&mut self) -> StepResult<(Outcome, CheckTarget)> {
        self.work.begin(None).await?;
        let interrupted = self.orchestrator.interrupted.lock().take();
        Ok(match interrupted {
            Some(graph) => (self.resume_tasks(graph).await?, CheckTarget::Tasks),
            None => (self.answer(None).await?, CheckTarget::Reply),
        })
    }

    /// Answers a message of the user.
    async fn message(&mut self, message: &Message) -> StepResult<(Outcome, CheckTarget)> {
        check_message(message)?;
        let context = self.context_before_routing(message).await;
        let route = self.choose_agent(message).await?;
        self.begin(message.clone(), context).await?;
        if let Some(route) = route.filter(|route| route.tasks.len() > 1) {
            if let Some(outcome) = self.run_list(&route).await? {
                return Ok((outcome, CheckTarget::Tasks));
            }
            self.follow_as_one(&route).await?;
        }
        Ok((self.answer(Some(message)).await?, CheckTarget::Reply))
    }

    /// Lets an agent answer one message.
    async fn message_to(&mut self, agent: OneReplyAgent, message: &Message) -> StepResult<Outcome> {
        check_message(message)?;
        let context = self.context_before_routing(message).await;
        self.begin_one_reply(agent).await?;
        self.begin(message.clone(), context).await?;
        self.answer(Some(message)).await
    }

    /// Stores a message with its context.
    async fn begin(&mut self, message: Message, context: Context) -> StepResult<()> {
        let core = Arc::clone(&self.work.context);
        if core.agent().external.is_none() {
            // The context of a message depends on the model.
            core.models.open().await.map_err(Abort::Failed)?;
        }
        let message = self.with_context(message, context).await;
        self.work.begin(Some(message)).await?;
        self.orchestrator.forget_tasks();
        Ok(())
    }

    /// Lets the agent answer, then the one that it hands the request back to, then the one of the next step.
    /// An external agent works instead of the model.
    async fn answer(&mut self, mut message: Option<&Message>) -> StepResult<Outcome> {
        loop {
            let external = self.work.context.agent().external.clone();
            let outcome = match external {
                Some(external) => self.reply_by_external(&external, message).await?,
                None => {
                    // An external agent does not know what is said from now on.
                    self.orchestrator.told_external.lock().take();
                    let functions = self.functions();
                    match self.work.run(functions).await? {
                        LoopEnd::Over(outcome) => outcome,
                        LoopEnd::Called(arguments) => {
                            self.take_back(&arguments).await?;
                            continue;
                        }
                    }
                }
            };
            match (&outcome, self.unfinished_step.take()) {
                (Outcome::Done { .. }, Some(next)) => self.begin_step(next).await?,
                _ => return Ok(outcome),
            }
            message = None;
        }
    }

    /// Begins the second step of a request.
    async fn begin_step(&mut self, step: RequestStep) -> StepResult<()> {
        self.end_one_reply().await;
        let words = match step {
            RequestStep::Plan => {
                let planner = self.planner().await?;
                self.begin_one_reply(planner).await?;
                WRITE_PLAN
            }
            RequestStep::OwnPart => GO_ON_WITH_REST,
        };
        self.begin(synthetic_message(words), Context::new()).await
    }

    /// Returns the mode that writes plans, with a separate model if one is configured.
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
}

/// Parts of a message that the model gets before the user's words.
type Context = Vec<goose_extension::MessageContent>;
