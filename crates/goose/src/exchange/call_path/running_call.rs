//! [`RunningCall`]: a running call, as its tool sees it, with its [`CallId`].

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use goose_extension::{
    Answer, CallContext, Caller, CallerId, HostPolicy, JsonObject, JudgedPath, LogEntry, Notifier, Progress,
    Question, QuestionKind, RichRenderable, ToolCaller, ToolError, ToolOutput, ToolResult,
};
use tokio_util::sync::CancellationToken;

use super::{Call, CallPath};
use crate::exchange::{event::Event, event_hub::EventSink};

/// Maximum depth of nested calls.
const MAX_DEPTH: usize = 8;

/// Id of a call, and its place among nested calls.
#[derive(Debug, Clone)]
pub(in crate::exchange) struct CallId {
    pub(in crate::exchange) id: String,
    /// Id of the call that makes this one, if it is nested.
    pub(in crate::exchange) parent: Option<String>,
    depth: usize,
}

impl CallId {
    /// Returns the id of a call that the model makes itself.
    pub(in crate::exchange) fn top_level(id: String) -> Self {
        Self { id, parent: None, depth: 0 }
    }
}

/// Running call, as its tool sees it: receives messages, answers questions, and makes nested calls.
pub(in crate::exchange) struct RunningCall {
    pub(in crate::exchange) path: Arc<CallPath>,
    pub(in crate::exchange) events: EventSink,
    pub(in crate::exchange) id: CallId,
    /// Files that the permissions judged.
    files: Arc<[JudgedPath]>,
    /// Hosts that the call may reach, if it fetches.
    hosts: Option<Arc<HostPolicy>>,
    pub(in crate::exchange) cancellation: CancellationToken,
    /// Number of nested calls so far.
    nested: AtomicU64,
}

impl RunningCall {
    pub(super) fn new(path: &Arc<CallPath>, call: &Call, cancellation: CancellationToken) -> Self {
        let (path, id, files) = (Arc::clone(path), call.id.clone(), call.files.clone().into());
        let (events, hosts) = (path.events_of(&id), call.hosts.clone());
        Self { events, path, id, files, hosts, cancellation, nested: AtomicU64::new(0) }
    }

    /// Returns the call of an external agent that works in place of the model. Its requests are nested calls.
    pub(in crate::exchange) fn of_agent(path: CallPath, id: String) -> Arc<Self> {
        let (path, id) = (Arc::new(path), CallId::top_level(id));
        let (events, cancellation) = (path.events_of(&id), path.cancellation.clone());
        let nested = AtomicU64::new(0);
        Arc::new(Self { events, path, id, files: Arc::default(), hosts: None, cancellation, nested })
    }

    /// Returns the id of the next nested call.
    pub(in crate::exchange) fn next_id(&self) -> CallId {
        let number = self.nested.fetch_add(1, Ordering::Relaxed) + 1;
        CallId {
            id: format!("{}/{number}", self.id.id),
            parent: Some(self.id.id.clone()),
            depth: self.id.depth + 1,
        }
    }

    pub(super) fn context(self: &Arc<Self>) -> CallContext {
        let context = self.path.context.clone().with_cancellation(self.cancellation.clone());
        let context = match &self.hosts {
            Some(hosts) => context.with_judged_hosts(Arc::clone(hosts)),
            None => context,
        };
        context
            .with_call_id(self.id.id.as_str())
            .with_caller(Arc::clone(self) as _)
            .with_notifier(Arc::clone(self) as _)
            .with_tool_caller(Arc::clone(self) as _)
            .with_judged_paths(Arc::clone(&self.files))
    }

    /// Reports an event, unless the call was cancelled: its reply may already be over.
    pub(in crate::exchange) fn emit(&self, event: Event) {
        if !self.cancellation.is_cancelled() {
            self.events.emit(event);
        }
    }

    fn show(&self, content: RichRenderable) {
        self.emit(Event::Log { call: Some(self.id.id.clone()), content });
    }
}

impl Notifier for RunningCall {
    fn log(&self, content: RichRenderable) {
        self.show(content.clone());
        self.path.notifier.log(content);
    }

    fn status(&self, message: String) {
        self.emit(Event::Status { call: Some(self.id.id.clone()), message: message.clone() });
        self.path.notifier.status(message);
    }
}

#[async_trait]
impl Caller for RunningCall {
    async fn ask(&self, key: &str, question: Question) -> ToolResult<Answer> {
        match &self.path.caller {
            Some(caller) => caller.ask(key, question).await,
            None => self.events.ask_user(&self.id.id, key, question, &*self.path.model).await,
        }
    }

    fn can_answer(&self, kind: QuestionKind) -> bool {
        match &self.path.caller {
            Some(caller) => caller.can_answer(kind),
            None => self.events.can_answer(kind),
        }
    }

    fn id(&self) -> Option<CallerId> {
        self.path.caller.as_ref().map_or_else(|| Some(self.events.caller_id()), |caller| caller.id())
    }

    fn progress(&self, progress: Progress) {
        let message = match (progress.message, progress.total) {
            (Some(message), Some(total)) => format!("{message} ({} of {total})", progress.done),
            (None, Some(total)) => format!("{} of {total}", progress.done),
            (Some(message), None) => message,
            (None, None) => return,
        };
        self.emit(Event::ToolProgress { id: self.id.id.clone(), message });
    }

    fn log(&self, entry: LogEntry) {
        self.show(entry.data.into());
    }
}

#[async_trait]
impl ToolCaller for RunningCall {
    async fn call_tool(&self, name: &str, arguments: JsonObject) -> ToolResult<ToolOutput> {
        if self.id.depth >= MAX_DEPTH {
            return Err(ToolError::Denied(format!(
                "Not run: `{name}` would be a call within a call, {MAX_DEPTH} times over."
            )));
        }
        self.path.call_nested(self.next_id(), name, arguments, self.cancellation.child_token()).await
    }
}
