//! One answer from the results of the tasks: by the model, or under headings.

use std::sync::Arc;

use goose_extension::Message;

use super::{graph::TaskGraph, texts};
use crate::{
    exchange::{
        core::Offer,
        event::{Event, Failure, Outcome},
        reply_task::{Abort, ReplyTask, StepResult, word},
    },
    session::{Step, TaskEnd, synthetic_message},
};

impl ReplyTask {
    /// Joins the results into one answer. The model has no tools for it; where it gives no answer, the results are shown
    /// as they are.
    pub(super) async fn join(&mut self, graph: &TaskGraph) -> StepResult<Outcome> {
        if !graph.over().any(|task| task.result().is_some()) {
            self.say_results(graph).await?;
            return Ok(Outcome::Failed(none_done(graph)));
        }
        let message = synthetic_message(texts::join_prompt(graph, self.core.limit()));
        self.record(Step::Message { message }).await?;
        self.is_joining = true;
        let joined = self.answer().await;
        self.is_joining = false;
        self.state.offer = Offer::default();
        let reason = match joined {
            Ok(outcome @ (Outcome::Done { .. } | Outcome::MaxTokens | Outcome::Cancelled)) => {
                return Ok(outcome);
            }
            Err(Abort::Cancelled) => return Err(Abort::Cancelled),
            Err(Abort::Failed(failure)) => failure.message,
            Ok(outcome) => word(&outcome).to_owned(),
        };
        let reason = reason.trim_end_matches('.');
        self.emit(Event::Notice(format!(
            "The model gave no answer that joins the results ({reason}). They follow one by one."
        )));
        self.say_results(graph).await?;
        Ok(Outcome::Done { structured: None })
    }

    /// Answers with the results under headings.
    async fn say_results(&mut self, graph: &TaskGraph) -> StepResult<()> {
        let text = texts::headings(graph);
        self.record(Step::Message { message: Message::assistant(text.as_str()) }).await?;
        self.emit(Event::Text(text));
        if let Some(message) = self.state.conversation.last() {
            self.emit(Event::Answered(Arc::clone(message)));
        }
        Ok(())
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
