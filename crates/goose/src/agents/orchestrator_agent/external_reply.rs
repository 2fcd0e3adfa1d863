//! Replies by an external agent, which gets the user's words instead of the model.

use std::sync::Arc;

use goose_extension::{Message, MessageContent, Role};

use super::RequestHandler;
use crate::{
    agents::external_agent::ExternalAgent,
    context::handover::transcript,
    exchange::{Abort, Outcome, StepResult},
    permission::Mode,
    session::GO_ON,
};

/// Heading of the earlier conversation.
const SESSION: &str = "Said in this session before, the newest last, for information:\n";

impl RequestHandler<'_> {
    /// Lets an external agent make the reply.
    pub(super) async fn reply_by_external(
        &mut self,
        agent: &Arc<ExternalAgent>,
        message: Option<&Message>,
    ) -> StepResult<Outcome> {
        let name = agent.name();
        if self.work.context.final_output.is_some() {
            let reason = format!("The external agent `{name}` cannot be held to a response schema.");
            return Err(Abort::failed(reason, "Use one of goose's own agents for that.".to_owned()));
        }
        if self.work.context.guard.permissions.mode() == Mode::Chat {
            let reason =
                format!("In the mode `chat` the agent `{name}`, which has tools of its own, is not asked.");
            return Err(Abort::failed(reason, "Use another mode, or one of goose's own agents.".to_owned()));
        }
        let task = self.task_for_external(agent, message);
        self.orchestrator.told_external.lock().take();
        let outcome = self.work.run_external(agent, &task).await?;
        self.orchestrator.told_external.lock().replace(Arc::downgrade(agent));
        Ok(outcome)
    }

    /// Returns the task for the agent: the words of the message without the agent's name, the context that
    /// goose adds, and the part of the conversation that the agent does not know. Without a message the last
    /// request is repeated, because an agent with a new connection does not know it.
    fn task_for_external(&self, agent: &Arc<ExternalAgent>, message: Option<&Message>) -> String {
        let conversation = &self.work.state.conversation;
        let messages = conversation.messages();
        let is_request =
            |message: &Arc<Message>| message.role == Role::User && !message.own_text().is_empty();
        let at = messages.iter().rposition(is_request);
        let without_name = self.one_reply.as_ref().and_then(|host| host.words.clone());
        let words = without_name.or_else(|| message.map(Message::own_text)).unwrap_or_else(|| {
            let is_answered = conversation.last().is_some_and(|last| last.own_text().is_empty());
            let request = at.map(|at| messages[at].own_text());
            request.into_iter().chain(is_answered.then(|| GO_ON.to_owned())).collect::<Vec<_>>().join("\n\n")
        });
        let before = at.map_or(&messages[..0], |at| &messages[..at]);
        let asides = at.map(|at| messages[at].content.iter().filter(|part| part.is_aside()));
        let asides = asides.into_iter().flatten().filter_map(MessageContent::as_text).map(str::to_owned);
        let told = self.orchestrator.told_external.lock();
        let is_known = told.as_ref().is_some_and(|known| known.ptr_eq(&Arc::downgrade(agent)));
        let session = transcript(before).filter(|_| !is_known).map(|session| format!("{SESSION}{session}"));
        [words].into_iter().chain(asides).chain(session).collect::<Vec<_>>().join("\n\n")
    }
}
