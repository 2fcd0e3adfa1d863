//! Context that the model gets with a message of the user, from an ordered list of sources.

use goose_extension::{Message, MessageContent};

use super::{Context, RequestHandler, recall::Recall};
use crate::{platform::tom::TopOfMind, session::synthetic};

/// Sources of context for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ContextSource {
    /// The text that the user wants the model to see with each request.
    TopOfMind,
    /// Text of earlier sessions about the request.
    Recall,
    /// Texts of hooks.
    Hooks,
    /// Task list, or the names of the files for a small model.
    Surroundings,
    /// Prompts of extensions that changed since they were last sent.
    ExtensionPrompts,
    /// Results of interrupted tasks that are not resumed.
    InterruptedTasks,
}

use ContextSource::{
    ExtensionPrompts, Hooks, InterruptedTasks, Recall as Recalled, Surroundings, TopOfMind as Tom,
};

/// Sources that do not depend on the agent, in the order in which the model reads them. They are read before
/// routing.
const BEFORE_ROUTING: [ContextSource; 3] = [Tom, Recalled, Hooks];

/// Sources that depend on the agent, in order. They come after the others and before the user's words.
const OF_AGENT: [ContextSource; 3] = [Surroundings, ExtensionPrompts, InterruptedTasks];

/// Sources that belong to a session.
pub(crate) struct ContextInputs {
    pub(crate) top_of_mind: TopOfMind,
    /// `None` if nothing is recalled.
    pub(crate) recall: Option<Recall>,
}

impl RequestHandler<'_> {
    /// Returns the context of a message that does not depend on the agent.
    pub(super) async fn context_before_routing(&mut self, message: &Message) -> Context {
        self.gather(&BEFORE_ROUTING, message).await
    }

    /// Adds the context to a message. It is stored with the message, so that a resumed conversation stays the
    /// same and providers can cache it. Compaction drops it with the message.
    pub(super) async fn with_context(&mut self, mut message: Message, mut context: Context) -> Message {
        context.extend(self.gather(&OF_AGENT, &message).await);
        message.content.splice(0..0, context);
        message
    }

    async fn gather(&mut self, sources: &[ContextSource], message: &Message) -> Context {
        let mut context = Context::new();
        for source in sources {
            context.extend(self.part(*source, message).await);
        }
        context
    }

    async fn part(&mut self, source: ContextSource, message: &Message) -> Option<MessageContent> {
        match source {
            Tom => {
                let found = self.orchestrator.context.top_of_mind.for_request().await;
                self.work.state.notices.extend(found.notices);
                found.text.map(synthetic)
            }
            Recalled => self.recalled(message).await,
            Hooks => self.work.context.guard.hooks.as_ref()?.take_pending().map(synthetic),
            Surroundings => self.work.context.surroundings(&self.work.state.conversation),
            ExtensionPrompts => self.work.changed_prompts().await,
            InterruptedTasks => self.interrupted_tasks().map(synthetic),
        }
    }
}
