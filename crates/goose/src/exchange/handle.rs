//! [`Exchange`]: a conversation with a model that has tools. All that a UX holds.

use std::sync::Arc;

use goose_extension::{ExchangeView, Message};
use goose_providers::Usage;

use super::{
    compaction::Reason,
    core::Core,
    event::Failure,
    reply::Reply,
    reply_task::{Abort, ReplyTask, StepResult},
};
use crate::{
    agents::{
        agent::{Agent, ChosenBy},
        catalog::AgentCatalog,
        extension_manager::{ExtensionManager, ManagerError},
        manifest::{AgentManifest, AgentMode},
    },
    config::ExtensionConfig,
    permission::{Mode, Permissions},
    session::{SessionId, Step},
};

/// A conversation with a model that has tools. Made by [`build_exchange`](super::build_exchange) or
/// [`AgentManager::open`](crate::agent_manager::AgentManager::open). Clones are the same conversation.
#[derive(Clone)]
pub struct Exchange {
    pub(super) core: Arc<Core>,
}

impl Exchange {
    /// Goes on from the history as it is. One reply is made at a time: while another one is, unless that one was
    /// cancelled, the stream says so and ends.
    pub fn reply(&self) -> Reply {
        Reply::begin(&self.core, None, None)
    }

    /// Replies to what the person says.
    pub fn reply_to(&self, message: impl Into<Message>) -> Reply {
        Reply::begin(&self.core, Some(message.into()), None)
    }

    /// The conversation so far, as the model sees it.
    pub fn messages(&self) -> Vec<Arc<Message>> {
        self.core.view.processor.messages.snapshot()
    }

    /// A view of the conversation that follows it.
    pub fn view(&self) -> ExchangeView {
        self.core.view.clone()
    }

    /// The session's id.
    pub fn session_id(&self) -> &SessionId {
        self.core.session.id()
    }

    /// The agent.
    pub fn agent(&self) -> Arc<Agent> {
        self.core.agent()
    }

    /// All agents that can be chosen.
    pub fn agents(&self) -> AgentCatalog {
        self.core.agents.catalog()
    }

    /// Goes on with another agent: `AGENT/MODE`, `AGENT` for its first mode, or a `MODE` that only one agent has. Returns its
    /// name with its mode. From here on no request is routed to another one.
    ///
    /// # Errors
    ///
    /// Returns the reason for the user if there is no such agent or its extensions do not fit together. The agent stays as it
    /// was.
    pub async fn switch_agent(&self, name: &str) -> Result<String, String> {
        let (manifest, mode) = self.agents().find(name).map_err(|error| error.to_string())?;
        self.set_agent(manifest, mode).await
    }

    /// Goes on with another agent. In the middle of a reply it counts from the next call or question to the model on; calls that
    /// run finish, and give the extensions of the earlier agent back then.
    ///
    /// # Errors
    ///
    /// Returns the reason for the user if its extensions do not fit together. The agent stays as it was.
    pub async fn set_agent(&self, manifest: Arc<AgentManifest>, mode: AgentMode) -> Result<String, String> {
        let mut agent = self.core.agents.make(manifest, mode).await?;
        agent.chosen_by = ChosenBy::User;
        let name = agent.id();
        let earlier = self.core.agent.replace(Arc::new(agent));
        self.core.events.store_later(Step::agent_changed(name.clone(), ChosenBy::User));
        self.core.close_later(earlier);
        Ok(name)
    }

    /// The extensions of the agent.
    pub fn extensions(&self) -> Arc<ExtensionManager> {
        Arc::clone(&self.core.agent().extensions)
    }

    /// Enables an extension for the rest of the session: for the agent, if its mode may use it, and for those that follow.
    /// Returns the modes that can use it if the agent's cannot, in words.
    ///
    /// # Errors
    ///
    /// Fails if there is one of that name.
    pub fn enable_extension(&self, config: &ExtensionConfig) -> Result<Option<String>, ManagerError> {
        self.core.agents.enable(&self.core.agent(), config)
    }

    /// The permissions.
    pub fn permissions(&self) -> &Arc<Permissions> {
        &self.core.permissions
    }

    /// Changes what may run without asking, from the next call on.
    pub fn set_mode(&self, mode: Mode) {
        if self.core.permissions.mode() != mode {
            self.core.permissions.set_mode(mode);
            self.core.events.store_later(Step::permission_changed(mode));
        }
    }

    /// Lets older messages make room now: how many tokens the conversation had, and has, about. Waits for a reply that
    /// is being made.
    ///
    /// # Errors
    ///
    /// Fails if the store or the model does.
    pub async fn compact(&self) -> Result<(u64, u64), Failure> {
        let mut work = self.command().await.map_err(failure)?;
        work.count_messages();
        let before = work.state.context_usage.used();
        work.make_room(Reason::Asked).await.map_err(failure)?;
        Ok((before, work.state.context_usage.used()))
    }

    /// Begins anew in the same session: the model forgets what was said; the steps stay in the store.
    ///
    /// # Errors
    ///
    /// Fails if the store does.
    pub async fn clear(&self) -> Result<(), Failure> {
        let mut work = self.command().await.map_err(failure)?;
        work.replace_messages(&[]).await.map_err(failure)?;
        work.drop_interrupted_tasks();
        Ok(())
    }

    /// The tokens of the session, and their price where it is known.
    pub(crate) fn spent(&self) -> (Usage, Option<f64>) {
        self.core.usage.spent()
    }

    /// Stops a reply that is being made, brings everything to the disk and gives the extensions back.
    pub async fn close(&self) {
        self.core.stop();
        self.core.tasks.ended.cancel();
        self.core.tasks.tracker.close();
        self.core.tasks.tracker.wait().await;
        self.store_late_steps().await;
        self.core.agent().close().await;
        self.core.events.close();
    }

    /// Stores what happened after the last reply: changes of the mode and of extensions, and the usage of delegates.
    async fn store_late_steps(&self) {
        let mut steps = self.core.usage.take_unsaved();
        // A session without messages stays empty.
        if !self.messages().is_empty() {
            steps.extend(self.core.events.take_unsaved());
        }
        if !steps.is_empty()
            && let Err(error) = self.core.session.append_all(&steps).await
        {
            tracing::warn!(%error, "the end of the session could not be stored");
        }
    }

    /// Begins a command between replies. Anything that an earlier reply left open is closed first.
    async fn command(&self) -> StepResult<ReplyTask> {
        let state = Arc::clone(&self.core.state).lock_owned().await;
        let cancellation = self.core.begin();
        let events = self.core.events.begin_reply(cancellation.clone());
        let mut work = ReplyTask::new(Arc::clone(&self.core), state, events, cancellation);
        work.close_interrupted().await?;
        Ok(work)
    }
}

fn failure(stop: Abort) -> Failure {
    match stop {
        Abort::Failed(failure) => failure,
        Abort::Cancelled => Failure { message: "This was cancelled.".to_owned(), hint: None },
    }
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange").field("session", &self.core.session.id()).finish_non_exhaustive()
    }
}
