//! [`Delegates`]: the interface to agents that work for a session, each in its own session. [`DelegateTask`]
//! is a task for one, [`Delegate`] a running one, and [`DelegateEnd`] its result. `agent_manager` implements
//! it.

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
    recipe::{Recipe, RecipeFile},
    session::{Facts, SessionId},
};

/// Maximum number of delegates that work at once, for a session and its delegates together.
pub(crate) const MAX_AT_ONCE: usize = 8;

/// Starts and keeps the agents that work for a session.
#[async_trait]
pub(crate) trait Delegates: Send + Sync {
    /// Returns true if this session may start delegates.
    fn may_delegate(&self) -> bool;

    /// Returns the agents that a task can be given to.
    fn catalog(&self) -> Arc<AgentCatalog>;

    /// Checks that a delegate would have these extensions.
    ///
    /// # Errors
    ///
    /// Fails with a text that names the extensions that it has.
    fn check_extensions(&self, agent: &(Arc<AgentManifest>, AgentMode), wanted: &[String]) -> ToolResult<()>;

    /// Prepares a delegate inside a call. It has a session, but does not work yet.
    ///
    /// # Errors
    ///
    /// Fails with the reason if it cannot be started.
    async fn prepare(&self, task: DelegateTask, call: &str) -> ToolResult<PreparedDelegate>;

    /// Resets the token budget of tasks for a new request.
    fn begin_request(&self);

    /// Keeps a delegate that works in the background. Its result is sent to the model, unless it was taken
    /// first.
    fn keep(&self, delegate: Delegate);

    /// Takes a background task, to wait for its result.
    fn take(&self, id: &str) -> Option<Delegate>;

    /// Returns the ids of the running background tasks.
    fn background(&self) -> Vec<String>;
}

/// Returns the reason to ask the user before a task is delegated: another model, or an external agent.
pub(super) fn concern(arguments: &JsonObject, catalog: impl FnOnce() -> Arc<AgentCatalog>) -> Option<String> {
    let text = |name: &str| arguments.get(name)?.as_str().map(str::trim).filter(|text| !text.is_empty());
    let model: Vec<&str> = ["provider", "model"].into_iter().filter_map(text).collect();
    if !model.is_empty() {
        return Some(format!("it gives the task to another model, `{}`", model.join(":")));
    }
    let (agent, _) = catalog().find(agent_source(text("source")?)).ok()?;
    agent.connection.is_some().then(|| format!("it gives the task to the external agent `{}`", agent.name))
}

/// Returns the reason why no more tasks are delegated, with the setting that limits them.
pub(crate) fn used_up(most: u64) -> String {
    format!("The tasks have used the {most} tokens that `orchestrator.max_tokens` allows.")
}

/// Returns the name of an agent in the argument `source`.
pub(crate) fn agent_source(source: &str) -> &str {
    source.trim().trim_start_matches("agent:")
}

/// Delegate that is ready to work.
pub(crate) struct PreparedDelegate {
    /// Session of the delegate.
    pub(crate) session: SessionId,
    start: Box<dyn FnOnce() -> Delegate + Send>,
}

impl PreparedDelegate {
    pub(crate) fn new(session: SessionId, start: impl FnOnce() -> Delegate + Send + 'static) -> Self {
        Self { session, start: Box::new(start) }
    }

    /// Starts it. It works until its task is done, it is cancelled, or the session ends.
    pub(crate) fn start(self) -> Delegate {
        (self.start)()
    }
}

/// Maximum length of a task that a tool gives to an agent, in characters.
pub(crate) const MAX_TASK: usize = 100_000;

/// Task for a delegate.
pub(crate) struct DelegateTask {
    /// First message of the delegate's session.
    pub(crate) prompt: Handover,
    /// Name of the delegate's session.
    pub(crate) title: String,
    pub(crate) agent: (Arc<AgentManifest>, AgentMode),
    pub(crate) only_extensions: Option<Vec<String>>,
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) temperature: Option<f32>,
    pub(crate) max_turns: Option<u32>,
    /// Recipe that the task is from.
    pub(crate) recipe: Option<Box<RecipeTask>>,
    /// Place in a task graph, if the task has one.
    pub(crate) graph: Option<GraphPlace>,
}

impl DelegateTask {
    /// Creates a task from plain text.
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
            recipe: None,
            graph: None,
        }
    }
}

/// Rendered recipe that a delegate runs.
#[derive(Clone)]
pub(crate) struct RecipeTask {
    pub(crate) recipe: Recipe,
    pub(crate) file: RecipeFile,
}

/// Place of a delegate in a task graph.
pub(crate) struct GraphPlace {
    /// Id of the task.
    pub(crate) task: String,
    /// Keeps parallel tasks from overwriting each other's files.
    pub(crate) writer: TaskWriter,
    /// Usage ledger of the graph.
    pub(crate) payer: Arc<UsageLedger>,
    /// Cancels the task.
    pub(crate) cancellation: CancellationToken,
    /// Session to resume, if goose was ended in the middle of the task.
    pub(crate) resumed: Option<SessionId>,
}

/// End of a delegate.
#[derive(Debug, Clone)]
pub(crate) struct DelegateEnd {
    pub(crate) result: ToolResult<String>,
    /// Token usage of its session.
    pub(crate) usage: Usage,
    /// Price of the session in US dollars, if it is known.
    pub(crate) dollars: Option<f64>,
    /// Facts about its work.
    pub(crate) facts: Facts,
}

impl DelegateEnd {
    pub(crate) fn without_session(error: ToolError) -> Self {
        Self { result: Err(error), usage: Usage::default(), dollars: Some(0.0), facts: Facts::default() }
    }
}

/// Running delegate, or its result.
#[derive(Clone)]
pub(crate) struct Delegate {
    /// Id of its session.
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

    /// Waits until it ends.
    pub(crate) async fn end(&mut self) -> DelegateEnd {
        match self.end.wait_for(Option::is_some).await.map(|end| end.clone()) {
            Ok(Some(end)) => end,
            _ => DelegateEnd::without_session(ToolError::execution(
                "The delegate ended without a result because of a fault of goose. Do the task yourself.",
            )),
        }
    }

    /// Waits for the result, to which the session's id is added.
    pub(crate) async fn result(&mut self) -> ToolResult<String> {
        let result = self.end().await.result;
        let named = |text: String| format!("{text}\n\n(session {})", self.id);
        result.map(&named).map_err(|error| match error {
            ToolError::Cancelled(text) => ToolError::Cancelled(named(text)),
            error => ToolError::execution(named(error.to_string())),
        })
    }

    /// Cancels it. The result says so.
    pub(crate) fn cancel(&self) {
        self.cancellation.cancel();
    }

    /// Returns a guard that cancels it when dropped.
    pub(crate) fn cancel_on_drop(&self) -> DropGuard {
        self.cancellation.clone().drop_guard()
    }
}
