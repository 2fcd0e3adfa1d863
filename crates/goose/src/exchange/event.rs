//! [`Event`]: everything a user interface sees of a reply, and the answers that it gives.

use std::{sync::Arc, time::Duration};

use goose_extension::{Elicitation, Elicited, JsonObject, Message, RichRenderable, StoredOutput, ToolOutput};
use goose_providers::Usage;
use serde::{Deserialize, Serialize};

use crate::session::{PlannedTask, SessionId, TaskFinished};

/// Something that happened while a reply was made. Changes to the conversation are stored before they are reported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", content = "data", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// The agent for the request was chosen. Reported before the model is asked; not where the session's agent was named by the
    /// user.
    Routed {
        /// The agent.
        agent: String,
        /// The slug of its mode.
        mode: String,
        /// The probability that agent and mode are right, from 0 to 1.
        confidence: f32,
        /// The tier that decided.
        by: RoutedBy,
        /// The reason, in a sentence.
        reason: String,
        /// True if another agent answered before.
        is_switch: bool,
    },
    /// The agent cannot do what is asked. The request is routed again.
    HandedBack {
        /// The agent.
        agent: String,
        /// The slug of its mode.
        mode: String,
        /// Its reason.
        reason: String,
    },
    /// The model gets what earlier sessions have about the request.
    Recalled {
        /// The sessions, the best first.
        sessions: Vec<SessionId>,
        /// The size of the text.
        bytes: u64,
    },
    /// The model is asked.
    Asking {
        /// Count of questions to the model in this reply, from 1.
        turn: u32,
    },
    /// More of the answer.
    Text(String),
    /// More of the model's reasoning.
    Thinking(String),
    /// The model did not answer; it is asked again after a delay.
    Retrying {
        /// The reason of the failure.
        reason: String,
        /// The delay.
        delay: Duration,
        /// Number of the next attempt, from 2.
        attempt: u32,
    },
    /// The answer broke off and the new one differs: the text since `Asking` is void, and the new text follows from its
    /// start.
    Restarted,
    /// The complete answer of the model, stored.
    Answered(Arc<Message>),
    /// A tool call waits for approval; answered with a [`Decision`].
    Approval(Approval),
    /// An extension asks the user; answered with [`Answer::Elicited`].
    Elicitation(ElicitationRequest),
    /// An extension wants to use the model; answered with [`Answer::Consent`].
    Consent(ConsentRequest),
    /// A question, by its id, was answered or withdrawn.
    QuestionClosed {
        /// The question.
        id: String,
    },
    /// A tool runs.
    ToolStarted {
        /// The call.
        id: String,
        /// The tool.
        name: String,
        /// Its arguments.
        arguments: JsonObject,
    },
    /// A running tool reports progress; the shell, more output.
    ToolProgress {
        /// The call.
        id: String,
        /// The report.
        message: String,
    },
    /// An extension shows something: a diff, a plan, a command. Stored with the next step.
    Log {
        /// The call; none outside of calls.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// The content.
        content: RichRenderable,
    },
    /// An extension says what it is doing, until it says something else or the call ends; empty for nothing.
    Status {
        /// The call; none outside of calls.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// The status.
        message: String,
    },
    /// A tool has ended, or was not run; stored.
    ToolFinished {
        /// The call.
        id: String,
        /// The tool.
        name: String,
        /// The result as the model reads it.
        #[serde(with = "StoredOutput")]
        output: ToolOutput,
        /// The way it ended.
        end: ToolEnd,
    },
    /// The price of the last question to the model, and the size of the context.
    Cost(Cost),
    /// Older messages were compacted.
    Compacted {
        /// Estimated tokens of the conversation before.
        before: u64,
        /// Estimated tokens now.
        after: u64,
    },
    /// The request is split into tasks; stored. Answered with [`Answer::Plan`] if it is a question.
    TaskPlan(TaskPlan),
    /// A task was given to a delegate; stored.
    TaskStarted {
        /// The task.
        task: String,
        /// The delegate's session.
        session: SessionId,
        /// Count of attempts, from 1.
        attempt: u32,
    },
    /// A task has called a tool, has its result, or logs something.
    TaskProgress {
        /// The task.
        task: String,
        /// Its event: [`ToolStarted`](Self::ToolStarted), [`ToolFinished`](Self::ToolFinished) or [`Log`](Self::Log).
        event: Box<Event>,
    },
    /// An attempt at a task failed; it is tried once more.
    TaskRetried {
        /// The task.
        task: String,
        /// The reason.
        reason: String,
    },
    /// A task is over; stored.
    TaskFinished(TaskFinished),
    /// All tasks of the request are over. Their results are joined next.
    TasksFinished {
        /// The tokens of all tasks.
        usage: Usage,
        /// Their price in US dollars, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dollars: Option<f64>,
    },
    /// The result was judged against the request; stored.
    Checked(ResultCheck),
    /// Something the user should know, in one sentence.
    Notice(String),
    /// This reader was too slow, and events were dropped. What they changed is in the session's store, after the step
    /// of the last record that was read.
    Lagged {
        /// Count of dropped events.
        missed: u64,
    },
    /// The reply is over. The last event.
    Finished(Outcome),
}

impl Event {
    /// Returns the id of a question to the user; none if it is not one.
    pub fn question_id(&self) -> Option<&str> {
        match self {
            Self::Approval(approval) => Some(&approval.id),
            Self::Elicitation(request) => Some(&request.id),
            Self::Consent(request) => Some(&request.id),
            Self::TaskPlan(plan) if plan.is_question => Some(&plan.id),
            _ => None,
        }
    }

    /// Approximate memory in bytes.
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

/// Approximate size in bytes of something that is shown.
pub(super) fn content_weight(content: &RichRenderable) -> usize {
    match content {
        RichRenderable::Text { text }
        | RichRenderable::Markdown { text }
        | RichRenderable::Code { text, .. }
        | RichRenderable::Diff { unified: text, .. } => text.len(),
        other => other.plain().len(),
    }
}

/// The tasks of a request, before they run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskPlan {
    /// The question, if it is one.
    pub id: String,
    /// The tasks, each after those that it needs.
    pub tasks: Vec<PlannedTask>,
    /// The tasks that were done before goose was ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finished: Vec<String>,
    /// True if the tasks wait for the answer.
    pub is_question: bool,
}

/// The answer to a [`TaskPlan`].
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

/// The way a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolEnd {
    /// It ran; the output says how well.
    Ran,
    /// It was not run: malformed, unknown, or repeated too often.
    Rejected,
    /// The user or a rule denied it.
    Denied,
    /// It was cancelled.
    Cancelled,
}

/// Token usage and price.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The last question and its answer.
    pub last: Usage,
    /// The whole session.
    pub session: Usage,
    /// Price of the whole session in US dollars, where all prices are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dollars: Option<f64>,
    /// Estimated tokens of the conversation.
    pub context_used: u64,
    /// Greatest number of tokens of the conversation.
    pub context_limit: u64,
}

/// The way a reply ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", content = "detail", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// The model has answered. With a response schema, the value that fits it.
    Done {
        /// The structured answer, where one was asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        structured: Option<serde_json::Value>,
    },
    /// The model was asked as often as the limit allows.
    MaxTurns(u32),
    /// Its answer was cut at the maximum length.
    MaxTokens,
    /// The model, or a filter of its service, refused.
    Refused,
    /// The model answered nothing, several times.
    Empty,
    /// The reply was cancelled.
    Cancelled,
    /// The reply could not continue.
    Failed(Failure),
}

/// The reason why a reply could not continue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// A description of the failure and its cause.
    pub message: String,
    /// A suggested fix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The question whether a tool call may run, answered through [`Exchange::answer`](super::Exchange::answer).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Approval {
    /// The question, which has the id of the call.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Exactly the arguments it would get.
    pub arguments: JsonObject,
    /// Reasons for asking, one a line.
    pub reasons: Vec<String>,
    /// The rule that [`Decision::Always`] would store, for people. Without one, "always" is not offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always: Option<String>,
}

/// A question of an extension to the user: a form to fill in, or a page to open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElicitationRequest {
    /// The question.
    pub id: String,
    /// The tool call that asks.
    pub call: String,
    /// The extension that asks.
    pub extension: String,
    /// The form or the page.
    pub question: Box<Elicitation>,
}

/// The question whether an extension may use the model at the user's expense.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ConsentRequest {
    /// The question.
    pub id: String,
    /// The tool call that asks.
    pub call: String,
    /// The extension that asks.
    pub extension: String,
    /// The text that it would send to the model.
    pub prompt: String,
}

/// The answer to an [`Approval`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", content = "detail", rename_all = "snake_case")]
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
        /// Instructions for the model, if the user gives any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instead: Option<String>,
    },
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Answer {
    /// To [`Event::Approval`].
    Decision(Decision),
    /// To [`Event::Elicitation`].
    Elicited(Elicited),
    /// To [`Event::Consent`].
    Consent(bool),
    /// To [`Event::TaskPlan`].
    Plan {
        /// The decision.
        plan: PlanDecision,
    },
}

impl Answer {
    /// Returns true if it answers this kind of question.
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

/// A verdict on a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultCheck {
    /// True if the result meets its criteria.
    pub pass: bool,
    /// The reasons, one for each criterion.
    #[serde(default)]
    pub reasons: Vec<String>,
}

/// The tier that decided on a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RoutedBy {
    /// The user named the agent.
    User,
    /// The session has an agent, and keeps it.
    Session,
    /// The router, without a model.
    Local,
    /// The fast model.
    Accelerator,
}
