//! [`Exchange`]: a conversation with a model that has tools. All that a UX holds.

use std::sync::Arc;

use goose_extension::{ExchangeView, Message};

use super::{
    compaction::Reason,
    core::{Core, Offer},
    event::Failure,
    reply::Reply,
    reply_task::{Abort, ReplyTask, StepResult},
};
use crate::{
    agents::{agent::Agent, extension_manager::ExtensionManager},
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
        Reply::begin(&self.core, None)
    }

    /// Replies to what the person says.
    pub fn reply_to(&self, message: impl Into<Message>) -> Reply {
        Reply::begin(&self.core, Some(message.into()))
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

    /// Puts another agent in the place of this one, from the next reply on. Waits for a reply that is being made, and gives
    /// the extensions of the earlier agent back. Made by [`AgentManager::agent`](crate::agent_manager::AgentManager::agent).
    pub async fn set_agent(&self, agent: Agent) {
        let extensions = Arc::clone(&agent.extensions);
        let name = format!("{}/{}", agent.manifest.name, agent.mode.name);
        let mut state = self.core.state.lock().await;
        state.services = extensions.events();
        state.offer = Offer::default();
        let earlier = self.core.replace_agent(agent);
        self.core.events.store_later(Step::ModeChanged { permission: None, agent: Some(name) });
        drop(state);
        if !Arc::ptr_eq(&earlier.extensions, &extensions) {
            earlier.extensions.close().await;
        }
    }

    /// The extensions of the agent.
    pub fn extensions(&self) -> Arc<ExtensionManager> {
        Arc::clone(&self.core.agent().extensions)
    }

    /// The permissions.
    pub fn permissions(&self) -> &Arc<Permissions> {
        &self.core.permissions
    }

    /// Changes what may run without asking, from the next call on.
    pub fn set_mode(&self, mode: Mode) {
        if self.core.permissions.mode() != mode {
            self.core.permissions.set_mode(mode);
            self.core.events.store_later(Step::ModeChanged { permission: Some(mode), agent: None });
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
        work.replace_messages(&[]).await.map_err(failure)
    }

    /// Stops a reply that is being made, brings everything to the disk and gives the extensions back.
    pub async fn close(&self) {
        self.core.stop();
        self.core.tasks.close();
        self.core.tasks.wait().await;
        self.core.agent().extensions.close().await;
        self.core.events.close();
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
