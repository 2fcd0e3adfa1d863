//! [`Exchange`]: a conversation with a model that has tools. User interfaces hold nothing else.

use std::{path::Path, sync::Arc};

use goose_extension::{ExchangeView, Message};
use goose_providers::{Provider, Usage};

use super::{
    agent_loop::{AgentLoop, StepResult},
    compaction::Reason,
    event::Failure,
    loop_context::LoopContext,
    reply::Reply,
    responder::{Request, Responder, TaskStatus},
};
use crate::{
    agents::{
        agent::{Agent, AgentSetupError, SwitchAgentError},
        catalog::AgentCatalog,
        extension_manager::{ExtensionManager, ManagerError},
        manifest::{AgentManifest, AgentMode},
    },
    config::ExtensionConfig,
    context::Handover,
    hooks::SessionSource,
    permission::{Mode, Permissions},
    session::{ChosenBy, SessionId, Step, StoreError},
};

/// Conversation with a model that has tools, created by `build_exchange` or `AgentManager::open`. Clones
/// share the conversation.
#[derive(Clone)]
pub struct Exchange {
    pub(crate) context: Arc<LoopContext>,
    pub(super) responder: Arc<dyn Responder>,
}

impl Exchange {
    /// Creates a conversation from the loop's context and the responder that makes its replies.
    pub(crate) fn new(context: LoopContext, responder: Arc<dyn Responder>) -> Self {
        Self { context: Arc::new(context), responder }
    }

    /// Continues the conversation without a new message. Only one reply runs at a time: while another one
    /// runs that was not cancelled, the stream reports a failure and ends.
    pub fn reply(&self) -> Reply {
        Reply::begin(self, Request::GoOn)
    }

    /// Replies to a message of the user.
    pub fn reply_to(&self, message: impl Into<Message>) -> Reply {
        Reply::begin(self, Request::Message(message.into()))
    }

    /// Explores a request for a plan. The agent of the conversation replies, with read-only tools.
    pub fn explore(&self, request: impl Into<Message>) -> Reply {
        Reply::begin(self, Request::Explore(request.into()))
    }

    /// Writes a plan from the conversation. The mode `planner` replies, without tools, with its own model if
    /// one is configured.
    pub fn write_plan(&self) -> Reply {
        Reply::begin(self, Request::Plan)
    }

    /// Replies to a task of another session. Its model summarizes parts that do not fit.
    pub(crate) fn reply_to_handover(&self, handover: Handover, summarizer: Arc<dyn Provider>) -> Reply {
        Reply::begin(self, Request::Task(handover, summarizer))
    }

    /// Returns the tasks of the current request, or of the last one that had tasks.
    pub fn tasks(&self) -> Vec<TaskStatus> {
        self.responder.tasks()
    }

    /// Cancels a task by its id; other tasks continue. Returns false if the task does not exist or does not
    /// run.
    pub fn cancel_task(&self, id: &str) -> bool {
        self.responder.cancel_task(id)
    }

    /// Returns the conversation as the model sees it.
    pub fn messages(&self) -> Vec<Arc<Message>> {
        self.context.conversation.view.processor.messages.snapshot()
    }

    /// Returns a view that follows the conversation.
    pub fn view(&self) -> ExchangeView {
        self.context.conversation.view.clone()
    }

    /// Returns the session's id.
    pub fn session_id(&self) -> &SessionId {
        self.context.session.id()
    }

    /// Returns the working folder.
    pub fn working_dir(&self) -> &Path {
        &self.context.folder.working_dir
    }

    /// Returns the current agent.
    pub fn agent(&self) -> Arc<Agent> {
        self.context.agent()
    }

    /// Returns all agents that can be chosen.
    pub fn agents(&self) -> Arc<AgentCatalog> {
        self.context.agents.catalog()
    }

    /// Continues with another agent: `AGENT/MODE`, `AGENT` for its first mode, or a `MODE` that only one
    /// agent has. Returns the agent's name with its mode. Requests are no longer routed to other agents.
    ///
    /// # Errors
    ///
    /// Fails if the agent does not exist or its extensions conflict. The current agent stays.
    pub async fn switch_agent(&self, name: &str) -> Result<String, SwitchAgentError> {
        let (manifest, mode) = self.agents().find(name)?;
        Ok(self.set_agent(manifest, mode).await?)
    }

    /// Lets goose choose agents again after the user named one. The current agent stays until a request is
    /// routed to another one.
    pub fn choose_agent_automatically(&self) {
        let present = self.context.agent();
        if present.chosen_by == ChosenBy::User {
            let agent = Agent { chosen_by: ChosenBy::Routing, ..Agent::clone(&present) };
            self.context.outlets.events.store_later(Step::agent_changed(agent.id(), agent.chosen_by));
            self.context.agent.replace(Arc::new(agent));
        }
    }

    /// Continues with another agent. During a reply, the change applies from the next call or request to the
    /// model. Running calls finish, and then release the extensions of the earlier agent.
    ///
    /// # Errors
    ///
    /// Fails if its extensions conflict. The current agent stays.
    pub async fn set_agent(
        &self,
        manifest: Arc<AgentManifest>,
        mode: AgentMode,
    ) -> Result<String, AgentSetupError> {
        let mut agent = self.context.agents.make(manifest, mode).await?;
        agent.chosen_by = ChosenBy::User;
        let name = agent.id();
        let earlier = self.context.agent.replace(Arc::new(agent));
        self.context.outlets.events.store_later(Step::agent_changed(name.clone(), ChosenBy::User));
        self.context.close_later(earlier);
        Ok(name)
    }

    /// Returns the extensions of the current agent.
    pub fn extensions(&self) -> Arc<ExtensionManager> {
        Arc::clone(&self.context.agent().extensions)
    }

    /// Enables an extension for the rest of the session, for the current agent if its mode may use it, and
    /// for later ones. If the current mode cannot use it, returns a text that names the modes that can.
    ///
    /// # Errors
    ///
    /// Fails if an extension of that name exists.
    pub fn enable_extension(&self, config: &ExtensionConfig) -> Result<Option<String>, ManagerError> {
        self.context.agents.enable(&self.context.agent(), config)
    }

    /// Disables an extension for the rest of the session, for the current agent and for later ones.
    ///
    /// # Errors
    ///
    /// Fails if there is no such extension.
    pub async fn disable_extension(&self, name: &str) -> Result<(), ManagerError> {
        self.context.agents.disable(&self.context.agent(), name).await
    }

    /// Takes the notices that the next reply would report, for an interface that shows them before. Returns
    /// none during a reply.
    pub fn take_notices(&self) -> Vec<String> {
        let state = self.context.conversation.state.try_lock();
        state.map(|mut state| state.take_notices()).unwrap_or_default()
    }

    /// Returns the permissions.
    pub fn permissions(&self) -> &Arc<Permissions> {
        &self.context.guard.permissions
    }

    /// Changes the permission mode from the next call on.
    pub fn set_mode(&self, mode: Mode) {
        if self.context.guard.permissions.mode() != mode {
            self.context.guard.permissions.set_mode(mode);
            self.context.outlets.events.store_later(Step::permission_changed(mode));
        }
    }

    /// Compacts the conversation now. Returns the approximate token counts before and after. Waits for a
    /// running reply.
    ///
    /// # Errors
    ///
    /// Fails if the store or the model fails.
    pub async fn compact(&self) -> Result<(u64, u64), Failure> {
        self.context.models.open().await?;
        let mut work = self.command().await?;
        work.count_messages();
        let before = work.state.context_usage.used();
        work.make_room(Reason::Asked).await?;
        Ok((before, work.state.context_usage.used()))
    }

    /// Replaces the messages that the model sees. The steps stay in the store.
    ///
    /// # Errors
    ///
    /// Fails if the store fails.
    pub async fn replace_messages(&self, messages: Vec<Message>) -> Result<(), Failure> {
        let messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
        let mut work = self.command().await?;
        work.replace_messages(&messages, None).await?;
        self.responder.forget_tasks();
        Ok(())
    }

    /// Clears the conversation that the model sees. The steps stay in the store.
    ///
    /// # Errors
    ///
    /// Fails if the store fails.
    pub async fn clear(&self) -> Result<(), Failure> {
        let mut work = self.command().await?;
        work.replace_messages(&[], None).await?;
        self.responder.forget_tasks();
        // The conversation stays locked until the hooks have run: a reply begins with those of the new start.
        if let Some(hooks) = &self.context.guard.hooks {
            hooks.end("clear").await;
            hooks.starts_by(SessionSource::Clear);
        }
        Ok(())
    }

    /// Names the session. An empty name removes the name.
    ///
    /// # Errors
    ///
    /// Fails if the store fails.
    pub async fn rename(&self, name: &str) -> Result<(), StoreError> {
        self.context.session.rename(name).await
    }

    /// Returns the token usage of the session, and its price if it is known.
    pub(crate) fn spent(&self) -> (Usage, Option<f64>) {
        self.context.usage.spent()
    }

    /// Returns true while a reply or a background task runs.
    pub fn is_busy(&self) -> bool {
        !self.context.tasks.tracker.is_empty()
    }

    /// Cancels a running reply, stores everything, and releases the extensions.
    pub async fn close(&self) {
        self.context.stop();
        self.context.tasks.ended.cancel();
        self.context.tasks.tracker.close();
        self.context.tasks.tracker.wait().await;
        self.store_late_steps().await;
        if let Some(hooks) = &self.context.guard.hooks {
            hooks.end("other").await;
        }
        self.context.agent().close().await;
        self.responder.close().await;
        self.context.outlets.events.close();
    }

    /// Stores steps from after the last reply: changes of the mode and of extensions, and the usage of
    /// delegates.
    async fn store_late_steps(&self) {
        let mut steps = self.context.usage.take_unsaved();
        // A session without messages stays empty.
        if !self.messages().is_empty() {
            steps.extend(self.context.outlets.events.take_unsaved());
        }
        if !steps.is_empty()
            && let Err(error) = self.context.session.append_all(&steps).await
        {
            tracing::warn!(%error, "the end of the session could not be stored");
        }
    }

    /// Starts a command between replies. An interrupted reply is closed first.
    pub(super) async fn command(&self) -> StepResult<AgentLoop> {
        let state = Arc::clone(&self.context.conversation.state).lock_owned().await;
        let cancellation = self.context.begin();
        let events = self.context.outlets.events.begin_reply(cancellation.clone());
        let mut work = AgentLoop::new(Arc::clone(&self.context), state, events, cancellation);
        work.close_interrupted().await?;
        Ok(work)
    }
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange").field("session", &self.context.session.id()).finish_non_exhaustive()
    }
}
