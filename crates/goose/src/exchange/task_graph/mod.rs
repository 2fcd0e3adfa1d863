//! Task graphs: a request that is split into tasks, which run side by side as delegates, and one answer from their results.
//!
//! ```text
//! run_tasks ─► plan (stored, shown, asked about) ─► schedule ─► join ─► check
//!                                                                        │   ▲
//!                  each task: a delegate in a session of its own ◄───────┘   └─ result (stored, shown)
//! ```
//!
//! - `plan`: the tasks, with those one after another that name the same files and folders;
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
    agents::orchestrator_agent::RoutedTask,
    session::{PlannedTask, Step, said, synthetic, synthetic_message},
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
    /// Works on a request that consists of several tasks, after the user has agreed if `asks` is set. `None` if it is to be worked on as
    /// one request after all.
    pub(super) async fn run_tasks(
        &mut self,
        tasks: Vec<RoutedTask>,
        asks: bool,
    ) -> StepResult<Option<Outcome>> {
        let tasks = match plan::plan(tasks, &self.core.agents.catalog(), &self.core.working_dir) {
            Ok(tasks) => tasks,
            Err(reason) => {
                self.emit(Event::Notice(format!("The request is not split into tasks: {reason}.")));
                return Ok(None);
            }
        };
        self.record(Step::TaskPlan { tasks: tasks.clone() }).await?;
        self.run_graph(TaskGraph::new(tasks), asks).await
    }

    /// Goes on with tasks that goose was ended in the middle of.
    pub(super) async fn resume_tasks(&mut self, log: TaskLog) -> StepResult<Option<Outcome>> {
        self.run_graph(log.into_graph(), false).await
    }

    /// Returns true if there are interrupted tasks, and the user goes on with them.
    pub(super) fn goes_on_with_tasks(&self, message: Option<&Message>) -> bool {
        self.state.graph.is_some() && message.is_none_or(goes_on)
    }

    /// Adds what interrupted tasks have done so far to a message about something else.
    pub(super) fn with_interrupted_tasks(&self, mut message: Message) -> Message {
        let report = self.state.graph.as_ref().and_then(|log| texts::interrupted_report(log.graph()));
        if let Some(report) = report {
            message.content.insert(0, synthetic(report));
        }
        message
    }

    /// Drops interrupted tasks that the user does not go on with.
    pub(super) fn drop_interrupted_tasks(&mut self) {
        self.state.graph = None;
        self.core.board.end();
    }

    async fn run_graph(&mut self, mut graph: TaskGraph, asks: bool) -> StepResult<Option<Outcome>> {
        let decision = self.show_plan(&graph, asks).await;
        if decision != PlanDecision::Run {
            return self.leave_tasks(decision).await;
        }
        let scheduled = self.schedule(&mut graph).await;
        self.core.board.end();
        scheduled?;
        self.join(&graph).await.map(Some)
    }

    /// Drops tasks that the user does not want.
    async fn leave_tasks(&mut self, decision: PlanDecision) -> StepResult<Option<Outcome>> {
        self.core.board.end();
        if decision != PlanDecision::AsOne {
            return Err(Abort::Cancelled);
        }
        self.record(Step::TaskPlan { tasks: Vec::new() }).await?;
        Ok(None)
    }

    /// Tells the model what tasks have done that do not go on.
    async fn keep_results(&mut self, graph: &TaskGraph) -> StepResult<()> {
        if let Some(report) = texts::interrupted_report(graph) {
            self.record(Step::Message { message: synthetic_message(report) }).await?;
        }
        Ok(())
    }

    /// Shows the plan. Where `is_question` is set, the user has a say before anything runs.
    async fn show_plan(&self, graph: &TaskGraph, is_question: bool) -> PlanDecision {
        let tasks: Vec<PlannedTask> = graph.tasks.iter().map(|task| task.planned.clone()).collect();
        let finished = graph.over().map(|task| task.planned.id.clone()).collect();
        let id = self.events.question_id(PLAN_QUESTION);
        let plan = Event::TaskPlan(TaskPlan { id: id.clone(), tasks, finished, is_question });
        if !is_question {
            self.emit(plan);
            return PlanDecision::Run;
        }
        let events = self.events.clone();
        let mut question = events.ask(id, plan);
        let answer = self.cancellation.run_until_cancelled(question.answer()).await;
        match answer.flatten() {
            Some(Answer::Plan { plan }) => plan,
            _ => PlanDecision::Cancel,
        }
    }
}

/// Returns true if a message only says to go on.
fn goes_on(message: &Message) -> bool {
    let said = said(message).to_lowercase();
    let said = said.trim_matches(|c: char| c.is_whitespace() || c == '.' || c == '!');
    GO_ON_WORDS.contains(&said)
}
