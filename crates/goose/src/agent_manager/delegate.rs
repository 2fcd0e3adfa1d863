//! [`DelegateTask`]: a task for a delegate; [`Delegate`]: a delegate at work; [`DelegateEnd`]: its end.

use std::sync::Arc;

use goose_extension::{MessageContent, Role, ToolError, ToolResult};
use goose_providers::Usage;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{OpenOptions, SessionState};
use crate::{
    agents::manifest::{AgentManifest, AgentMode},
    exchange::{DONE, Exchange, Handover, Outcome, Shown, TaskWriter, UsageLedger},
    session::{Facts, SessionId, Step},
};

/// The longest task that a tool gives to an agent, in characters.
pub(crate) const MAX_TASK: usize = 100_000;

/// The characters of a task that its session is called by.
pub(super) const NAME_CHARS: usize = 60;

/// The longest result of a delegate, in bytes.
const MAX_RESULT: usize = 50_000;

/// The result of a delegate that was cancelled.
pub(super) const CANCELLED: &str = "The delegate was cancelled.";

/// A task for a delegate.
pub(crate) struct DelegateTask {
    /// The message that it begins with.
    pub(crate) prompt: Handover,
    /// The name of its session.
    pub(crate) title: String,
    pub(crate) agent: (Arc<AgentManifest>, AgentMode),
    pub(crate) only_extensions: Option<Vec<String>>,
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) temperature: Option<f32>,
    pub(crate) max_turns: Option<u32>,
    /// The place in a task graph, if it has one.
    pub(crate) graph: Option<GraphPlace>,
}

impl DelegateTask {
    /// A task in plain words.
    pub(crate) fn new(agent: (Arc<AgentManifest>, AgentMode), task: &str) -> Self {
        Self {
            prompt: Handover::new(task),
            title: task.to_owned(),
            agent,
            only_extensions: None,
            provider: None,
            model: None,
            temperature: None,
            max_turns: None,
            graph: None,
        }
    }
}

/// The place of a delegate in a task graph.
pub(crate) struct GraphPlace {
    /// The id of the task.
    pub(crate) task: String,
    /// Keeps tasks from writing over each other.
    pub(crate) writer: TaskWriter,
    /// The ledger of the graph.
    pub(crate) payer: Arc<UsageLedger>,
    /// Ends the task.
    pub(crate) cancellation: CancellationToken,
    /// The session to go on with, because goose was ended in the middle of the task.
    pub(crate) resumed: Option<SessionId>,
}

/// The end of a delegate.
#[derive(Debug, Clone)]
pub(crate) struct DelegateEnd {
    pub(crate) result: ToolResult<String>,
    /// The tokens of its session,
    pub(crate) usage: Usage,
    /// and their price where it is known.
    pub(crate) dollars: Option<f64>,
    /// The facts of its work.
    pub(crate) facts: Facts,
}

impl DelegateEnd {
    pub(crate) fn without_session(error: ToolError) -> Self {
        Self { result: Err(error), usage: Usage::default(), dollars: Some(0.0), facts: Facts::default() }
    }
}

/// A delegate at work, or its result.
#[derive(Clone)]
pub(crate) struct Delegate {
    /// The id of its session.
    pub(crate) id: SessionId,
    pub(super) cancellation: CancellationToken,
    pub(super) end: watch::Receiver<Option<DelegateEnd>>,
}

impl Delegate {
    /// Waits for the end.
    pub(crate) async fn end(&mut self) -> DelegateEnd {
        match self.end.wait_for(Option::is_some).await.map(|end| end.clone()) {
            Ok(Some(end)) => end,
            _ => DelegateEnd::without_session(ToolError::execution(
                "The delegate ended without a result because of a fault of goose. Do the task yourself.",
            )),
        }
    }

    /// Waits for the result, which names the session.
    pub(crate) async fn result(&mut self) -> ToolResult<String> {
        let result = self.end().await.result;
        let named = |text: String| format!("{text}\n\n(session {})", self.id);
        result.map(&named).map_err(|error| match error {
            ToolError::Cancelled(text) => ToolError::Cancelled(named(text)),
            error => ToolError::execution(named(error.to_string())),
        })
    }

    /// Stops it. The result says so.
    pub(crate) fn cancel(&self) {
        self.cancellation.cancel();
    }

    /// Stops it when the guard is dropped.
    pub(crate) fn cancel_on_drop(&self) -> DropGuard {
        self.cancellation.clone().drop_guard()
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.end.borrow().is_some() || self.end.has_changed().is_err()
    }
}

/// A delegate that is ready to work.
pub(crate) struct Work {
    pub(super) id: SessionId,
    pub(super) place: Option<OwnedSemaphorePermit>,
    pub(super) options: OpenOptions,
    pub(super) prompt: Handover,
    pub(super) begun: Begun,
    pub(super) shown: Shown,
    pub(super) cancellation: CancellationToken,
}

impl Work {
    /// Its session.
    pub(crate) fn session(&self) -> &SessionId {
        &self.id
    }
}

/// The state of a delegate's session when it is opened.
pub(super) enum Begun {
    NotYet,
    /// goose was ended in the middle of it.
    Partly,
    /// goose was ended before its result was stored.
    Finished,
}

impl Begun {
    pub(super) fn from_session(session: &SessionState) -> Self {
        let mut steps = session.steps.iter().rev().map(|stored| &stored.step);
        if !session.steps.iter().any(|stored| matches!(stored.step, Step::Message { .. })) {
            return Self::NotYet;
        }
        let last = steps.find(|step| {
            matches!(step, Step::ReplyEnded { .. } | Step::Interrupted { .. } | Step::Message { .. })
        });
        match last {
            Some(Step::ReplyEnded { outcome }) if outcome == DONE => Self::Finished,
            _ => Self::Partly,
        }
    }
}

/// The text of the model's last message.
pub(super) fn last_answer(exchange: &Exchange) -> String {
    let messages = exchange.messages();
    let last = messages.iter().rev().find(|message| message.role == Role::Assistant);
    let texts = last.iter().flat_map(|message| message.content.iter().filter_map(MessageContent::as_text));
    let text = texts.collect::<Vec<_>>().join("\n");
    goose_fs::truncate_lines(text, MAX_RESULT, |rest| {
        format!("(The answer is cut here; {} more bytes are in the session.)", rest.len())
    })
}

pub(super) fn result(outcome: Outcome, answer: String) -> ToolResult<String> {
    let unfinished = |reason: String| {
        let answer = if answer.is_empty() { String::new() } else { format!(" It last said:\n{answer}") };
        Err(ToolError::execution(format!("The delegate did not finish: {reason}.{answer}")))
    };
    match outcome {
        Outcome::Done { .. } => Ok(answer),
        Outcome::Cancelled => Err(ToolError::Cancelled(CANCELLED.to_owned())),
        Outcome::Failed(failure) => {
            let hint = failure.hint.map(|hint| format!(" {hint}")).unwrap_or_default();
            Err(ToolError::execution(format!("The delegate failed: {}{hint}", failure.message)))
        }
        Outcome::MaxTurns(turns) => unfinished(format!(
            "it reached its limit of {turns} turns. Give it a smaller task, or a higher `max_turns`"
        )),
        Outcome::MaxTokens => unfinished("its answer reached the greatest length".to_owned()),
        Outcome::Refused => unfinished("the model refused".to_owned()),
        Outcome::Empty => unfinished("the model answered nothing".to_owned()),
    }
}
