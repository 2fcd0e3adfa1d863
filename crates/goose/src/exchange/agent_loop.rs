//! [`AgentLoop`]: the loop of one reply, as a sequence of small steps.
//!
//! ```text
//! prepare ─► ask ─► record ─► check ─► run tools ─► decide ─┬─► end
//!    ▲                                                      │
//!    └──────────────────────────────────────────────────────┘
//! ```
//!
//! Each change is stored before it is reported, and before a tool runs because of it. It counts while it is being stored:
//! the calls of an answer are judged meanwhile, and the next question is put to the model. A reply that ends anywhere
//! leaves a valid history.
//!
//! The loop does not know who answers and why: a [`Responder`] chooses the agent, adds the message and runs it.

use std::sync::{Arc, atomic::AtomicBool};

use goose_extension::{JsonObject, Message, MessageContent, Role, Tool, ToolOutput};
use goose_providers::{ProviderError, StopReason, ToolCall, Usage};
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

use super::{
    ask_model::ModelAnswer,
    event::{Event, Failure, Outcome, ToolEnd},
    event_hub::EventSink,
    final_output,
    loop_context::{LoopContext, LoopState, Offer},
    outbox::{Outbox, Writing},
    repetition::Repetition,
    responder::{Request, Responder},
    sanitize_output::sanitize_output,
};
use crate::session::{GO_ON, Step, StoreError, says_nothing, synthetic_message};

/// Reminders that a model gets to say something before the reply ends.
const MAX_REMINDERS: u32 = 2;

/// The reminder for a model that has said nothing.
const SAY_SOMETHING: &str =
    "Your last answer was empty. Go on with the task; when it is done, say in a sentence what the result is.";

/// The result of a call that the user cancelled, for the model.
const CANCELLED: &str = "Cancelled by the user. It may have been carried out in part.";

/// The word for a reply that ended well in the log.
pub(crate) const DONE: &str = "done";

/// The reason of a cancelled reply in the log.
pub(crate) const CANCELLED_REPLY: &str = "cancelled by the user";

/// The result of a call during which goose was ended, for the model.
const INTERRUPTED: &str = "Interrupted: goose was ended before this call had a result. \
                           It may have been carried out in part; look before you repeat it.";

/// The reason of an unfinished reply in the log.
const INTERRUPTED_REPLY: &str = "goose was ended";

/// The loop of one reply.
pub(crate) struct AgentLoop {
    pub(crate) context: Arc<LoopContext>,
    pub(crate) state: OwnedMutexGuard<LoopState>,
    pub(crate) events: EventSink,
    pub(crate) cancellation: CancellationToken,
    outbox: Arc<Outbox>,
    /// The steps that are being stored.
    writing: Option<Writing>,
    /// The functions that the model is offered besides the toolset.
    pub(super) functions: Vec<LoopFunction>,
    /// False while the model has no tools.
    pub(super) has_tools: bool,
    /// Set once there is something to end: before that, nothing is stored, and what was interrupted can still be resumed.
    has_begun: bool,
    /// Set once a call has changed a file.
    pub(crate) has_written: Arc<AtomicBool>,
    pub(super) progress: LoopProgress,
}

/// Progress of a loop.
pub(super) struct LoopProgress {
    pub(super) repetition: Repetition,
    /// Count of questions to the model.
    pub(super) turn: u32,
    /// Count of reminders that the model has to say something.
    reminders: u32,
    /// Count of refusals for length since the service last answered.
    pub(super) overflows: u32,
    /// The final answer, once it was given.
    pub(super) structured: Option<serde_json::Value>,
    /// The arguments of the function that the last answer called.
    pub(super) called: Option<JsonObject>,
    /// Set when the model repeats itself without end.
    pub(super) stuck: Option<Failure>,
}

/// A function of the responder that the model is offered besides the toolset: it is in no list of tools, and needs no permission. The
/// loop answers the call and ends, and the responder decides what follows.
#[derive(Debug, Clone)]
pub(crate) struct LoopFunction {
    /// The function as the model sees it.
    pub(crate) tool: Tool,
    /// The result of a call.
    pub(crate) answer: &'static str,
}

/// The end of a loop.
#[derive(Debug)]
pub(crate) enum LoopEnd {
    /// The model has answered, or a limit is reached.
    Over(Outcome),
    /// The model has called a function, with these arguments.
    Called(JsonObject),
}

/// The reason why a reply does not continue.
#[derive(Debug)]
pub(crate) enum Abort {
    Cancelled,
    Failed(Failure),
}

/// The result of a step.
pub(crate) type StepResult<T> = Result<T, Abort>;

/// The step after an answer and its tools.
enum Next {
    Ask,
    End(Outcome),
}

impl Abort {
    pub(crate) fn failed(message: impl Into<String>, hint: impl Into<Option<String>>) -> Self {
        Self::Failed(Failure { message: message.into(), hint: hint.into() })
    }
}

impl From<StoreError> for Abort {
    fn from(error: StoreError) -> Self {
        Self::failed(format!("The session could not be written: {error}"), error.hint())
    }
}

impl From<ProviderError> for Abort {
    fn from(error: ProviderError) -> Self {
        Self::failed(error.to_string(), error.hint())
    }
}

impl AgentLoop {
    pub(super) fn new(
        context: Arc<LoopContext>,
        state: OwnedMutexGuard<LoopState>,
        events: EventSink,
        cancellation: CancellationToken,
    ) -> Self {
        let repetition = Repetition::new(context.limits.repetitions);
        let outbox = Outbox::new(Arc::clone(&context.outlets.events), events.clone());
        let progress = LoopProgress {
            repetition,
            turn: 0,
            reminders: 0,
            overflows: 0,
            structured: None,
            called: None,
            stuck: None,
        };
        Self {
            context,
            state,
            events,
            cancellation,
            outbox,
            writing: None,
            functions: Vec::new(),
            has_tools: true,
            has_begun: false,
            has_written: Arc::default(),
            progress,
        }
    }

    /// Makes the reply.
    pub(super) async fn reply(mut self, responder: &dyn Responder, request: Request) -> Outcome {
        let outcome = match responder.respond(&mut self, request).await {
            Ok(outcome) => outcome,
            Err(Abort::Cancelled) => Outcome::Cancelled,
            Err(Abort::Failed(failure)) => Outcome::Failed(failure),
        };
        self.end(outcome).await
    }

    /// Asks the model and runs its tools until it has answered, with these functions besides its tools.
    pub(crate) async fn run(&mut self, functions: Vec<LoopFunction>) -> StepResult<LoopEnd> {
        self.functions = functions;
        let context = Arc::clone(&self.context);
        let opened = self.cancellation.run_until_cancelled(context.models.open()).await;
        opened.ok_or(Abort::Cancelled)?.map_err(Abort::Failed)?;
        loop {
            self.prepare().await?;
            let answer = self.ask().await?;
            let calls = self.record_answer(&answer).await?;
            let checked = self.check(&answer, calls).await?;
            self.run_tools(checked).await?;
            match (self.decide(&answer).await?, self.progress.called.take()) {
                (Next::End(outcome), _) => return Ok(LoopEnd::Over(outcome)),
                (Next::Ask, Some(arguments)) => return Ok(LoopEnd::Called(arguments)),
                (Next::Ask, None) => {}
            }
        }
    }

    /// Lets the model answer from what it knows, without tools.
    pub(crate) async fn run_without_tools(&mut self) -> StepResult<Outcome> {
        self.has_tools = false;
        let end = self.run(Vec::new()).await;
        self.has_tools = true;
        self.state.offer = Offer::default();
        Ok(match end? {
            LoopEnd::Over(outcome) => outcome,
            LoopEnd::Called(_) => Outcome::Empty,
        })
    }

    /// Stores the message that is answered, or the request to go on. Returns false if there is nothing to store.
    ///
    /// # Errors
    ///
    /// Fails if there is nothing to answer.
    pub(crate) async fn begin(&mut self, message: Option<Message>) -> StepResult<bool> {
        self.has_begun = true;
        let last = self.state.conversation.last().map(|last| last.role.clone());
        let message = match (message, last) {
            (Some(message), _) => message,
            (None, Some(Role::Assistant)) => synthetic_message(GO_ON),
            (None, Some(_)) => return Ok(false),
            (None, None) => return Err(Abort::failed("The session has no messages yet.", None)),
        };
        self.record(Step::Message { message }).await?;
        match self.state.conversation.messages().is_empty() {
            true => Err(empty()),
            false => Ok(true),
        }
    }

    /// Reports an event, as soon as the steps before it are stored.
    pub(crate) fn emit(&self, event: Event) {
        self.outbox.emit(event);
    }

    /// Stores a step.
    pub(crate) async fn record(&mut self, step: Step) -> Result<(), StoreError> {
        self.record_all(vec![step]).await
    }

    /// Stores several steps at once, after those that waited for the next one.
    pub(crate) async fn record_all(&mut self, steps: Vec<Step>) -> Result<(), StoreError> {
        if steps.is_empty() {
            return Ok(());
        }
        self.record_ahead(steps).await?;
        self.settle().await
    }

    /// As [`record_all`](Self::record_all), but returns while the steps are being stored. For the loop between two tools.
    async fn record_ahead(&mut self, steps: Vec<Step>) -> Result<(), StoreError> {
        if steps.is_empty() {
            return Ok(());
        }
        self.settle().await?;
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

    /// Waits until all recorded steps are stored. Those that could not be stored are stored before the next one, since
    /// they are part of the conversation.
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

    /// Takes the model's answer into the conversation. Returns the calls under the ids that they have there.
    async fn record_answer(&mut self, answer: &ModelAnswer) -> StepResult<Vec<ToolCall>> {
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

    /// Reports what the session has cost, also for what the conversation does not contain.
    pub(crate) fn report_session_cost(&self) {
        let used = self.state.context_usage.used();
        self.emit(Event::Cost(self.context.usage.cost(Usage::default(), used, self.context.limit())));
    }

    /// Stores the usage since the last time.
    pub(crate) async fn flush_usage(&mut self) -> StepResult<()> {
        let steps = self.context.usage.take_unsaved();
        Ok(self.record_all(steps).await?)
    }

    /// Records the result of a call, which is stored while the loop goes on.
    pub(super) async fn finish_call(
        &mut self,
        id: String,
        name: String,
        output: ToolOutput,
        end: ToolEnd,
    ) -> StepResult<()> {
        let output = sanitize_output(output);
        self.record_ahead(vec![Step::ToolResult { id: id.clone(), output: output.clone() }]).await?;
        self.emit(Event::ToolFinished { id, name, output, end });
        Ok(())
    }

    /// Decides whether the model is asked again.
    async fn decide(&mut self, answer: &ModelAnswer) -> StepResult<Next> {
        let is_end = answer.calls.is_empty() || self.progress.structured.is_some();
        if is_end && answer.stop != StopReason::Refused && self.wait_for_background().await? {
            self.progress.structured = None;
            return Ok(self.within_turns(Next::Ask));
        }
        if let Some(structured) = self.progress.structured.take() {
            return Ok(Next::End(Outcome::Done { structured: Some(structured) }));
        }
        if let Some(failure) = self.progress.stuck.take() {
            return Err(Abort::Failed(failure));
        }
        match &answer.stop {
            StopReason::Refused => return Ok(Next::End(Outcome::Refused)),
            StopReason::MaxTokens if answer.calls.is_empty() => return Ok(Next::End(Outcome::MaxTokens)),
            _ => {}
        }
        let next = match (answer.calls.is_empty(), answer.has_text(), &self.context.final_output) {
            (false, ..) => {
                self.progress.reminders = 0;
                Next::Ask
            }
            (true, true, None) => Next::End(Outcome::Done { structured: None }),
            (true, false, None) => self.remind(SAY_SOMETHING).await?,
            (true, _, Some(_)) => self.remind(final_output::NUDGE).await?,
        };
        Ok(self.within_turns(next))
    }

    fn within_turns(&self, next: Next) -> Next {
        match next {
            Next::Ask if self.progress.turn >= self.context.max_turns() => {
                Next::End(Outcome::MaxTurns(self.progress.turn))
            }
            next => next,
        }
    }

    /// Tells the model what it has left undone, unless it was told often enough.
    async fn remind(&mut self, words: &str) -> StepResult<Next> {
        if self.progress.reminders >= MAX_REMINDERS {
            return match self.context.final_output {
                Some(_) => Err(Abort::failed(
                    "The model did not give its answer in the form that was asked for.",
                    "Ask again, or use another model or a simpler response schema.".to_owned(),
                )),
                None => Ok(Next::End(Outcome::Empty)),
            };
        }
        self.progress.reminders += 1;
        self.record(Step::Message { message: synthetic_message(words) }).await?;
        Ok(Next::Ask)
    }

    /// Marks what an earlier reply left open, because goose was ended in the middle of it.
    pub(crate) async fn close_interrupted(&mut self) -> StepResult<()> {
        let steps = interrupted(self.state.conversation.open_calls(), INTERRUPTED, INTERRUPTED_REPLY);
        if steps.len() > 1 || self.state.is_unfinished {
            self.record_all(steps).await?;
            self.state.is_unfinished = false;
        }
        Ok(())
    }

    /// Stores the end of the reply. Where that fails, the failure is the end.
    async fn end(mut self, outcome: Outcome) -> Outcome {
        let open = self.open_calls();
        let steps = match &outcome {
            _ if !self.has_begun => Vec::new(),
            Outcome::Cancelled => {
                interrupted(self.state.conversation.open_calls(), CANCELLED, CANCELLED_REPLY)
            }
            outcome => vec![Step::ReplyEnded { outcome: word(outcome).to_owned() }],
        };
        let flushed = self.flush_usage().await;
        let stored = self.record_all(steps).await;
        if outcome == Outcome::Cancelled {
            for (id, name) in open {
                let output = ToolOutput::error(CANCELLED);
                self.emit(Event::ToolFinished { id, name, output, end: ToolEnd::Cancelled });
            }
        }
        match (flushed, stored.map_err(Into::into)) {
            (Err(Abort::Failed(failure)), _) | (_, Err(Abort::Failed(failure)))
                if !matches!(outcome, Outcome::Failed(_)) =>
            {
                Outcome::Failed(failure)
            }
            _ => outcome,
        }
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
}

/// Checks that a message says something.
///
/// # Errors
///
/// Fails with a text for the user if it does not.
pub(crate) fn check_message(message: &Message) -> StepResult<()> {
    if says_nothing(message) { Err(empty()) } else { Ok(()) }
}

fn empty() -> Abort {
    Abort::failed("The message is empty.", "Say what is to be done.".to_owned())
}

/// Returns true if a message contains more than reasoning.
fn says_something(message: &Message) -> bool {
    message.content.iter().any(|part| !matches!(part, MessageContent::Reasoning(_)))
}

/// The steps that end a reply in the middle: a result for each call, then the reason.
fn interrupted<'a>(calls: impl Iterator<Item = &'a str>, result: &str, reason: &str) -> Vec<Step> {
    let results = calls.map(|id| Step::ToolResult { id: id.to_owned(), output: ToolOutput::error(result) });
    let end = Step::Interrupted { reason: reason.to_owned() };
    results.chain([end]).collect()
}

/// The word for an outcome in the log.
pub(crate) fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Done { .. } => DONE,
        Outcome::MaxTurns(_) => "max_turns",
        Outcome::MaxTokens => "max_tokens",
        Outcome::Refused => "refused",
        Outcome::Empty => "empty",
        Outcome::Cancelled => "cancelled",
        Outcome::Failed(_) => "failed",
    }
}
