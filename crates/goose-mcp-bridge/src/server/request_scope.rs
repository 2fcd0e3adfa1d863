//! One request while it is served: its context, and the client as the [`Caller`] that answers a tool's
//! questions and receives its progress and log.

#![expect(
    deprecated,
    reason = "MCP 2026-07-28 deprecates sampling, roots and logging; all older peers use them"
)]

use std::sync::Arc;

use async_trait::async_trait;
use goose_extension::{
    Answer, CallContext, Caller, LogEntry, LogLevel, Notifier, Progress, Question, QuestionKind,
    RichRenderable, Sampled, ToolError, ToolResult,
    adapter::{catch, unanswerable},
};
use rmcp::{
    RoleServer, ServiceError,
    model::{
        ClientResult, ElicitRequest, ErrorData, InputRequiredResult, LoggingMessageNotification,
        LoggingMessageNotificationParam, NotificationMetaObject, ProgressNotification,
        ProgressNotificationParam, ProtocolVersion, RequestMetaObject, RequestStateCodec, ServerNotification,
        ServerRequest,
    },
    service::{PeerRequestOptions, RequestContext},
};
use serde_json::json;

use super::{
    input_required::{self, Round},
    notifications::NotificationQueue,
};
use crate::{
    CALL_META, RECORD_LOGGER, SESSION_META, STATUS_LOGGER, WORKING_DIR_META, transport::cancel_on_drop,
};

/// End of a request: a result, or questions.
pub(super) enum Outcome<T> {
    Done(T),
    InputRequired(InputRequiredResult),
}

pub(super) struct RequestScope {
    pub(super) context: CallContext,
    caller: Arc<WireCaller>,
}

impl RequestScope {
    /// Opens a request: with its `round` on the newer wire, with the log level that the client has set on the older
    /// one. `trusted` clients may choose the folder and the session.
    pub(super) fn open(
        context: RequestContext<RoleServer>,
        round: Option<Round>,
        session_level: Option<LogLevel>,
        trusted: bool,
    ) -> Self {
        let cancellation = context.ct.clone();
        let queue = NotificationQueue::default();
        let caller = Arc::new(WireCaller { request: context, session_level, queue, round });
        let mut call = CallContext::new()
            .with_cancellation(cancellation)
            .with_notifier(caller.clone())
            .with_caller(caller.clone());
        if let Some(round) = &caller.round {
            call = call.with_call_id(round.call());
        }
        if trusted {
            let meta = &caller.request.meta;
            if let Some(id) = meta.get(SESSION_META).and_then(|id| id.as_str()) {
                call = call.with_session_id(id);
            }
            if let Some(dir) = meta.get(WORKING_DIR_META).and_then(|dir| dir.as_str()) {
                call = call.with_working_dir(dir);
            }
        }
        Self { context: call, caller }
    }

    /// Runs `call`, sends its notifications meanwhile, and ends the request. `what` names the call in errors.
    pub(super) async fn run<T>(
        self,
        codec: &RequestStateCodec,
        what: &str,
        call: impl Future<Output = ToolResult<T>>,
    ) -> Result<Outcome<T>, ErrorData> {
        let queue = &self.caller.queue;
        // Concurrently: a client that does not read must not keep the call from being cancelled.
        let call = async {
            let result = catch(what, call).await;
            queue.close();
            result
        };
        let (result, ()) = futures::join!(call, self.deliver());
        // An open question ends the round, also if the tool swallowed the error that interrupted it.
        if let Some(round) = &self.caller.round
            && let Some(questions) = round.close(codec)?
        {
            return Ok(Outcome::InputRequired(questions));
        }
        Ok(Outcome::Done(result?))
    }

    async fn deliver(&self) {
        while let Some(notification) = self.caller.queue.next().await {
            if let Err(error) = self.caller.request.peer.send_notification(notification).await {
                tracing::debug!(%error, "a notification could not be sent");
            }
        }
    }
}

/// Returns whether the request came on the newer wire, where a server cannot send requests to its client.
pub(super) fn is_new_wire(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !is_older(&version))
}

fn is_older(version: &ProtocolVersion) -> bool {
    version.as_str() < ProtocolVersion::V_2026_07_28.as_str()
}

/// The client as a tool's caller. Its capabilities are read only when they are needed.
pub(super) struct WireCaller {
    pub(super) request: RequestContext<RoleServer>,
    /// Lowest log level that a client on the older wire has asked for.
    pub(super) session_level: Option<LogLevel>,
    pub(super) queue: NotificationQueue,
    /// Questions of this round on the newer wire; `None` on the older wire, where the server asks and waits.
    pub(super) round: Option<Round>,
}

impl WireCaller {
    /// Returns the lowest log level that the client wants, or `None` if it wants no log.
    fn log_level(&self) -> Option<LogLevel> {
        self.session_level.or_else(|| self.request.meta.log_level().map(LogLevel::from_mcp))
    }

    fn supports(&self, kind: QuestionKind) -> bool {
        let capabilities = self.request.client_capabilities().unwrap_or_default();
        let elicitation = capabilities.elicitation.as_ref();
        match kind {
            QuestionKind::ElicitUrl => elicitation.is_some_and(|modes| modes.url.is_some()),
            // MCP: a client that names no mode supports forms.
            QuestionKind::ElicitForm => {
                elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
            }
            QuestionKind::Sample => capabilities.sampling.is_some(),
            QuestionKind::Roots => capabilities.roots.is_some(),
        }
    }

    async fn ask_and_wait(&self, question: Question) -> ToolResult<Answer> {
        let asked = question.clone();
        let request = match question {
            Question::Elicit(params) => ServerRequest::ElicitRequest(ElicitRequest::new(params)),
            Question::Sample(params) => {
                ServerRequest::CreateMessageRequest(input_required::sampling_request(params))
            }
            Question::Roots => ServerRequest::ListRootsRequest(input_required::roots_request()),
        };
        let result = self.send(request).await.map_err(no_answer)?;
        match (asked, result) {
            (Question::Elicit(form), ClientResult::ElicitResult(answer)) => {
                if input_required::fits(&form, &answer) {
                    return Ok(Answer::Elicited(answer));
                }
                let text = "The client's answer does not fit the form it was shown.";
                Err(ToolError::ExecutionError(text.to_owned()))
            }
            (Question::Sample(_), ClientResult::CreateMessageResult(answer)) => {
                Ok(Answer::Sampled(Sampled::from_mcp(*answer)))
            }
            (Question::Roots, ClientResult::ListRootsResult(roots)) => Ok(input_required::roots(roots)),
            _ => Err(no_answer(ServiceError::UnexpectedResponse)),
        }
    }

    /// Sends a request that names the call it belongs to. Cancels the request when this is dropped.
    async fn send(&self, request: ServerRequest) -> Result<ClientResult, ServiceError> {
        let mut options = PeerRequestOptions::no_options();
        if let Some(token) = self.request.meta.get_progress_token() {
            let mut meta = RequestMetaObject::new();
            meta.insert(CALL_META.to_owned(), json!(token));
            options = options.with_meta(meta);
        }
        let handle = self.request.peer.send_request_with_option(request, options).await?;
        let waiting = cancel_on_drop(&self.request.peer, handle.id.clone(), None);
        let result = handle.await_response().await;
        waiting.disarm();
        result
    }
}

fn no_answer(error: ServiceError) -> ToolError {
    match error {
        ServiceError::McpError(error) => ToolError::from(error),
        other => ToolError::ExecutionError(format!("The client did not answer a question: {other}")),
    }
}

#[async_trait]
impl Caller for WireCaller {
    async fn ask(&self, key: &str, question: Question) -> ToolResult<Answer> {
        if !self.supports(question.kind()) {
            return Err(unanswerable(question.kind()));
        }
        match &self.round {
            Some(round) => round.ask(key, question),
            None => self.ask_and_wait(question).await,
        }
    }

    fn can_answer(&self, kind: QuestionKind) -> bool {
        self.supports(kind)
    }

    fn progress(&self, progress: Progress) {
        let Some(token) = self.request.meta.get_progress_token() else { return };
        let mut params = ProgressNotificationParam::new(token, progress.done);
        params.total = progress.total;
        params.message = progress.message;
        self.queue.post(ServerNotification::ProgressNotification(ProgressNotification::new(params)));
    }

    fn log(&self, entry: LogEntry) {
        if self.log_level().is_none_or(|least| entry.level < least) {
            return;
        }
        let mut params = LoggingMessageNotificationParam::new(entry.level.into_mcp(), entry.data);
        params.logger = entry.logger;
        if let Some(token) = self.request.meta.get_progress_token() {
            // MCP has no member for the call of a log message, and some transports lose the order.
            let mut meta = NotificationMetaObject::new();
            meta.insert(CALL_META.to_owned(), json!(token));
            params.meta = Some(meta);
        }
        self.queue
            .post(ServerNotification::LoggingMessageNotification(LoggingMessageNotification::new(params)));
    }
}

impl Notifier for WireCaller {
    fn log(&self, content: RichRenderable) {
        Caller::log(self, LogEntry::info(content.into_wire()).with_logger(RECORD_LOGGER));
    }

    fn status(&self, message: String) {
        Caller::log(self, LogEntry::info(message).with_logger(STATUS_LOGGER));
    }
}
