//! [`AgentLoop`]: the loop of one reply, as a sequence of small steps.
//!
//! ```text
//! prepare ─► ask ─► record ─► check ─► run tools ─► decide ─┬─► end
//!    ▲                                                      │
//!    └──────────────────────────────────────────────────────┘
//! ```
//!
//! Each change is stored before it is reported, and before a tool runs because of it (`record`). The
//! conversation contains it while it is still being written, so the loop meanwhile judges the calls of an answer
//! or builds the next request. A reply that ends at any point leaves a valid history.
//!
//! The loop does not choose the agent or add the user's message: a [`Responder`] does both and runs the loop.

use std::{
    ops::ControlFlow::{self, Break, Continue},
    sync::{Arc, atomic::AtomicBool},
};

use goose_extension::{JsonObject, Message, MessageContent, Role, Tool, ToolOutput};
use goose_providers::{ProviderError, StopReason};
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
};
use crate::session::{GO_ON, Step, StoreError, says_nothing, synthetic_message};

/// Maximum number of reminders to a model that answers without text, before the reply ends.
const MAX_REMINDERS: u32 = 2;

/// Reminder for a model that answered without text.
const SAY_SOMETHING: &str =
    "Your last answer was empty. Go on with the task; when it is done, say in a sentence what the result is.";

/// Result of a call that the user cancelled, for the model.
const CANCELLED: &str = "Cancelled by the user. It may have been carried out in part.";

/// Outcome in the log of a reply that succeeded.
pub(crate) const DONE: &str = "done";

/// Reason in the log of a cancelled reply.
pub(crate) const CANCELLED_REPLY: &str = "cancelled by the user";

/// Result of a call that was running when goose was ended, for the model.
const INTERRUPTED: &str = "Interrupted: goose was ended before this call had a result. \
                           It may have been carried out in part; look before you repeat it.";

/// Reason in the log of an unfinished reply.
const INTERRUPTED_REPLY: &str = "goose was ended";

/// Loop of one reply.
pub(crate) struct AgentLoop {
    pub(crate) context: Arc<LoopContext>,
    pub(crate) state: OwnedMutexGuard<LoopState>,
    pub(crate) events: EventSink,
    pub(crate) cancellation: CancellationToken,
    pub(super) outbox: Arc<Outbox>,
    /// Write of the last recorded steps, while it is running.
    pub(super) writing: Option<Writing>,
    /// Functions that the model is offered besides the toolset.
    pub(super) functions: Vec<LoopFunction>,
    /// False while the model has no tools.
    pub(super) has_tools: bool,
    /// Set once the reply begins to store steps. Before that, its end is not stored either, so that an
    /// interrupted reply can still be resumed.
    has_begun: bool,
    /// Set once a call has changed a file.
    pub(crate) has_written: Arc<AtomicBool>,
    pub(super) repetition: Repetition,
    pub(super) progress: LoopProgress,
}

/// Message that the model has not answered yet.
#[derive(Debug)]
pub(super) struct Unanswered {
    pub(super) message: Message,
    /// Conversation before the message.
    pub(super) earlier: Vec<Arc<Message>>,
}

/// Progress of a loop.
#[derive(Default)]
pub(super) struct LoopProgress {
    /// Number of requests to the model.
    pub(super) turn: u32,
    /// Number of reminders since the last tool call.
    reminders: u32,
    /// Number of times in a row that the service refused the conversation for its length.
    pub(super) overflows: u32,
    /// Last message, until the model answers it or another one follows.
    pub(super) unanswered: Option<Unanswered>,
    /// Final answer that fits the response schema, once the model gave it.
    pub(super) structured: Option<serde_json::Value>,
    /// Arguments of the [`LoopFunction`] that the last answer called.
    pub(super) called: Option<JsonObject>,
    /// Set when the model keeps repeating the same call.
    pub(super) stuck: Option<Failure>,
}

/// Function that the responder offers to the model besides the toolset. It is in no list of tools and needs
/// no permission. The loop answers the call and ends; the responder decides what follows.
#[derive(Debug, Clone)]
pub(crate) struct LoopFunction {
    /// Definition that the model sees.
    pub(crate) tool: Tool,
    /// Result of every call.
    pub(crate) answer: &'static str,
}

/// End of a loop.
#[derive(Debug)]
pub(crate) enum LoopEnd {
    /// The model has answered, or a limit was reached.
    Over(Outcome),
    /// The model has called a function, with these arguments.
    Called(JsonObject),
}

/// Reason why a reply does not continue.
#[derive(Debug)]
pub(crate) enum Abort {
    Cancelled,
    Failed(Failure),
}

/// Result of a step.
pub(crate) type StepResult<T> = Result<T, Abort>;

impl Abort {
    pub(crate) fn failed(message: impl Into<String>, hint: impl Into<Option<String>>) -> Self {
        Self::Failed(Failure { message: message.into(), hint: hint.into() })
    }
}

impl From<Abort> for Failure {
    fn from(stop: Abort) -> Self {
        match stop {
            Abort::Failed(failure) => failure,
            Abort::Cancelled => Self { message: "This was cancelled.".to_owned(), hint: None },
        }
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
            repetition,
            progress: LoopProgress::default(),
        }
    }

    /// Runs the reply to its end.
    pub(super) async fn reply(mut self, responder: &dyn Responder, request: Request) -> Outcome {
        let outcome = match responder.respond(&mut self, request).await {
            Ok(outcome) => outcome,
            Err(Abort::Cancelled) => Outcome::Cancelled,
            Err(Abort::Failed(failure)) => Outcome::Failed(failure),
        };
        self.end(outcome).await
    }

    /// Asks the model and runs its tools until it has answered. `functions` are offered besides the toolset.
    pub(crate) async fn run(&mut self, functions: Vec<LoopFunction>) -> StepResult<LoopEnd> {
        self.functions = functions;
        let context = Arc::clone(&self.context);
        let opened = self.cancellation.run_until_cancelled(context.models.open()).await;
        opened.ok_or(Abort::Cancelled)?.map_err(Abort::Failed)?;
        self.settle().await?;
        loop {
            self.prepare().await?;
            let answer = self.ask().await?;
            let calls = self.record_answer(&answer).await?;
            let checked = self.check(&answer, calls).await?;
            self.run_tools(checked).await?;
            match (self.decide(&answer).await?, self.progress.called.take()) {
                (Break(outcome), _) => return Ok(LoopEnd::Over(outcome)),
                (Continue(()), Some(arguments)) => return Ok(LoopEnd::Called(arguments)),
                (Continue(()), None) => {}
            }
        }
    }

    /// Asks the model for an answer without tools.
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

    /// Stores the message to answer, or a request to continue. Returns false if there is nothing to store.
    ///
    /// # Errors
    ///
    /// Fails if there is nothing to answer.
    pub(crate) async fn begin(&mut self, message: Option<Message>) -> StepResult<bool> {
        self.has_begun = true;
        let last = self.state.conversation.last().map(|last| last.role.clone());
        let is_prompt = message.is_some();
        let message = match (message, last) {
            (Some(message), _) => message,
            (None, Some(Role::Assistant)) => synthetic_message(GO_ON),
            (None, Some(_)) => return Ok(false),
            (None, None) => return Err(Abort::failed("The session has no messages yet.", None)),
        };
        let earlier = self.state.conversation.messages().to_vec();
        // What the model needs is opened meanwhile.
        self.record_ahead(vec![Step::Message { message: message.clone() }]).await?;
        if is_prompt {
            self.emit(Event::Prompt(Arc::new(message.clone())));
        }
        self.progress.unanswered = Some(Unanswered { message, earlier });
        match self.state.conversation.messages().is_empty() {
            true => Err(empty()),
            false => Ok(true),
        }
    }

    /// Decides if the model is asked again, or what the outcome is.
    async fn decide(&mut self, answer: &ModelAnswer) -> StepResult<ControlFlow<Outcome>> {
        let is_end = answer.calls.is_empty() || self.progress.structured.is_some();
        if is_end && answer.stop != StopReason::Refused && self.wait_for_background().await? {
            self.progress.structured = None;
            return Ok(self.within_turns());
        }
        if let Some(structured) = self.progress.structured.take() {
            return Ok(Break(Outcome::Done { structured: Some(structured) }));
        }
        if let Some(failure) = self.progress.stuck.take() {
            return Err(Abort::Failed(failure));
        }
        match &answer.stop {
            StopReason::Refused => return Ok(Break(Outcome::Refused)),
            StopReason::MaxTokens if answer.calls.is_empty() => return Ok(Break(Outcome::MaxTokens)),
            _ => {}
        }
        match (answer.calls.is_empty(), answer.has_text(), &self.context.final_output) {
            (false, ..) => {
                self.progress.reminders = 0;
                Ok(self.within_turns())
            }
            (true, true, None) => Ok(Break(Outcome::Done { structured: None })),
            (true, false, None) => self.remind(SAY_SOMETHING).await,
            (true, _, Some(_)) => self.remind(final_output::NUDGE).await,
        }
    }

    fn within_turns(&self) -> ControlFlow<Outcome> {
        match self.progress.turn {
            turn if turn >= self.context.max_turns() => Break(Outcome::MaxTurns(turn)),
            _ => Continue(()),
        }
    }

    /// Reminds the model of what is missing, at most [`MAX_REMINDERS`] times in a row.
    async fn remind(&mut self, words: &str) -> StepResult<ControlFlow<Outcome>> {
        if self.progress.reminders >= MAX_REMINDERS {
            return match self.context.final_output {
                Some(_) => Err(Abort::failed(
                    "The model did not give its answer in the form that was asked for.",
                    "Ask again, or use another model or a simpler response schema.".to_owned(),
                )),
                None => Ok(Break(Outcome::Empty)),
            };
        }
        self.progress.reminders += 1;
        self.record(Step::Message { message: synthetic_message(words) }).await?;
        Ok(self.within_turns())
    }

    /// Closes a reply that was interrupted because goose was ended.
    pub(crate) async fn close_interrupted(&mut self) -> StepResult<()> {
        let steps = interrupted(self.state.conversation.open_calls(), INTERRUPTED, INTERRUPTED_REPLY);
        if steps.len() > 1 || self.state.is_unfinished {
            self.record_all(steps).await?;
            self.state.is_unfinished = false;
        }
        Ok(())
    }

    /// Stores the end of the reply. Returns the outcome, or the failure to store it.
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

    /// Returns the ids and names of the calls without a result.
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

/// Checks that a message is not empty.
///
/// # Errors
///
/// Fails with a text for the user if it is empty.
pub(crate) fn check_message(message: &Message) -> StepResult<()> {
    if says_nothing(message) { Err(empty()) } else { Ok(()) }
}

fn empty() -> Abort {
    Abort::failed("The message is empty.", "Say what is to be done.".to_owned())
}

/// Returns the steps that end an interrupted reply: a result for each call, then the reason.
fn interrupted<'a>(calls: impl Iterator<Item = &'a str>, result: &str, reason: &str) -> Vec<Step> {
    let results = calls.map(|id| Step::ToolResult {
        id: id.to_owned(),
        output: ToolOutput::error(result),
        end: ToolEnd::Cancelled,
    });
    let end = Step::Interrupted { reason: reason.to_owned() };
    results.chain([end]).collect()
}

/// Returns the name of an outcome in the log.
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
