//! Recording: what happened is stored, then it counts, then it is told.

use std::sync::Arc;

use goose_extension::{Message, MessageContent, ToolOutput};
use goose_providers::{ToolCall, Usage};

use super::{
    answer::Answer,
    bounded::bounded,
    event::{Event, Outcome, ToolEnd},
    work::{Going, Stop, Work},
};
use crate::session::{Step, StoreError};

/// What the model reads where a person cancelled a call.
const CANCELLED: &str = "Cancelled by the user. It may have been carried out in part.";

/// What the log says of a reply that a person cancelled.
const CANCELLED_REPLY: &str = "cancelled by the user";

/// What the model reads where goose was ended while a call was made.
const INTERRUPTED: &str = "Interrupted: goose was ended before this call had a result. \
                           It may have been carried out in part; look before you repeat it.";

/// What the log says of a reply that was not brought to its end.
const INTERRUPTED_REPLY: &str = "goose was ended";

impl Work {
    /// Reports an event.
    pub(super) fn emit(&self, event: Event) {
        self.events.emit(event);
    }

    /// Stores a step; only then it counts.
    pub(super) async fn record(&mut self, step: Step) -> Result<(), StoreError> {
        self.record_all(vec![step]).await
    }

    /// Takes what the model answered into the conversation: the calls, under the ids that they have there.
    pub(super) async fn take(&mut self, answer: &Answer) -> Going<Vec<ToolCall>> {
        self.core.spent.add(self.core.processor().as_ref(), answer.usage);
        let message = self.state.conversation.with_own_ids(answer.message.clone());
        let ids: Vec<String> = message.call_ids().map(str::to_owned).collect();
        let says_something = says_something(&message);
        let mut steps = self.core.spent.take();
        steps.extend(says_something.then_some(Step::Message { message }));
        self.record_all(steps).await?;
        if let Some(message) = self.state.conversation.last().filter(|_| says_something) {
            self.emit(Event::Answered(Arc::clone(message)));
        }
        self.count_answer(answer.usage).await;
        let calls = answer.calls.iter().zip(ids).map(|(call, id)| ToolCall { id, ..call.clone() });
        Ok(calls.collect())
    }

    async fn count_answer(&mut self, usage: Usage) {
        let state = &mut *self.state;
        state.fullness.answered(&usage, &state.conversation);
        let cost = self.core.spent.cost(usage, self.state.fullness.used(), self.core.limit());
        self.emit(Event::Cost(cost));
    }

    /// Stores all that was spent since.
    pub(super) async fn keep_books(&mut self) -> Going<()> {
        let steps = self.core.spent.take();
        Ok(self.record_all(steps).await?)
    }

    /// Stores what came of a call.
    pub(super) async fn finish_call(
        &mut self,
        id: String,
        name: String,
        output: ToolOutput,
        end: ToolEnd,
    ) -> Going<()> {
        let output = bounded(output);
        self.record(Step::ToolResult { id: id.clone(), output: output.clone() }).await?;
        self.emit(Event::ToolFinished { id, name, output, end });
        Ok(())
    }

    /// Marks what an earlier reply left open, because goose was ended in the middle of it.
    pub(super) async fn close_interrupted(&mut self) -> Going<()> {
        let steps = interrupted(self.state.conversation.open_calls(), INTERRUPTED, INTERRUPTED_REPLY);
        if steps.len() > 1 || self.state.is_unfinished {
            self.record_all(steps).await?;
            self.state.is_unfinished = false;
        }
        Ok(())
    }

    /// The end of a reply, stored. Where that fails, the failure is the end.
    pub(super) async fn end(mut self, outcome: Outcome) -> Outcome {
        let steps = match &outcome {
            Outcome::Cancelled => self.cancelled_steps(),
            outcome => vec![Step::ReplyEnded { outcome: word(outcome).to_owned() }],
        };
        let finished = self.open_calls();
        let books = self.keep_books().await;
        let stored = self.record_all(steps).await;
        if outcome == Outcome::Cancelled {
            for (id, name) in finished {
                let output = ToolOutput::error(CANCELLED);
                self.emit(Event::ToolFinished { id, name, output, end: ToolEnd::Cancelled });
            }
        }
        match (books, stored.map_err(Into::into)) {
            (Err(Stop::Failed(failure)), _) | (_, Err(Stop::Failed(failure)))
                if !matches!(outcome, Outcome::Failed(_)) =>
            {
                Outcome::Failed(failure)
            }
            _ => outcome,
        }
    }

    fn cancelled_steps(&self) -> Vec<Step> {
        interrupted(self.state.conversation.open_calls(), CANCELLED, CANCELLED_REPLY)
    }

    /// The ids and names of the calls that have no result.
    fn open_calls(&self) -> Vec<(String, String)> {
        let Some(message) = self.state.conversation.last() else { return Vec::new() };
        let open: Vec<&str> = self.state.conversation.open_calls().collect();
        let calls = message.content.iter().filter_map(|part| match part {
            MessageContent::ToolCall { id, name, .. } if open.contains(&id.as_str()) => {
                Some((id.clone(), name.clone()))
            }
            _ => None,
        });
        calls.collect()
    }

    /// Stores several steps at once, after those that waited for the next one.
    async fn record_all(&mut self, steps: Vec<Step>) -> Result<(), StoreError> {
        if steps.is_empty() {
            return Ok(());
        }
        let mut all = self.core.events.take_unsaved();
        all.extend(steps);
        let steps = all;
        let number = self.core.session.append_all(&steps).await?;
        self.core.events.stored(number);
        steps.into_iter().for_each(|step| self.state.conversation.apply(step));
        Ok(())
    }
}

/// Whether there is more in a message than what the model thought.
fn says_something(message: &Message) -> bool {
    message.content.iter().any(|part| !matches!(part, MessageContent::Reasoning(_)))
}

/// The steps that end a reply in the middle: a result for each call, then the reason.
fn interrupted<'a>(calls: impl Iterator<Item = &'a str>, result: &str, reason: &str) -> Vec<Step> {
    let results = calls.map(|id| Step::ToolResult { id: id.to_owned(), output: ToolOutput::error(result) });
    let end = Step::Interrupted { reason: reason.to_owned() };
    results.chain([end]).collect()
}

/// An outcome as the log has it.
fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Done { .. } => "done",
        Outcome::MaxTurns(_) => "max_turns",
        Outcome::MaxTokens => "max_tokens",
        Outcome::Refused => "refused",
        Outcome::Empty => "empty",
        Outcome::Cancelled => "cancelled",
        Outcome::Failed(_) => "failed",
    }
}
