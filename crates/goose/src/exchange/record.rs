//! Records what happens in a reply: steps are stored before they are reported, and the conversation contains
//! them while they are being written.

use std::sync::Arc;

use goose_extension::{Message, MessageContent, ToolOutput};
use goose_providers::{ToolCall, Usage};

use super::{
    agent_loop::{AgentLoop, StepResult},
    ask_model::ModelAnswer,
    event::{Event, ToolEnd},
    sanitize_output::sanitize_output,
};
use crate::session::{Step, StoreError};

impl AgentLoop {
    /// Reports an event as soon as the steps before it are stored.
    pub(crate) fn emit(&self, event: Event) {
        self.outbox.emit(event);
    }

    /// Stores a step.
    pub(crate) async fn record(&mut self, step: Step) -> Result<(), StoreError> {
        self.record_all(vec![step]).await
    }

    /// Stores several steps at once, after the steps that were deferred until now.
    pub(crate) async fn record_all(&mut self, steps: Vec<Step>) -> Result<(), StoreError> {
        if steps.is_empty() {
            return Ok(());
        }
        self.record_ahead(steps).await?;
        self.settle().await
    }

    /// Like [`record_all`](Self::record_all), but returns while the steps are being stored.
    pub(super) async fn record_ahead(&mut self, steps: Vec<Step>) -> Result<(), StoreError> {
        if steps.is_empty() {
            return Ok(());
        }
        self.settle().await?;
        if steps.iter().any(|step| matches!(step, Step::Message { .. })) {
            self.progress.unanswered = None;
        }
        let state = &mut *self.state;
        let mut all = std::mem::take(&mut state.unwritten);
        let known = all.len();
        all.extend(self.context.outlets.events.take_unsaved());
        all.extend(steps);
        let new = all[known..].to_vec();
        match self.outbox.write(self.context.session.clone(), all) {
            Ok(writing) => self.writing = writing,
            Err((error, mut all)) => {
                all.truncate(known);
                state.unwritten = all;
                return Err(error);
            }
        }
        new.into_iter().for_each(|step| state.conversation.apply(step));
        Ok(())
    }

    /// Waits until all recorded steps are stored. Steps that could not be stored stay part of the
    /// conversation and are stored with the next ones.
    pub(crate) async fn settle(&mut self) -> Result<(), StoreError> {
        let Some(writing) = &mut self.writing else { return Ok(()) };
        let ended = writing.await;
        self.writing = None;
        match ended {
            Ok(Ok(())) => Ok(()),
            Ok(Err((error, steps))) => {
                self.state.unwritten = steps;
                Err(error)
            }
            Err(ended) => Err(StoreError::Other(ended.to_string())),
        }
    }

    /// Adds the model's answer to the conversation. Returns its calls with their ids in the conversation.
    pub(super) async fn record_answer(&mut self, answer: &ModelAnswer) -> StepResult<Vec<ToolCall>> {
        self.context.usage.add(self.context.processor().as_ref(), answer.usage);
        let message = self.state.conversation.with_own_ids(answer.message.clone());
        let ids: Vec<String> = message.call_ids().map(str::to_owned).collect();
        let says_something = says_something(&message);
        let mut steps = self.context.usage.take_unsaved();
        steps.extend(says_something.then_some(Step::Message { message }));
        self.record_ahead(steps).await?;
        if let Some(message) = self.state.conversation.last().filter(|_| says_something) {
            self.emit(Event::Answered(Arc::clone(message)));
        }
        self.report_cost(answer.usage);
        let calls = answer.calls.iter().zip(ids).map(|(call, id)| ToolCall { id, ..call.clone() });
        Ok(calls.collect())
    }

    fn report_cost(&mut self, usage: Usage) {
        let state = &mut *self.state;
        state.context_usage.answered(&usage, &state.conversation);
        let used = state.context_usage.used();
        self.emit(Event::Cost(self.context.usage.cost(usage, used, self.context.limit())));
    }

    /// Reports the cost of the session, including usage outside of the conversation.
    pub(crate) fn report_session_cost(&self) {
        let used = self.state.context_usage.used();
        self.emit(Event::Cost(self.context.usage.cost(Usage::default(), used, self.context.limit())));
    }

    /// Stores the usage that is not stored yet.
    pub(crate) async fn flush_usage(&mut self) -> StepResult<()> {
        let steps = self.context.usage.take_unsaved();
        Ok(self.record_all(steps).await?)
    }

    /// Records the result of a call. Returns while it is being stored.
    pub(super) async fn finish_call(
        &mut self,
        id: String,
        name: String,
        output: ToolOutput,
        end: ToolEnd,
    ) -> StepResult<()> {
        let output = sanitize_output(output);
        self.record_ahead(vec![Step::ToolResult { id: id.clone(), output: output.clone(), end }]).await?;
        self.emit(Event::ToolFinished { id, name, output, end });
        Ok(())
    }
}

/// Returns true if a message contains more than reasoning.
fn says_something(message: &Message) -> bool {
    message.content.iter().any(|part| !matches!(part, MessageContent::Reasoning(_)))
}
