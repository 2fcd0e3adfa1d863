//! Context that the model gets with a message of the user, from an ordered list of sources.

use goose_extension::Message;

use super::{Context, RequestHandler, recall::Recall};
use crate::{platform::tom::TopOfMind, session::synthetic};

/// Sources that belong to a session.
pub(crate) struct ContextInputs {
    pub(crate) top_of_mind: TopOfMind,
    /// `None` if nothing is recalled.
    pub(crate) recall: Option<Recall>,
}

impl RequestHandler<'_> {
    /// Returns the context of a message that does not depend on the agent, in the order in which the model reads it:
    /// the user's top-of-mind text, text of earlier sessions, and texts of hooks.
    pub(super) async fn context_before_routing(&mut self, message: &Message) -> Context {
        let top_of_mind = self.orchestrator.context.top_of_mind.for_request().await;
        self.work.state.notices.extend(top_of_mind.notices);
        let recalled = self.recalled(message).await;
        let hooks = self.work.context.guard.hooks.as_ref();
        let hooks = hooks.and_then(|hooks| hooks.take_pending()).map(synthetic);
        [top_of_mind.text.map(synthetic), recalled, hooks].into_iter().flatten().collect()
    }

    /// Adds the context to a message, and before the user's words that which depends on the agent: its
    /// surroundings, changed prompts of extensions, and results of interrupted tasks that are not resumed. It is
    /// stored with the message, so that a resumed conversation stays the same and providers can cache it.
    /// Compaction drops it with the message.
    pub(super) async fn with_context(&mut self, mut message: Message, mut context: Context) -> Message {
        context.extend(self.work.context.surroundings(&self.work.state.conversation));
        context.extend(self.work.changed_prompts().await);
        context.extend(self.interrupted_tasks().map(synthetic));
        message.content.splice(0..0, context);
        message
    }
}
