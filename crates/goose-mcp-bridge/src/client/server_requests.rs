//! Handler of the server's requests and notifications.

#![expect(deprecated, reason = "MCP 2026-07-28 deprecates sampling and roots; all older peers use them")]

use std::sync::Arc;

use goose_extension::{Answer, Change, Question, Root, Sampling, ToolError};
use rmcp::{
    ClientHandler, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
        ElicitRequestParams, ElicitResult, ErrorData, Implementation, ListRootsResult,
        ResourceUpdatedNotificationParam,
    },
    service::{NotificationContext, RequestContext},
};

use super::{in_flight::OpenQuestion, notifications::Announcements, questions::ask, routing::Routes};

/// Client side of a connection.
pub(super) struct ClientSide {
    pub(super) implementation: Implementation,
    pub(super) capabilities: ClientCapabilities,
    pub(super) routes: Arc<Routes>,
    pub(super) announcements: Arc<Announcements>,
}

impl ClientSide {
    async fn answer(
        &self,
        question: Question,
        context: RequestContext<RoleClient>,
    ) -> Result<Answer, ErrorData> {
        let asked = context.extensions.get::<Arc<OpenQuestion>>().cloned();
        let asked =
            asked.unwrap_or_else(|| Arc::new(self.routes.question_owner(&context.meta, &context.extensions)));
        // The service ends only after its questions, so a question must not wait for the service.
        let closed = self.routes.closed();
        tokio::select! {
            answer = ask(&asked.context, &asked.key, question, &asked.budget) => Ok(answer?),
            () = context.ct.cancelled() => Err(withdrawn("The server withdrew its question.")),
            () = asked.all_calls_ended() => Err(withdrawn("The call that asked has ended.")),
            () = closed.cancelled() => Err(withdrawn("The connection has ended.")),
        }
    }
}

fn withdrawn(reason: &str) -> ErrorData {
    ToolError::Cancelled(reason.to_owned()).into()
}

fn mismatch() -> ErrorData {
    ErrorData::internal_error("The answer does not match the kind of the question.", None)
}

impl ClientHandler for ClientSide {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(self.capabilities.clone(), self.implementation.clone())
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        match self.answer(Question::Elicit(request), context).await? {
            Answer::Elicited(answer) => Ok(answer),
            _ => Err(mismatch()),
        }
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        match self.answer(Question::Sample(Sampling::from_mcp(request)), context).await? {
            Answer::Sampled(answer) => Ok(answer.into_mcp()),
            _ => Err(mismatch()),
        }
    }

    async fn list_roots(&self, context: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        match self.answer(Question::Roots, context).await? {
            Answer::Roots(roots) => Ok(ListRootsResult::new(roots.into_iter().map(Root::into_mcp).collect())),
            _ => Err(mismatch()),
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.announcements.mark(Change::Tools);
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.announcements.mark(Change::Resources);
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.announcements.mark(Change::Prompts);
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.announcements.mark(Change::ResourceUpdated(params.uri));
    }
}
