//! [`Event`]: everything a UX sees of a reply.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use goose_extension::{JsonObject, Message, RichRenderable, ToolOutput};
use goose_providers::Usage;
use tokio::sync::oneshot;

/// Something that happened while a reply was made. What changes the conversation is stored before it is told.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// The model is asked.
    Asking {
        /// How often it has been asked for this reply, from 1.
        turn: u32,
    },
    /// More of the answer.
    Text(String),
    /// More of what the model thinks.
    Thinking(String),
    /// The model did not answer; it is asked again after a while.
    Retrying {
        /// What went wrong.
        reason: String,
        /// How long goose waits.
        delay: Duration,
        /// Which try comes next, from 2.
        attempt: u32,
    },
    /// The answer broke off and the new one differs: the text since `Asking` does not count, the whole comes anew.
    Restarted,
    /// What the model answered, complete and stored.
    Answered(Arc<Message>),
    /// A person must say whether a tool may run.
    Approval(Approval),
    /// A tool runs.
    ToolStarted {
        /// The call.
        id: String,
        /// The tool.
        name: String,
        /// What it was given.
        arguments: JsonObject,
    },
    /// A running tool says how far it is; for the shell, more output.
    ToolProgress {
        /// The call.
        id: String,
        /// Its words.
        message: String,
    },
    /// A running tool has something to show: a difference, a plan.
    ToolLog {
        /// The call.
        id: String,
        /// What it shows.
        content: RichRenderable,
    },
    /// A tool has ended, or was not run and why; stored.
    ToolFinished {
        /// The call.
        id: String,
        /// The tool.
        name: String,
        /// What the model will read.
        output: ToolOutput,
        /// How it came about.
        end: ToolEnd,
    },
    /// What the last question to the model cost, and how full the context is.
    Cost(Cost),
    /// Older messages made room.
    Compacted {
        /// How many tokens the conversation had, about.
        before: u64,
        /// How many it has now, about.
        after: u64,
    },
    /// Something a person should know, in one sentence.
    Notice(String),
    /// The reply is over. The last event.
    Finished(Outcome),
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolEnd {
    /// It ran; the output says how well.
    Ran,
    /// It was not run: malformed, unknown, or the same again and again.
    Rejected,
    /// A person or a rule said no.
    Denied,
    /// It was cancelled.
    Cancelled,
}

/// What the work costs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// The last question and its answer.
    pub last: Usage,
    /// The whole session.
    pub session: Usage,
    /// The whole session in US dollars, where the prices are known.
    pub dollars: Option<f64>,
    /// How many tokens the conversation has now, about.
    pub context_used: u64,
    /// How many it may have.
    pub context_limit: u64,
}

/// How a reply ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// The model has answered. With a response schema, the value that fits it.
    Done {
        /// The structured answer, where one was asked for.
        structured: Option<serde_json::Value>,
    },
    /// It asked for tools as often as it may.
    MaxTurns(u32),
    /// Its answer was cut at the greatest length.
    MaxTokens,
    /// It, or a filter of the service, refused.
    Refused,
    /// It said nothing at all, several times.
    Empty,
    /// A person cancelled.
    Cancelled,
    /// It could not go on.
    Failed(Failure),
}

/// Why a reply could not go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What happened and why.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// A question whether a tool may run. Answered once; unanswered, when the last clone is dropped, it is a no.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Approval {
    /// The call.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Exactly what it would be given.
    pub arguments: JsonObject,
    /// Why a person is asked, one reason a line.
    pub reasons: Vec<String>,
    /// The rule that "always" would store, as a person would read it; where none is safe, "always" is not offered.
    pub always: Option<String>,
    answer: Arc<Mutex<Option<oneshot::Sender<Decision>>>>,
}

/// What a person says to an [`Approval`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Decision {
    /// Yes, this once.
    Allow,
    /// Yes, and from now on, by the rule that was shown.
    Always,
    /// Yes, but with these arguments.
    Edited(JsonObject),
    /// No.
    Deny {
        /// What the model should do instead, where the person says so.
        instead: Option<String>,
    },
}

impl Approval {
    /// A question and where its answer arrives.
    pub(crate) fn new(
        id: String,
        tool: String,
        arguments: JsonObject,
        reasons: Vec<String>,
        always: Option<String>,
    ) -> (Self, oneshot::Receiver<Decision>) {
        let (answer, answered) = oneshot::channel();
        let answer = Arc::new(Mutex::new(Some(answer)));
        (Self { id, tool, arguments, reasons, always, answer }, answered)
    }

    /// Answers. Only the first answer counts, and none after the reply was cancelled; tells whether this one did.
    pub fn answer(&self, decision: Decision) -> bool {
        let sender = self.answer.lock().unwrap_or_else(PoisonError::into_inner).take();
        sender.is_some_and(|sender| sender.send(decision).is_ok())
    }
}
