//! [`Event`]: everything a user interface sees of a reply, and the [`Answer`]s to its questions.

use std::{sync::Arc, time::Duration};

use goose_extension::{Elicitation, Elicited, JsonObject, Message, RichRenderable, StoredOutput, ToolOutput};
use goose_providers::Usage;
use serde::{Deserialize, Serialize};

pub use crate::session::ToolEnd;
use crate::session::{PlannedTask, SessionId, TaskFinished};

/// Something that happened during a reply. Changes to the conversation are stored before they are reported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", content = "data", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// The agent for the request was chosen. Reported before the model is asked, unless the user named the
    /// session's agent.
    Routed {
        /// Name of the agent.
        agent: String,
        /// Slug of the agent's mode.
        mode: String,
        /// Probability that agent and mode are right, from 0 to 1.
        confidence: f32,
        /// Tier that decided.
        by: RoutedBy,
        /// Reason, in a sentence.
        reason: String,
        /// True if another agent answered before.
        is_switch: bool,
    },
    /// The agent cannot do what is asked, and the request is routed again.
    HandedBack {
        /// Name of the agent.
        agent: String,
        /// Slug of the agent's mode.
        mode: String,
        /// Reason that the agent gave.
        reason: String,
    },
    /// Text of earlier sessions about the request is sent to the model.
    Recalled {
        /// Sessions, the best match first.
        sessions: Vec<SessionId>,
        /// Size of the text.
        bytes: u64,
    },
    /// A message of the user, which is answered next. Stored.
    Prompt(Arc<Message>),
    /// The model is asked.
    Asking {
        /// Number of the request to the model in this reply, from 1.
        turn: u32,
    },
    /// More of the answer.
    Text(String),
    /// More of the model's reasoning.
    Thinking(String),
    /// The model did not answer; it is asked again after a delay.
    Retrying {
        /// Reason of the failure.
        reason: String,
        /// Delay before the next attempt.
        #[serde(rename = "delay_ms", with = "milliseconds")]
        delay: Duration,
        /// Number of the next attempt, from 2.
        attempt: u32,
    },
    /// The answer broke off and the new one differs. Text since `Asking` is void; the new text follows from
    /// its start.
    Restarted,
    /// The complete answer of the model. Stored.
    Answered(Arc<Message>),
    /// A tool call waits for approval. Answered with a [`Decision`].
    Approval(Approval),
    /// An extension asks the user. Answered with [`Answer::Elicited`].
    Elicitation(ElicitationRequest),
    /// An extension wants to use the model. Answered with [`Answer::Consent`].
    Consent(ConsentRequest),
    /// A question was answered or withdrawn.
    QuestionClosed {
        /// Id of the question.
        id: String,
    },
    /// A tool was started.
    ToolStarted {
        /// Id of the call.
        id: String,
        /// Name of the tool.
        name: String,
        /// Arguments of the call.
        arguments: JsonObject,
    },
    /// A running tool reports progress, such as more output of the shell.
    ToolProgress {
        /// Id of the call.
        id: String,
        /// Text of the report.
        message: String,
    },
    /// An extension shows something: a diff, a plan, a command. Stored with the next step.
    Log {
        /// Id of the call; none outside of calls.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// Content to show.
        content: RichRenderable,
    },
    /// A command has changed files that it names. It may have changed others.
    FilesWritten {
        /// Id of the call.
        call: String,
        /// Paths, relative to the working folder if they are below it.
        paths: Vec<String>,
    },
    /// An extension reports its current activity, until the next report or the end of the call.
    Status {
        /// Id of the call; none outside of calls.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// Current activity; empty for none.
        message: String,
    },
    /// A tool has ended, or was not run. Stored.
    ToolFinished {
        /// Id of the call.
        id: String,
        /// Name of the tool.
        name: String,
        /// Result that the model reads.
        #[serde(with = "StoredOutput")]
        output: ToolOutput,
        /// End of the call.
        end: ToolEnd,
    },
    /// Price of the last request to the model, and size of the context.
    Cost(Cost),
    /// Older messages were compacted.
    Compacted {
        /// Estimated tokens of the conversation before.
        before: u64,
        /// Estimated tokens of the conversation after.
        after: u64,
    },
    /// The request is split into tasks. Stored. Answered with [`Answer::Plan`] if it is a question.
    TaskPlan(TaskPlan),
    /// A task was given to a delegate. Stored.
    TaskStarted {
        /// Id of the task.
        task: String,
        /// Session of the delegate.
        session: SessionId,
        /// Number of the attempt, from 1.
        attempt: u32,
    },
    /// A task has called a tool, has a result, or logs something.
    TaskProgress {
        /// Id of the task.
        task: String,
        /// Event of the task: [`ToolStarted`](Self::ToolStarted), [`ToolFinished`](Self::ToolFinished) or
        /// [`Log`](Self::Log).
        event: Box<Event>,
    },
    /// An attempt at a task failed. It is tried once more.
    TaskRetried {
        /// Id of the task.
        task: String,
        /// Reason of the failure.
        reason: String,
    },
    /// A task is over. Stored.
    TaskFinished(TaskFinished),
    /// All tasks of the request are over. Their results are joined next.
    TasksFinished {
        /// Token usage of all tasks.
        usage: Usage,
        /// Price of all tasks in US dollars, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dollars: Option<f64>,
    },
    /// The result was checked against the request. Stored.
    Checked(ResultCheck),
    /// Something the user should know, in one sentence.
    Notice(String),
    /// This reader was too slow, and events were dropped. The changes are in the session's store, after the
    /// step of the last record that was read.
    Lagged {
        /// Number of dropped events.
        missed: u64,
    },
    /// The reply is over. Always the last event.
    Finished(Outcome),
}

impl Event {
    /// Returns the id of a question to the user; none for other events.
    pub fn question_id(&self) -> Option<&str> {
        match self {
            Self::Approval(approval) => Some(&approval.id),
            Self::Elicitation(request) => Some(&request.id),
            Self::Consent(request) => Some(&request.id),
            Self::TaskPlan(plan) if plan.is_question => Some(&plan.id),
            _ => None,
        }
    }

    /// Returns the approximate memory in bytes.
    pub(super) fn weight(&self) -> usize {
        let content = match self {
            Self::ToolFinished { output, .. } => output.estimate(),
            Self::ToolProgress { message, .. } | Self::Notice(message) => message.len(),
            Self::Log { content, .. } => content_weight(content),
            Self::TaskFinished(finished) => finished.result.len(),
            Self::TaskProgress { event, .. } => event.weight(),
            _ => 0,
        };
        size_of::<Self>() + content
    }
}

/// Returns the approximate size in bytes of content to show.
pub(super) fn content_weight(content: &RichRenderable) -> usize {
    match content {
        RichRenderable::Text { text }
        | RichRenderable::Markdown { text }
        | RichRenderable::Code { text, .. }
        | RichRenderable::Diff { unified: text, .. } => text.len(),
        other => other.plain().len(),
    }
}

/// Tasks of a request, before they run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskPlan {
    /// Id of the question, if it is one.
    pub id: String,
    /// Tasks, each after those that it depends on.
    pub tasks: Vec<PlannedTask>,
    /// Ids of the tasks that were done before goose was ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finished: Vec<String>,
    /// True if the tasks wait for an answer.
    pub is_question: bool,
}

/// Answer to a [`TaskPlan`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PlanDecision {
    /// Run the tasks.
    Run,
    /// Do not split the request.
    AsOne,
    /// Do nothing.
    Cancel,
}

/// Token usage and price.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Usage of the last request and its answer.
    pub last: Usage,
    /// Usage of the whole session.
    pub session: Usage,
    /// Price of the whole session in US dollars, if all prices are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dollars: Option<f64>,
    /// Estimated tokens of the conversation.
    pub context_used: u64,
    /// Maximum number of tokens of the conversation.
    pub context_limit: u64,
}

/// Outcome of a reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", content = "detail", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// The model has answered.
    Done {
        /// Value that fits the response schema, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        structured: Option<serde_json::Value>,
    },
    /// The model was asked the maximum number of times.
    MaxTurns(u32),
    /// The answer was cut at the maximum length.
    MaxTokens,
    /// The model or a filter of its service refused to answer.
    Refused,
    /// The model answered several times without text.
    Empty,
    /// The reply was cancelled.
    Cancelled,
    /// The reply could not continue.
    Failed(Failure),
}

/// Reason why a reply could not continue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Description of the failure and its cause.
    pub message: String,
    /// Suggested fix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Question if a tool call may run, answered through [`Exchange::answer`](super::Exchange::answer).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Approval {
    /// Id of the question, which is the id of the call.
    pub id: String,
    /// Name of the tool.
    pub tool: String,
    /// Exact arguments of the call.
    pub arguments: JsonObject,
    /// Reasons for asking, one per line.
    pub reasons: Vec<String>,
    /// Rules that [`Decision::Always`] would store. Without one, "always" is not offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub always: Vec<String>,
    /// Rules that [`Decision::Session`] would add. Without one, it allows exactly this call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub session: Vec<String>,
    /// Preview of the changes, if the tool can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<RichRenderable>,
}

/// Question of an extension to the user: a form to fill in, or a page to open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElicitationRequest {
    /// Id of the question.
    pub id: String,
    /// Id of the tool call that asks.
    pub call: String,
    /// Name of the extension that asks.
    pub extension: String,
    /// Form or page.
    pub question: Box<Elicitation>,
}

/// Question if an extension may use the model at the user's expense.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ConsentRequest {
    /// Id of the question.
    pub id: String,
    /// Id of the tool call that asks.
    pub call: String,
    /// Name of the extension that asks.
    pub extension: String,
    /// Text that the extension would send to the model.
    pub prompt: String,
}

/// Answer to an [`Approval`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", content = "detail", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decision {
    /// Allow this call.
    Allow,
    /// Allow this call and store the rules that were shown.
    Always,
    /// Allow this call, and others like it until the session ends.
    Session,
    /// Allow the call with these arguments.
    Edited(JsonObject),
    /// Deny the call.
    Deny {
        /// Instructions for the model, if the user gave any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instead: Option<String>,
    },
}

/// Answer to a question, such as `{"answer": "consent", "value": true}` in JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", content = "value", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Answer {
    /// Answers [`Event::Approval`].
    Decision(Decision),
    /// Answers [`Event::Elicitation`].
    Elicited(Elicited),
    /// Answers [`Event::Consent`].
    Consent(bool),
    /// Answers [`Event::TaskPlan`].
    Plan {
        /// Decision about the plan.
        plan: PlanDecision,
    },
}

impl Answer {
    /// Returns true if this kind of answer fits the question.
    pub(super) fn fits(&self, question: &Event) -> bool {
        matches!(
            (self, question),
            (Self::Decision(_), Event::Approval(_))
                | (Self::Elicited(_), Event::Elicitation(_))
                | (Self::Consent(_), Event::Consent(_))
                | (Self::Plan { .. }, Event::TaskPlan(_))
        )
    }
}

impl From<Decision> for Answer {
    fn from(decision: Decision) -> Self {
        Self::Decision(decision)
    }
}

impl From<PlanDecision> for Answer {
    fn from(plan: PlanDecision) -> Self {
        Self::Plan { plan }
    }
}

impl From<Elicited> for Answer {
    fn from(elicited: Elicited) -> Self {
        Self::Elicited(elicited)
    }
}

/// Durations in JSON: whole milliseconds.
mod milliseconds {
    use std::time::Duration;

    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(delay: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}

/// Verdict on a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultCheck {
    /// True if the result meets its criteria.
    pub pass: bool,
    /// Reasons, one for each criterion.
    #[serde(default)]
    pub reasons: Vec<String>,
}

/// Tier that decided on a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RoutedBy {
    /// The user named the agent.
    User,
    /// The session keeps its agent.
    Session,
    /// The local router, without a model.
    Local,
    /// The fast model.
    Accelerator,
}
