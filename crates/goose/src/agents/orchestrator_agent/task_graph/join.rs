//! Joins the results of the tasks into one answer, by the model or under headings.

use super::{RequestHandler, graph::TaskGraph, texts};
use crate::{
    exchange::{Abort, Event, Failure, Outcome, StepResult, word},
    session::{Step, TaskEnd, synthetic_message},
};

impl RequestHandler<'_> {
    /// Joins the results into one answer. The model has no tools for this. If it gives no answer, the results
    /// are shown under headings.
    pub(super) async fn join(&mut self, graph: &TaskGraph) -> StepResult<Outcome> {
        if !graph.over().any(|task| task.result().is_some()) {
            self.say_results(graph).await?;
            return Ok(Outcome::Failed(none_done(graph)));
        }
        let message = synthetic_message(texts::join_prompt(graph, self.work.context.limit()));
        self.work.record(Step::Message { message }).await?;
        let reason = match self.work.run_without_tools().await {
            Ok(outcome @ (Outcome::Done { .. } | Outcome::MaxTokens | Outcome::Cancelled)) => {
                return Ok(outcome);
            }
            Err(Abort::Cancelled) => return Err(Abort::Cancelled),
            Err(Abort::Failed(failure)) => failure.message,
            Ok(outcome) => word(&outcome).to_owned(),
        };
        let reason = reason.trim_end_matches('.');
        self.work.emit(Event::Notice(format!(
            "The model gave no answer that joins the results ({reason}). They follow one by one."
        )));
        self.say_results(graph).await?;
        Ok(Outcome::Done { structured: None })
    }

    /// Answers with the results under headings.
    async fn say_results(&mut self, graph: &TaskGraph) -> StepResult<()> {
        let text = texts::headings(graph);
        self.work.emit(Event::Text(text.clone()));
        self.work.say(text).await
    }
}

fn none_done(graph: &TaskGraph) -> Failure {
    let ended = graph.over().filter_map(|task| Some((task, task.ended()?)));
    let failed = ended.filter(|(_, (end, _))| *end != TaskEnd::NotRun).map(|(task, (end, result))| {
        let reason = result.lines().next().unwrap_or_default();
        format!("Task {} is {}: {reason}", task.planned.id, end.word())
    });
    let reasons = failed.collect::<Vec<_>>().join("\n");
    let count = graph.tasks.len();
    Failure { message: format!("None of the {count} tasks was done.\n{reasons}"), hint: None }
}
