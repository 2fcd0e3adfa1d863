//! Task graphs: a request that is split into tasks, which run side by side as delegates, and one answer from their results.
//!
//! ```text
//! run_tasks ─► plan (stored, shown, asked about in the approving modes) ─► schedule ─► join ─► check
//!                                                                        │   ▲
//!                  each task: a delegate in a session of its own ◄───────┘   └─ result (stored, shown)
//! ```
//!
//! - `plan`: the tasks, checked, with those one after another that name the same files;
//! - `graph`: the state of the tasks; `log`: the same, read from the steps of a session that was interrupted;
//! - `schedule`: starts, ends, retries and cancels them; `board`: what programs see of them and cancel;
//! - `join`: one answer; `check`: the verdict of the judge; `texts`: what models are told.
//!
//! Every change is a step that is stored before it is shown: after the end of goose at any point, finished tasks keep their
//! results, a task that was running goes on in its session, and the others follow.

mod board;
mod check;
mod graph;
mod join;
mod log;
mod plan;
mod schedule;
mod texts;

use goose_extension::Message;
use serde::Deserialize;

pub use self::board::{TaskState, TaskStatus};
use self::graph::TaskGraph;
pub(super) use self::{board::TaskBoard, check::Checked, log::TaskLog};
use super::{
    event::{Answer, Event, Outcome, PlanDecision, TaskPlan},
    reply_task::{Abort, ReplyTask, StepResult},
};
use crate::{
    agents::router::RoutedTask,
    permission::Mode,
    session::{PlannedTask, Step, said, synthetic},
};

/// The tokens that the tasks of one request may use together, unless `orchestrator.max_tokens` says otherwise.
const DEFAULT_MAX_TOKENS: u64 = 10_000_000;

/// The call that a question about a plan belongs to.
const PLAN_QUESTION: &str = "plan";

/// Messages by which the user goes on with tasks that were interrupted, besides an empty one.
///
/// They are a command, compared as a whole: to start the tasks again runs tools, so no guess about a message may do it ("stop" is as short as
/// "go on"). Any other message, in any language, goes to an agent with a report of what is done, and the agent goes on from there.
const GO_ON_WORDS: [&str; 5] = ["continue", "go on", "resume", "carry on", "proceed"];

/// The part of the mapping `orchestrator:` in the settings that is about tasks.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TaskSettings {
    /// Judge results against the request.
    check: bool,
    /// The most tokens of the tasks of one request.
    max_tokens: Option<u64>,
}

impl TaskSettings {
    fn max_tokens(self) -> u64 {
        self.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS)
    }
}

impl ReplyTask {
    /// Works on a request that consists of several tasks. `None` if it is to be worked on as one request after all.
    pub(super) async fn run_tasks(&mut self, tasks: Vec<RoutedTask>) -> StepResult<Option<Outcome>> {
        let tasks = match plan::plan(tasks, &self.core.agents.catalog(), &self.core.working_dir) {
            Ok(tasks) => tasks,
            Err(reason) => {
                self.emit(Event::Notice(format!("The request is not split into tasks: {reason}.")));
                return Ok(None);
            }
        };
        self.record(Step::TaskPlan { tasks: tasks.clone() }).await?;
        self.run_graph(TaskGraph::new(tasks)).await
    }

    /// Goes on with tasks that goose was ended in the middle of.
    pub(super) async fn resume_tasks(&mut self, log: TaskLog) -> StepResult<Option<Outcome>> {
        self.run_graph(log.into_graph()).await
    }

    /// Takes the tasks that were interrupted, if the user goes on with them: then there is no other message. A message
    /// about something else carries what they have done so far.
    pub(super) fn take_interrupted(
        &mut self,
        message: Option<Message>,
    ) -> (Option<Message>, Option<TaskLog>) {
        let Some(log) = self.state.graph.take() else { return (message, None) };
        match message {
            Some(message) if !goes_on(&message) => (Some(with_report(message, &log.into_graph())), None),
            _ => (None, Some(log)),
        }
    }

    async fn run_graph(&mut self, mut graph: TaskGraph) -> StepResult<Option<Outcome>> {
        match self.show_plan(&graph).await? {
            PlanDecision::Run => {}
            PlanDecision::AsOne => {
                self.record(Step::TaskPlan { tasks: Vec::new() }).await?;
                return Ok(None);
            }
            PlanDecision::Cancel => return Err(Abort::Cancelled),
        }
        self.schedule(&mut graph).await?;
        self.join(&graph).await.map(Some)
    }

    /// Shows the plan. In the modes that ask, the user has a say before anything runs.
    async fn show_plan(&mut self, graph: &TaskGraph) -> StepResult<PlanDecision> {
        let asks = matches!(self.core.permissions.mode(), Mode::Approve | Mode::SmartApprove);
        let is_question = asks && self.events.is_attended();
        let tasks: Vec<PlannedTask> = graph.tasks.iter().map(|task| task.planned.clone()).collect();
        let finished = graph.over().map(|task| task.planned.id.clone()).collect();
        let id = self.events.question_id(PLAN_QUESTION);
        let plan = Event::TaskPlan(TaskPlan { id: id.clone(), tasks, finished, is_question });
        if !is_question {
            self.emit(plan);
            return Ok(PlanDecision::Run);
        }
        let events = self.events.clone();
        let mut question = events.ask(id, plan);
        let answer = self.cancellation.run_until_cancelled(question.answer()).await;
        match answer.ok_or(Abort::Cancelled)? {
            Some(Answer::Plan { plan }) => Ok(plan),
            _ => Ok(PlanDecision::Cancel),
        }
    }
}

/// Returns true if a message only says to go on.
fn goes_on(message: &Message) -> bool {
    let said = said(message).to_lowercase();
    let said = said.trim_matches(|c: char| c.is_whitespace() || c == '.' || c == '!');
    GO_ON_WORDS.contains(&said)
}

fn with_report(mut message: Message, graph: &TaskGraph) -> Message {
    if graph.over().next().is_some() {
        message.content.insert(0, synthetic(texts::interrupted_report(graph)));
    }
    message
}
