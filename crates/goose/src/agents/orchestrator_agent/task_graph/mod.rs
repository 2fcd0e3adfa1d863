//! Task graphs: a request is split into tasks, which run concurrently as delegates, and their results are
//! joined into one answer.
//!
//! ```text
//! run_tasks ─► plan (shown, agreed to, stored) ─► schedule ─► join
//!                                                  │   ▲
//!    each task: a delegate in a separate session ◄─┘   └─ result (stored, shown)
//! ```
//!
//! - `plan`: the tasks, where tasks that name the same files and folders run in sequence;
//! - `graph`: the state of the tasks; `log`: the same, read from the steps of an interrupted session;
//! - `schedule`: starts, ends, retries and cancels tasks; `board`: the tasks for programs that show or cancel
//!   them;
//! - `join`: one answer; `texts`: the texts for models.
//!
//! Every change is a step that is stored before it is shown. If goose ends at any point, finished tasks keep
//! their results, a running task is resumed in its session, and the others follow.

mod board;
mod graph;
mod join;
mod log;
mod plan;
mod schedule;
mod texts;

use goose_extension::Message;

pub(super) use self::board::TaskBoard;
pub(crate) use self::graph::TaskGraph;
use super::{RequestHandler, route::RoutedTask};
use crate::{
    exchange::{Abort, Answer, Event, Outcome, PlanDecision, StepResult, TaskPlan},
    session::{PlannedTask, Step, synthetic_message},
};

/// Id of the call that a question about a plan belongs to.
const PLAN_QUESTION: &str = "plan";

/// Messages that resume interrupted tasks, besides an empty one.
///
/// They are commands, and the whole message has to match: resuming tasks runs tools, so a guess is not enough
/// ("stop" is as short as "go on"). Any other message, in any language, goes to an agent with a report of the
/// finished work, and the agent continues from there.
const GO_ON_WORDS: [&str; 5] = ["continue", "go on", "resume", "carry on", "proceed"];

impl RequestHandler<'_> {
    /// Works on a request that consists of several tasks, after the user has agreed if `asks` is set. Returns
    /// `None` if it has to be handled as one request.
    pub(super) async fn run_tasks(
        &mut self,
        tasks: Vec<RoutedTask>,
        asks: bool,
    ) -> StepResult<Option<Outcome>> {
        let context = &self.work.context;
        let catalog = self.orchestrator.delegates.catalog();
        let tasks = match plan::plan(tasks, &catalog, &context.folder.working_dir) {
            Ok(tasks) => tasks,
            Err(reason) => {
                self.work.emit(Event::Notice(format!("The request is not split into tasks: {reason}.")));
                return Ok(None);
            }
        };
        let (step, graph) = (Step::TaskPlan { tasks: tasks.clone() }, TaskGraph::new(tasks));
        if asks {
            // Stored after the user has agreed, because a plan that was only proposed must not be resumed.
            match self.show_plan(&graph, true).await {
                PlanDecision::Run => self.work.record(step).await?,
                PlanDecision::AsOne => return Ok(None),
                _ => return Err(Abort::Cancelled),
            }
        } else {
            self.work.record(step).await?;
            self.show_plan(&graph, false).await;
        }
        self.run_graph(graph).await.map(Some)
    }

    /// Resumes interrupted tasks.
    pub(super) async fn resume_tasks(&mut self, graph: TaskGraph) -> StepResult<Outcome> {
        self.show_plan(&graph, false).await;
        self.run_graph(graph).await
    }

    /// Returns true if there are interrupted tasks and the message resumes them.
    pub(super) fn resumes_tasks(&self, message: &Message) -> bool {
        self.orchestrator.interrupted.lock().is_some() && goes_on(message)
    }

    /// Returns a report of the interrupted tasks, for a message about something else.
    pub(super) fn interrupted_tasks(&self) -> Option<String> {
        self.orchestrator.interrupted.lock().as_ref().and_then(texts::interrupted_report)
    }

    async fn run_graph(&mut self, mut graph: TaskGraph) -> StepResult<Outcome> {
        let scheduled = self.schedule(&mut graph).await;
        self.orchestrator.board.end();
        scheduled?;
        self.join(&graph).await
    }

    /// Adds the results of tasks that are not resumed to the conversation.
    async fn keep_results(&mut self, graph: &TaskGraph) -> StepResult<()> {
        if let Some(report) = texts::interrupted_report(graph) {
            self.work.record(Step::Message { message: synthetic_message(report) }).await?;
        }
        Ok(())
    }

    /// Shows the plan. If `is_question` is set, the user decides before anything runs.
    async fn show_plan(&self, graph: &TaskGraph, is_question: bool) -> PlanDecision {
        let tasks: Vec<PlannedTask> = graph.tasks.iter().map(|task| task.planned.clone()).collect();
        let finished = graph.over().map(|task| task.planned.id.clone()).collect();
        let id = self.work.events.question_id(PLAN_QUESTION);
        let plan = Event::TaskPlan(TaskPlan { id: id.clone(), tasks, finished, is_question });
        if !is_question {
            self.work.emit(plan);
            return PlanDecision::Run;
        }
        let events = self.work.events.clone();
        let mut question = events.ask(id, plan);
        let answer = self.work.cancellation.run_until_cancelled(question.answer()).await;
        match answer.flatten() {
            Some(Answer::Plan { plan }) => plan,
            _ => PlanDecision::Cancel,
        }
    }
}

/// Returns true if a message only says to continue.
fn goes_on(message: &Message) -> bool {
    let said = message.own_text().to_lowercase();
    let said = said.trim_matches(|c: char| c.is_whitespace() || c == '.' || c == '!');
    GO_ON_WORDS.contains(&said)
}
