//! What the model gets with a message of the user, in one ordered list.

use goose_extension::{Message, MessageContent};

use super::{Context, RequestHandler, recall::Recall};
use crate::{platform::tom::TopOfMind, session::synthetic};

/// Sources of what the model gets with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ContextSource {
    /// The text that the user wants the model to see with each request.
    TopOfMind,
    /// Text of earlier sessions about the request.
    Recall,
    /// The task list, or for a small model the names of the files.
    Surroundings,
    /// Prompts of extensions that changed since the model was last told.
    ExtensionPrompts,
    /// Results of tasks that were interrupted and do not go on.
    InterruptedTasks,
}

use ContextSource::{ExtensionPrompts, InterruptedTasks, Recall as Recalled, Surroundings, TopOfMind as Tom};

/// Sources that do not depend on the agent, in the order in which the model reads them. They are asked before routing.
const BEFORE_ROUTING: [ContextSource; 2] = [Tom, Recalled];

/// Sources that do, which come after those. The user's words come last.
const OF_AGENT: [ContextSource; 3] = [Surroundings, ExtensionPrompts, InterruptedTasks];

/// The sources that belong to a session.
pub(crate) struct ContextInputs {
    pub(crate) top_of_mind: TopOfMind,
    /// `None` if nothing is recalled.
    pub(crate) recall: Option<Recall>,
}

impl RequestHandler<'_> {
    /// The context of a message that does not depend on the agent.
    pub(super) async fn context_before_routing(&mut self, message: &Message) -> Context {
        self.gather(&BEFORE_ROUTING, message).await
    }

    /// A message with its context. It is stored with the message: the conversation stays the same when it is resumed, and services can
    /// cache it. Compaction drops it with the message.
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
            Surroundings => self.work.context.surroundings(&self.work.state.conversation),
            ExtensionPrompts => self.work.changed_prompts().await,
            InterruptedTasks => self.interrupted_tasks().map(synthetic),
        }
    }
}
