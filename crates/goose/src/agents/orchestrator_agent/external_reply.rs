//! A reply by an external agent: it gets the words of the user in the model's place.

use std::sync::Arc;

use goose_extension::{Message, Role};

use super::RequestHandler;
use crate::{
    agents::external_agent::ExternalAgent,
    exchange::{Abort, Outcome, StepResult},
    permission::Mode,
    session::{GO_ON, said},
};

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
        if self.work.context.permissions.mode() == Mode::Chat {
            let reason =
                format!("In the mode `chat` the agent `{name}`, which has tools of its own, is not asked.");
            return Err(Abort::failed(reason, "Use another mode, or one of goose's own agents.".to_owned()));
        }
        let task = self.words_for_external(message);
        self.work.run_external(agent, &task).await
    }

    /// The words for the agent: those of the message, without the agent's name. Without a message the last request is said
    /// again, because the agent does not know it if its connection is new.
    fn words_for_external(&self, message: Option<&Message>) -> String {
        let without_name = self.one_reply.as_ref().and_then(|host| host.words.clone());
        if let Some(words) = without_name.or_else(|| message.map(said)) {
            return words;
        }
        let conversation = &self.work.state.conversation;
        let is_answered = conversation.last().is_some_and(|last| said(last).is_empty());
        let mut messages = conversation.messages().iter().rev();
        let request = messages.find(|message| message.role == Role::User && !said(message).is_empty());
        let request = request.map(|message| said(message));
        request.into_iter().chain(is_answered.then(|| GO_ON.to_owned())).collect::<Vec<_>>().join("\n\n")
    }
}
