//! [`Delegates`]: agents that work for a session, each in a session of its own. [`DelegateTask`] is a task for one; [`Delegate`] is one
//! at work; [`DelegateEnd`] its end.

use std::sync::Arc;

use async_trait::async_trait;
use goose_extension::{JsonObject, ToolError, ToolResult};
use goose_providers::Usage;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{task_writes::TaskWriter, usage_ledger::UsageLedger};
use crate::{
    agents::{
        catalog::AgentCatalog,
        manifest::{AgentManifest, AgentMode},
    },
    context::Handover,
    session::{Facts, SessionId},
};

/// The delegates that work at once, of a session and of its delegates together.
pub(crate) const MAX_AT_ONCE: usize = 8;

/// Starts and keeps the agents that work for a session.
#[async_trait]
pub(crate) trait Delegates: Send + Sync {
    /// Returns true if delegates may be started from this session.
    fn may_delegate(&self) -> bool;

    /// The agents that a task can be given to.
    fn catalog(&self) -> Arc<AgentCatalog>;

    /// Checks that a delegate would have these extensions.
    ///
    /// # Errors
    ///
    /// The text names those that it has.
    fn check_extensions(&self, agent: &(Arc<AgentManifest>, AgentMode), wanted: &[String]) -> ToolResult<()>;

    /// Prepares a delegate inside a call: it has a session, and does nothing yet.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be started; the text says why.
    async fn prepare(&self, task: DelegateTask, call: &str) -> ToolResult<PreparedDelegate>;

    /// Gives the tasks from here on the tokens of a new request.
    fn begin_request(&self);

    /// Keeps a delegate that works in the background. When it ends, its result is told to the model, unless it was taken.
    fn keep(&self, delegate: Delegate);

    /// Takes a background task, to wait for its result.
    fn take(&self, id: &str) -> Option<Delegate>;

    /// The ids of the background tasks that are at work.
    fn background(&self) -> Vec<String>;
}

/// The reason why a person should be asked before a task is given away: another model, or an agent that is not a part of goose.
pub(super) fn concern(arguments: &JsonObject, catalog: impl FnOnce() -> Arc<AgentCatalog>) -> Option<String> {
    let text = |name: &str| arguments.get(name)?.as_str().map(str::trim).filter(|text| !text.is_empty());
    let model: Vec<&str> = ["provider", "model"].into_iter().filter_map(text).collect();
    if !model.is_empty() {
        return Some(format!("it gives the task to another model, `{}`", model.join(":")));
    }
    let (agent, _) = catalog().find(agent_source(text("source")?)).ok()?;
    agent.connection.is_some().then(|| format!("it gives the task to the external agent `{}`", agent.name))
}

/// The reason why no task is given away any more: the setting that says so.
pub(crate) fn used_up(most: u64) -> String {
    format!("The tasks have used the {most} tokens that `orchestrator.max_tokens` allows.")
}

/// The name of an agent in the argument `source`.
pub(crate) fn agent_source(source: &str) -> &str {
    source.trim().trim_start_matches("agent:")
}

/// A delegate that is ready to work.
pub(crate) struct PreparedDelegate {
    /// Its session.
    pub(crate) session: SessionId,
    start: Box<dyn FnOnce() -> Delegate + Send>,
}

impl PreparedDelegate {
    pub(crate) fn new(session: SessionId, start: impl FnOnce() -> Delegate + Send + 'static) -> Self {
        Self { session, start: Box::new(start) }
    }

    /// Lets it work, until its task is done, it is cancelled, or the session ends.
    pub(crate) fn start(self) -> Delegate {
        (self.start)()
    }
}

/// The longest task that a tool gives to an agent, in characters.
pub(crate) const MAX_TASK: usize = 100_000;

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
    /// The tokens of its session.
    pub(crate) usage: Usage,
    /// The price of these tokens, if it is known.
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
    cancellation: CancellationToken,
    end: watch::Receiver<Option<DelegateEnd>>,
}

impl Delegate {
    pub(crate) fn new(
        id: SessionId,
        cancellation: CancellationToken,
        end: watch::Receiver<Option<DelegateEnd>>,
    ) -> Self {
        Self { id, cancellation, end }
    }

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
}
