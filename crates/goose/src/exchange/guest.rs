//! Replies by another agent than the conversation's: for one message that names it (`@backend …`), and for plans.

use std::sync::Arc;

use goose_extension::Message;
use goose_providers::Provider;

use super::{
    event::Event,
    handle::Exchange,
    reply::Reply,
    reply_task::{Abort, ReplyTask, StepResult},
};
use crate::{
    agents::{
        agent::{Agent, ChosenBy},
        goose_agent,
        manifest::{AgentManifest, AgentMode},
        mention::without_mention,
        orchestrator_agent::RoutedBy,
    },
    session::synthetic_message,
};

/// Instructions for the agent that looks around before a plan is written.
const EXPLORE: &str = "A plan is to be written for this request. Find out what it needs: you can look, and change nothing. \
                       End with what you found: files and functions, constraints, open questions. Do not write the plan.";

/// The message that asks the planner for the plan.
const WRITE_PLAN: &str = "Now write the plan for the request above.";

/// The agent of one reply.
#[derive(Clone)]
pub(super) struct Guest {
    manifest: Arc<AgentManifest>,
    mode: AgentMode,
    /// The model that it is asked with; the conversation's without it.
    model: Option<Arc<dyn Provider>>,
    /// The message without the name of the agent, if it begins with that.
    words: Option<String>,
    /// The reason for this agent. One that was reached by routing may hand the request back.
    chosen_by: ChosenBy,
}

/// The agent and the model to go back to after a reply.
pub(super) struct Host {
    /// The words for the guest, if they are not the whole message.
    pub(super) words: Option<String>,
    agent: Arc<Agent>,
    model: Option<Arc<dyn Provider>>,
    guest: Arc<Agent>,
}

impl Guest {
    /// The agent that a message names.
    pub(super) fn named(manifest: Arc<AgentManifest>, mode: AgentMode, message: &str) -> Self {
        let words = Some(without_mention(message).to_owned());
        Self { manifest, mode, model: None, words, chosen_by: ChosenBy::User }
    }

    /// The agent that a message names in its own words.
    pub(super) fn routed(manifest: Arc<AgentManifest>, mode: AgentMode) -> Self {
        Self { manifest, mode, model: None, words: None, chosen_by: ChosenBy::Routing }
    }
}

impl ReplyTask {
    /// Lets another agent make this reply.
    pub(super) async fn begin_guest(&mut self, guest: Guest) -> StepResult<()> {
        let made = self.core.agents.make(guest.manifest, guest.mode).await;
        let mut agent = made.map_err(|reason| Abort::failed(reason, None))?;
        agent.chosen_by = guest.chosen_by;
        let agent = Arc::new(agent);
        self.emit(Event::Routed {
            agent: agent.manifest.name.clone(),
            mode: agent.mode.slug.clone(),
            confidence: 1.0,
            by: RoutedBy::User,
            reason: "it was asked for".to_owned(),
            is_switch: true,
        });
        let model = guest.model.map(|model| self.core.models.swap_processor(model));
        let host = self.core.agent.replace(Arc::clone(&agent));
        self.host = Some(Host { words: guest.words, agent: host, model, guest: agent });
        Ok(())
    }

    /// Goes back to the agent of the conversation, unless another one was chosen meanwhile.
    pub(super) async fn end_guest(&mut self) {
        let Some(Host { agent, model, guest, .. }) = self.host.take() else { return };
        if let Some(model) = model {
            self.core.models.swap_processor(model);
        }
        if Arc::ptr_eq(&self.core.agent(), &guest) {
            self.core.agent.replace(agent);
        } else {
            agent.close().await;
        }
        guest.close().await;
    }
}

impl Exchange {
    /// Looks around for a plan: the agent of the conversation, with the tools that read and no others.
    pub fn explore(&self, request: impl Into<Message>) -> Reply {
        let agent = self.agent();
        let mode = AgentMode {
            tool_groups: vec!["read".into()],
            instructions: EXPLORE.to_owned(),
            ..agent.mode.clone()
        };
        let manifest = Arc::clone(&agent.manifest);
        let guest = Guest { manifest, mode, model: None, words: None, chosen_by: ChosenBy::User };
        Reply::begin(&self.core, Some(request.into()), Some(guest))
    }

    /// Writes a plan from what was said and found: the mode `planner`, which has no tools, with the given model or the
    /// conversation's.
    ///
    /// # Errors
    ///
    /// Returns the reason for the user if there is no such model.
    pub async fn write_plan(&self, model: Option<&str>) -> Result<Reply, String> {
        let model = match model {
            Some(name) => Some(self.core.models.find(name).await.map_err(|error| error.to_string())?),
            None => None,
        };
        let planner = format!("{}/{}", goose_agent::NAME, goose_agent::PLANNER);
        let (manifest, mode) = self.agents().find(&planner).map_err(|error| error.to_string())?;
        let guest = Guest { manifest, mode, model, words: None, chosen_by: ChosenBy::User };
        Ok(Reply::begin(&self.core, Some(synthetic_message(WRITE_PLAN)), Some(guest)))
    }
}
