//! The MCP client as the [`Caller`] of a tool: it is asked, told and logged to over the wire.

#![expect(
    deprecated,
    reason = "MCP 2026-07-28 deprecates sampling, roots and logging; all older peers use them"
)]

use async_trait::async_trait;
use goose_extension::{
    Answer, Caller, LogEntry, LogLevel, Notifier, Progress, Question, QuestionKind, RichRenderable, Sampled,
    ToolError, ToolResult, adapter::unanswerable,
};
use rmcp::{
    RoleServer, ServiceError,
    model::{
        ClientResult, ElicitRequest, LoggingMessageNotification, LoggingMessageNotificationParam,
        NotificationMetaObject, ProgressNotification, ProgressNotificationParam, RequestMetaObject,
        ServerNotification, ServerRequest,
    },
    service::{PeerRequestOptions, RequestContext},
};
use serde_json::json;

use super::{answers, outbox::Outbox, rounds::Round};
use crate::{CALL_META, RECORD_LOGGER, STATUS_LOGGER, waiting::Waiting};

/// One call, seen from the tool. What the request says about the client is read only when it is needed.
pub(super) struct WireCaller {
    pub(super) request: RequestContext<RoleServer>,
    /// The least level that the client of an older wire wants to see.
    pub(super) session_level: Option<LogLevel>,
    pub(super) outbox: Outbox,
    /// On the 2026-07-28 wire: the questions and answers of this entry. On older wires we ask and wait.
    pub(super) round: Option<Round>,
}

impl WireCaller {
    /// The least level that the client wants to see; `None` where it wants no log.
    fn log_level(&self) -> Option<LogLevel> {
        self.session_level.or_else(|| self.request.meta.log_level().map(LogLevel::from_mcp))
    }

    fn supports(&self, kind: QuestionKind) -> bool {
        let capabilities = self.request.client_capabilities().unwrap_or_default();
        let elicitation = capabilities.elicitation.as_ref();
        match kind {
            QuestionKind::ElicitUrl => elicitation.is_some_and(|modes| modes.url.is_some()),
            // A client that names no mode supports forms.
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
                ServerRequest::CreateMessageRequest(answers::sampling_request(params))
            }
            Question::Roots => ServerRequest::ListRootsRequest(answers::roots_request()),
        };
        let result = self.send(request).await.map_err(no_answer)?;
        match (asked, result) {
            (Question::Elicit(form), ClientResult::ElicitResult(answer)) => {
                if answers::fits(&form, &answer) {
                    return Ok(Answer::Elicited(answer));
                }
                let text = "The client's answer does not fit the form it was shown.";
                Err(ToolError::ExecutionError(text.to_owned()))
            }
            (Question::Sample(_), ClientResult::CreateMessageResult(answer)) => {
                Ok(Answer::Sampled(Sampled::from_mcp(*answer)))
            }
            (Question::Roots, ClientResult::ListRootsResult(roots)) => Ok(answers::roots(roots)),
            _ => Err(no_answer(ServiceError::UnexpectedResponse)),
        }
    }

    /// Sends a request that says which call it belongs to, and withdraws it when nobody waits any more.
    async fn send(&self, request: ServerRequest) -> Result<ClientResult, ServiceError> {
        let mut options = PeerRequestOptions::no_options();
        if let Some(token) = self.request.meta.get_progress_token() {
            let mut meta = RequestMetaObject::new();
            meta.insert(CALL_META.to_owned(), json!(token));
            options = options.with_meta(meta);
        }
        let handle = self.request.peer.send_request_with_option(request, options).await?;
        let waiting = Waiting::new(&self.request.peer, handle.id.clone());
        let result = handle.await_response().await;
        waiting.done();
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
        self.outbox.post(ServerNotification::ProgressNotification(ProgressNotification::new(params)));
    }

    fn log(&self, entry: LogEntry) {
        if self.log_level().is_none_or(|least| entry.level < least) {
            return;
        }
        let mut params = LoggingMessageNotificationParam::new(entry.level.into_mcp(), entry.data);
        params.logger = entry.logger;
        if let Some(token) = self.request.meta.get_progress_token() {
            // Which call it belongs to: MCP has no place for that, and some transports lose the order.
            let mut meta = NotificationMetaObject::new();
            meta.insert(CALL_META.to_owned(), json!(token));
            params.meta = Some(meta);
        }
        self.outbox
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
