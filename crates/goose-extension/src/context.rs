//! [`CallContext`]: everything around one call besides its arguments.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::{
    backend::{Backend, JudgedPath},
    caller::{Answer, Caller, LogEntry, Progress, Question, QuestionKind, unanswerable},
    error::{ToolError, ToolResult},
    exchange_view::ExchangeView,
    host_policy::HostPolicy,
    notifier::{Notifier, RichRenderable},
    output::ToolOutput,
    questions::{ElicitAction, Elicitation, Elicited, Root, Sampled, Sampling},
    schema::form_schema,
    tool::JsonObject,
};

/// Tokens that [`CallContext::ask_model`] allows for an answer.
const ASK_MODEL_MAX_TOKENS: u32 = 4096;

/// A model that a tool may ask directly.
#[async_trait]
pub trait Model: Send + Sync {
    /// Answers a request.
    ///
    /// # Errors
    ///
    /// An execution error that says why the model gave no answer.
    async fn sample(&self, request: Sampling) -> ToolResult<Sampled>;
}

/// The way from inside a running call to other tools: through the same toolset, permissions and approvals as a call of
/// the model, and with the running call as its parent.
#[async_trait]
pub trait ToolCaller: Send + Sync {
    /// Calls a tool by the name that the model would use.
    ///
    /// # Errors
    ///
    /// Fails if nothing was run: the tool is not in the agent's toolset, the arguments do not fit, or a rule or a
    /// person said no.
    async fn call_tool(&self, name: &str, arguments: JsonObject) -> ToolResult<ToolOutput>;
}

/// The surroundings of one call. Cheap to clone; an empty one costs nothing.
///
/// # Asking back: a function may be entered twice
///
/// [`elicit`](Self::elicit), [`sample`](Self::sample) and [`roots`](Self::roots) ask the caller, under a
/// `key` of your choosing. On a direct call and on MCP up to 2025-11-25 they wait for the answer. On MCP
/// 2026-07-28 there is no way to wait: the call ends as *input required*, the client comes back with the
/// answer, and **the function is entered again from the top**; this time the same key gives the answer at once.
/// So:
///
/// - pass errors on with `?`, which is how the first entry ends;
/// - use the same key for the same question, and different keys for different ones;
/// - what stands before a question may run twice: ask first, act afterwards;
/// - to ask several things in one round, ask them together with `futures::join!` or `tokio::join!`.
#[derive(Clone)]
pub struct CallContext(Arc<Inner>);

#[derive(Clone, Default)]
struct Inner {
    cancellation: Option<CancellationToken>,
    caller: Option<Arc<dyn Caller>>,
    notifier: Option<Arc<dyn Notifier>>,
    model: Option<Arc<dyn Model>>,
    backend: Option<Arc<dyn Backend>>,
    judged_paths: Option<Arc<[JudgedPath]>>,
    judged_hosts: Option<Arc<HostPolicy>>,
    working_dir: Option<PathBuf>,
    session_id: Option<String>,
    call_id: Option<String>,
    exchange_view: ExchangeView,
    tool_caller: Option<Arc<dyn ToolCaller>>,
}

impl Default for CallContext {
    fn default() -> Self {
        static EMPTY: LazyLock<Arc<Inner>> = LazyLock::new(Arc::default);
        Self(Arc::clone(&EMPTY))
    }
}

impl CallContext {
    /// An empty context: no cancellation, no caller, no notifier.
    pub fn new() -> Self {
        Self::default()
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Lets the call be cancelled.
    pub fn with_cancellation(self, token: CancellationToken) -> Self {
        self.with(|inner| inner.cancellation = Some(token))
    }

    /// Says who called, and can be asked back.
    pub fn with_caller(self, caller: Arc<dyn Caller>) -> Self {
        self.with(|inner| inner.caller = Some(caller))
    }

    /// Says whom to tell what happens.
    pub fn with_notifier(self, notifier: Arc<dyn Notifier>) -> Self {
        self.with(|inner| inner.notifier = Some(notifier))
    }

    /// Gives the call a model to ask.
    pub fn with_model(self, model: Arc<dyn Model>) -> Self {
        self.with(|inner| inner.model = Some(model))
    }

    /// Gives the call other files and programs than those of this machine.
    pub fn with_backend(self, backend: Arc<dyn Backend>) -> Self {
        self.with(|inner| inner.backend = Some(backend))
    }

    /// Hands over the paths in the arguments as the permissions judged them.
    pub fn with_judged_paths(self, paths: impl Into<Arc<[JudgedPath]>>) -> Self {
        self.with(|inner| inner.judged_paths = Some(paths.into()))
    }

    /// Hands over the hosts that the call may reach, as the permissions judged it.
    pub fn with_judged_hosts(self, hosts: Arc<HostPolicy>) -> Self {
        self.with(|inner| inner.judged_hosts = Some(hosts))
    }

    /// Says in which folder the work is done.
    pub fn with_working_dir(self, dir: impl Into<PathBuf>) -> Self {
        self.with(|inner| inner.working_dir = Some(dir.into()))
    }

    /// Says in which session the call happens.
    pub fn with_session_id(self, id: impl Into<String>) -> Self {
        self.with(|inner| inner.session_id = Some(id.into()))
    }

    /// Says under which id the session knows the call.
    pub fn with_call_id(self, id: impl Into<String>) -> Self {
        self.with(|inner| inner.call_id = Some(id.into()))
    }

    /// Gives the call a view of the conversation.
    pub fn with_exchange_view(self, view: ExchangeView) -> Self {
        self.with(|inner| inner.exchange_view = view)
    }

    /// Lets the call make calls of its own.
    pub fn with_tool_caller(self, caller: Arc<dyn ToolCaller>) -> Self {
        self.with(|inner| inner.tool_caller = Some(caller))
    }

    /// Returns whether the caller has withdrawn the call.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancellation.as_ref().is_some_and(CancellationToken::is_cancelled)
    }

    /// Ends when the caller withdraws the call. The function itself is dropped at its next `.await` then; this
    /// is for tasks and processes that it started.
    pub async fn cancelled(&self) {
        match &self.0.cancellation {
            Some(token) => token.cancelled().await,
            None => std::future::pending().await,
        }
    }

    /// The token behind [`cancelled`](Self::cancelled), where the call can be cancelled.
    pub fn cancellation(&self) -> Option<&CancellationToken> {
        self.0.cancellation.as_ref()
    }

    /// The folder to work in: the session's, else the process's.
    pub fn working_dir(&self) -> &Path {
        self.own_working_dir().unwrap_or(Path::new("."))
    }

    /// The folder that the caller named, where it named one.
    pub fn own_working_dir(&self) -> Option<&Path> {
        self.0.working_dir.as_deref()
    }

    /// The files and programs to use; `None` for those of this machine.
    pub fn backend(&self) -> Option<&Arc<dyn Backend>> {
        self.0.backend.as_ref()
    }

    /// The paths in the arguments as the permissions judged them: a tool uses these places and no others. `None` if the
    /// call was not judged.
    pub fn judged_paths(&self) -> Option<&[JudgedPath]> {
        self.0.judged_paths.as_deref()
    }

    /// The hosts that the call may reach, as the permissions judged it. `None` if the call was not judged, and for
    /// tools that do not fetch.
    pub fn judged_hosts(&self) -> Option<&Arc<HostPolicy>> {
        self.0.judged_hosts.as_ref()
    }

    /// The session in which the call happens.
    pub fn session_id(&self) -> Option<&str> {
        self.0.session_id.as_deref()
    }

    /// Returns the id of the call. A call that is made again with the answer to a question has the same one.
    pub fn call_id(&self) -> Option<&str> {
        self.0.call_id.as_deref()
    }

    /// The conversation so far.
    pub fn exchange_view(&self) -> &ExchangeView {
        &self.0.exchange_view
    }

    /// Calls another tool of the agent, by the name that the model would use. It passes the same checks as a call of
    /// the model; cancelling this call cancels it.
    ///
    /// # Errors
    ///
    /// As [`ToolCaller::call_tool`]; also where this call was not made by an agent.
    pub async fn call_tool(&self, name: &str, arguments: JsonObject) -> ToolResult<ToolOutput> {
        match &self.0.tool_caller {
            Some(caller) => caller.call_tool(name, arguments).await,
            None => Err(ToolError::NotFound(format!(
                "There is no tool `{name}` here: this call was not made by an agent, so it cannot call other tools."
            ))),
        }
    }

    /// The caller.
    pub fn caller(&self) -> Option<&Arc<dyn Caller>> {
        self.0.caller.as_ref()
    }

    /// Returns whether the caller can answer such a question; look before relying on it.
    pub fn can_ask(&self, kind: QuestionKind) -> bool {
        self.0.caller.as_ref().is_some_and(|caller| caller.can_answer(kind))
    }

    /// Tells the caller how far the call has come.
    pub fn progress(&self, done: f64, total: Option<f64>, message: impl Into<String>) {
        if let Some(caller) = &self.0.caller {
            let message = Some(message.into()).filter(|message: &String| !message.is_empty());
            caller.progress(Progress::new(done, total, message));
        }
    }

    /// Records something that happened (durable).
    pub fn log(&self, content: impl Into<RichRenderable>) {
        if let Some(notifier) = &self.0.notifier {
            Notifier::log(notifier.as_ref(), content.into());
        }
    }

    /// Shows what is happening now (fleeting).
    pub fn status(&self, message: impl Into<String>) {
        if let Some(notifier) = &self.0.notifier {
            notifier.status(message.into());
        }
    }

    /// The notifier.
    pub fn notifier(&self) -> Option<&Arc<dyn Notifier>> {
        self.0.notifier.as_ref()
    }

    /// Writes to the caller's log, with a level.
    pub fn log_entry(&self, entry: LogEntry) {
        if let Some(caller) = &self.0.caller {
            caller.log(entry);
        }
    }

    /// Asks the person. See [the type's documentation](Self#asking-back-a-function-may-be-entered-twice).
    ///
    /// # Errors
    ///
    /// If there is no caller to ask, and where the answer has to come in another round.
    pub async fn elicit(&self, key: &str, request: Elicitation) -> ToolResult<Elicited> {
        match self.ask(key, Question::Elicit(request)).await? {
            Answer::Elicited(answer) => Ok(answer),
            _ => Err(mismatched(key)),
        }
    }

    /// Asks the person to fill in the fields of `T`; `None` if they declined.
    ///
    /// # Errors
    ///
    /// As [`elicit`](Self::elicit); also where `T` is not a flat structure of texts, numbers, booleans and enums
    /// without fields, and where the answer does not fit it.
    pub async fn elicit_form<T: JsonSchema + DeserializeOwned>(
        &self,
        key: &str,
        message: impl Into<String>,
    ) -> ToolResult<Option<T>> {
        let requested_schema = form_schema::<T>().map_err(|error| {
            ToolError::ExecutionError(format!("Question `{key}` cannot be shown as a form: {error}"))
        })?;
        let request =
            Elicitation::FormElicitationParams { meta: None, message: message.into(), requested_schema };
        let answer = self.elicit(key, request).await?;
        match (answer.action, answer.content) {
            (ElicitAction::Accept, Some(content)) => {
                serde_json::from_value(content).map(Some).map_err(|error| {
                    ToolError::ExecutionError(format!(
                        "The answer to `{key}` does not fit the question: {error}"
                    ))
                })
            }
            _ => Ok(None),
        }
    }

    /// Asks the caller's model. See [the type's documentation](Self#asking-back-a-function-may-be-entered-twice).
    ///
    /// # Errors
    ///
    /// If there is no caller to ask, and where the answer has to come in another round.
    pub async fn sample(&self, key: &str, request: Sampling) -> ToolResult<Sampled> {
        match self.ask(key, Question::Sample(request)).await? {
            Answer::Sampled(answer) => Ok(answer),
            _ => Err(mismatched(key)),
        }
    }

    /// Asks a model a plain question: the context's own where it has one, else the caller's.
    ///
    /// # Errors
    ///
    /// As [`sample`](Self::sample).
    pub async fn ask_model(&self, key: &str, prompt: impl Into<String>) -> ToolResult<String> {
        let request = Sampling::new(prompt, ASK_MODEL_MAX_TOKENS);
        let answer = match &self.0.model {
            Some(model) => model.sample(request).await?,
            None => self.sample(key, request).await?,
        };
        Ok(answer.text())
    }

    /// Asks which folders the caller lets the tool work in.
    ///
    /// # Errors
    ///
    /// As [`elicit`](Self::elicit).
    pub async fn roots(&self, key: &str) -> ToolResult<Vec<Root>> {
        match self.ask(key, Question::Roots).await? {
            Answer::Roots(roots) => Ok(roots),
            _ => Err(mismatched(key)),
        }
    }

    /// Asks the caller. `key` names the question within the call.
    ///
    /// # Errors
    ///
    /// If the caller cannot or does not answer.
    pub async fn ask(&self, key: &str, question: Question) -> ToolResult<Answer> {
        match &self.0.caller {
            Some(caller) => caller.ask(key, question).await,
            None => Err(unanswerable(question.kind())),
        }
    }
}

fn mismatched(key: &str) -> ToolError {
    ToolError::ExecutionError(format!(
        "The answer to `{key}` is of another kind than the question. Use one key for one question."
    ))
}

impl std::fmt::Debug for CallContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallContext")
            .field("working_dir", &self.0.working_dir)
            .field("session_id", &self.0.session_id)
            .field("cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}
