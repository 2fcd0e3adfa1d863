//! Replies by an agent other than the conversation's: for a message that names it (`@backend …`), and for
//! plans.

use std::sync::Arc;

use goose_providers::Provider;

use super::RequestHandler;
use goose_session::ChosenBy;

use crate::{
    agents::{
        agent::Agent,
        catalog::AgentCatalog,
        goose_agent,
        manifest::{AgentManifest, AgentMode},
        mention::without_mention,
    },
    exchange::{Abort, EarlierModels, Event, RoutedBy, StepResult},
};

/// Instructions for the agent that explores before a plan is written.
const EXPLORE: &str = "A plan is to be written for this request. Find out what it needs: you can look, and change nothing. \
                       End with what you found: files and functions, constraints, open questions. Do not write the plan.";

/// Instructions for the orchestrator when a request is also for another agent.
const OWN_PART: &str = "Do now only the part of the request that concerns extensions and earlier sessions; the session's agent goes on with \
                        the rest. End with what you did or found.";

/// The agent of one reply.
pub(super) struct OneReplyAgent {
    manifest: Arc<AgentManifest>,
    mode: AgentMode,
    /// Model for the reply. `None` uses the conversation's.
    model: Option<Arc<dyn Provider>>,
    /// Message without the leading name of the agent, if it has one.
    words: Option<String>,
    /// Origin of the choice of this agent. One that was chosen by routing may hand the request back.
    chosen_by: ChosenBy,
}

/// The agent and the model to return to after a reply.
pub(super) struct InterruptedAgent {
    /// Words for the agent of this reply, if they are not the whole message.
    pub(super) words: Option<String>,
    agent: Arc<Agent>,
    models: Option<EarlierModels>,
    /// Agent of this reply.
    present: Arc<Agent>,
}

impl OneReplyAgent {
    /// Creates the agent that a message names with `@`.
    pub(super) fn named(manifest: Arc<AgentManifest>, mode: AgentMode, message: &str) -> Self {
        let words = Some(without_mention(message).to_owned());
        Self { manifest, mode, model: None, words, chosen_by: ChosenBy::User }
    }

    /// Creates the agent that routing has chosen for one message.
    pub(super) fn routed(manifest: Arc<AgentManifest>, mode: AgentMode) -> Self {
        Self { manifest, mode, model: None, words: None, chosen_by: ChosenBy::Routing }
    }

    /// Creates the orchestrator's mode, for its part of a request.
    pub(super) fn orchestrator(manifest: Arc<AgentManifest>, mode: AgentMode) -> Self {
        let instructions = format!("{}\n\n{OWN_PART}", mode.instructions);
        let mode = AgentMode { instructions, ..mode };
        Self { manifest, mode, model: None, words: None, chosen_by: ChosenBy::User }
    }

    /// Creates the conversation's agent with only the tools that read.
    pub(super) fn explorer(agent: &Agent) -> Self {
        let mode = AgentMode {
            tool_groups: vec!["read".into()],
            instructions: EXPLORE.to_owned(),
            ..agent.mode.clone()
        };
        let manifest = Arc::clone(&agent.manifest);
        Self { manifest, mode, model: None, words: None, chosen_by: ChosenBy::User }
    }

    /// Creates the mode that writes plans, with a separate model if one is given.
    pub(super) fn planner(catalog: &AgentCatalog, model: Option<Arc<dyn Provider>>) -> StepResult<Self> {
        let planner = catalog.find(&goose_agent::id(goose_agent::PLANNER));
        let (manifest, mode) = planner.map_err(|error| Abort::failed(error.to_string(), None))?;
        Ok(Self { manifest, mode, model, words: None, chosen_by: ChosenBy::User })
    }
}

impl RequestHandler<'_> {
    /// Lets another agent make this reply.
    pub(super) async fn begin_one_reply(&mut self, wanted: OneReplyAgent) -> StepResult<()> {
        let context = &self.work.context;
        let made = context.agents.make(wanted.manifest, wanted.mode).await;
        let mut agent = made.map_err(|error| Abort::failed(error.to_string(), None))?;
        agent.chosen_by = wanted.chosen_by;
        let agent = Arc::new(agent);
        self.work.emit(Event::Routed {
            agent: agent.manifest.name.clone(),
            mode: agent.mode.slug.clone(),
            confidence: 1.0,
            by: RoutedBy::User,
            reason: "it was asked for".to_owned(),
            is_switch: true,
        });
        let models = wanted.model.map(|model| context.models.swap_processor(model));
        let interrupted = context.agent.replace(Arc::clone(&agent));
        self.one_reply =
            Some(InterruptedAgent { words: wanted.words, agent: interrupted, models, present: agent });
        Ok(())
    }

    /// Returns to the agent of the conversation, unless another one was chosen meanwhile.
    pub(super) async fn end_one_reply(&mut self) {
        let Some(InterruptedAgent { agent, models, present, .. }) = self.one_reply.take() else { return };
        let context = &self.work.context;
        if let Some(models) = models {
            context.models.restore(models);
        }
        if Arc::ptr_eq(&context.agent(), &present) {
            context.agent.replace(agent);
        } else {
            agent.close().await;
        }
        present.close().await;
    }
}
