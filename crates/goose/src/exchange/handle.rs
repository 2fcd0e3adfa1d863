//! [`Exchange`]: a conversation with a model that has tools. All that a UX holds.

use std::sync::Arc;

use goose_extension::{ExchangeView, Message};
use goose_providers::{Provider, Usage};

use super::{
    agent_loop::{Abort, AgentLoop, StepResult},
    compaction::Reason,
    event::Failure,
    loop_context::LoopContext,
    reply::Reply,
    responder::{Request, Responder, TaskStatus},
};
use goose_session::ChosenBy;

use crate::{
    agents::{
        agent::{Agent, AgentSetupError, SwitchAgentError},
        catalog::AgentCatalog,
        extension_manager::{ExtensionManager, ManagerError},
        manifest::{AgentManifest, AgentMode},
    },
    config::ExtensionConfig,
    context::Handover,
    permission::{Mode, Permissions},
    session::{SessionId, Step},
};

/// A conversation with a model that has tools. Made by `build_exchange` or
/// `AgentManager::open`. Clones are the same conversation.
#[derive(Clone)]
pub struct Exchange {
    pub(crate) context: Arc<LoopContext>,
    pub(super) responder: Arc<dyn Responder>,
}

impl Exchange {
    /// A conversation: the loop's part of it, and what makes its replies.
    pub(crate) fn new(context: LoopContext, responder: Arc<dyn Responder>) -> Self {
        Self { context: Arc::new(context), responder }
    }

    /// Goes on from the history as it is. One reply is made at a time: while another one is, unless that one was
    /// cancelled, the stream says so and ends.
    pub fn reply(&self) -> Reply {
        self.begin(Request::GoOn)
    }

    /// Replies to what the person says.
    pub fn reply_to(&self, message: impl Into<Message>) -> Reply {
        self.begin(Request::Message(message.into()))
    }

    /// Looks around for a plan: the agent of the conversation, with the tools that read and no others.
    pub fn explore(&self, request: impl Into<Message>) -> Reply {
        self.begin(Request::Explore(request.into()))
    }

    /// Writes a plan from what was said and found: the mode `planner`, which has no tools, with its own model if one is configured.
    pub fn write_plan(&self) -> Reply {
        self.begin(Request::Plan)
    }

    /// Replies to what another session hands over. Its model summarizes what does not fit.
    pub(crate) fn reply_to_handover(&self, handover: Handover, summarizer: Arc<dyn Provider>) -> Reply {
        self.begin(Request::Task(handover, summarizer))
    }

    fn begin(&self, request: Request) -> Reply {
        Reply::begin(&self.context, &self.responder, request)
    }

    /// The tasks of the request that is being worked on, or of the last one that had some.
    pub fn tasks(&self) -> Vec<TaskStatus> {
        self.responder.tasks()
    }

    /// Cancels one task by its id; the others go on. Returns false if there is no such task, or it is not being worked on.
    pub fn cancel_task(&self, id: &str) -> bool {
        self.responder.cancel_task(id)
    }

    /// The conversation so far, as the model sees it.
    pub fn messages(&self) -> Vec<Arc<Message>> {
        self.context.conversation.view.processor.messages.snapshot()
    }

    /// A view of the conversation that follows it.
    pub fn view(&self) -> ExchangeView {
        self.context.conversation.view.clone()
    }

    /// The session's id.
    pub fn session_id(&self) -> &SessionId {
        self.context.session.id()
    }

    /// The agent.
    pub fn agent(&self) -> Arc<Agent> {
        self.context.agent()
    }

    /// All agents that can be chosen.
    pub fn agents(&self) -> Arc<AgentCatalog> {
        self.context.agents.catalog()
    }

    /// Goes on with another agent: `AGENT/MODE`, `AGENT` for its first mode, or a `MODE` that only one agent has. Returns its
    /// name with its mode. From here on no request is routed to another one.
    ///
    /// # Errors
    ///
    /// Fails if there is no such agent or its extensions do not fit together. The agent stays as it was.
    pub async fn switch_agent(&self, name: &str) -> Result<String, SwitchAgentError> {
        let (manifest, mode) = self.agents().find(name)?;
        Ok(self.set_agent(manifest, mode).await?)
    }

    /// Lets goose choose agents again, after the user had named one. The present one stays until a request is for another.
    pub fn choose_agent_automatically(&self) {
        let present = self.context.agent();
        if present.chosen_by == ChosenBy::User {
            let agent = Agent { chosen_by: ChosenBy::Routing, ..Agent::clone(&present) };
            self.context.outlets.events.store_later(Step::agent_changed(agent.id(), agent.chosen_by));
            self.context.agent.replace(Arc::new(agent));
        }
    }

    /// Goes on with another agent. In the middle of a reply it counts from the next call or question to the model on; calls that
    /// run finish, and give the extensions of the earlier agent back then.
    ///
    /// # Errors
    ///
    /// Fails if its extensions do not fit together. The agent stays as it was.
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

    /// The extensions of the agent.
    pub fn extensions(&self) -> Arc<ExtensionManager> {
        Arc::clone(&self.context.agent().extensions)
    }

    /// Enables an extension for the rest of the session: for the agent, if its mode may use it, and for those that follow.
    /// Returns the modes that can use it if the agent's cannot, in words.
    ///
    /// # Errors
    ///
    /// Fails if there is one of that name.
    pub fn enable_extension(&self, config: &ExtensionConfig) -> Result<Option<String>, ManagerError> {
        self.context.agents.enable(&self.context.agent(), config)
    }

    /// The permissions.
    pub fn permissions(&self) -> &Arc<Permissions> {
        &self.context.permissions
    }

    /// Changes what may run without asking, from the next call on.
    pub fn set_mode(&self, mode: Mode) {
        if self.context.permissions.mode() != mode {
            self.context.permissions.set_mode(mode);
            self.context.outlets.events.store_later(Step::permission_changed(mode));
        }
    }

    /// Lets older messages make room now: how many tokens the conversation had, and has, about. Waits for a reply that
    /// is being made.
    ///
    /// # Errors
    ///
    /// Fails if the store or the model does.
    pub async fn compact(&self) -> Result<(u64, u64), Failure> {
        self.context.models.open().await?;
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
        self.responder.forget_tasks();
        Ok(())
    }

    /// The tokens of the session, and their price where it is known.
    pub(crate) fn spent(&self) -> (Usage, Option<f64>) {
        self.context.usage.spent()
    }

    /// Stops a reply that is being made, brings everything to the disk and gives the extensions back.
    pub async fn close(&self) {
        self.context.stop();
        self.context.tasks.ended.cancel();
        self.context.tasks.tracker.close();
        self.context.tasks.tracker.wait().await;
        self.store_late_steps().await;
        self.context.agent().close().await;
        self.responder.close().await;
        self.context.outlets.events.close();
    }

    /// Stores what happened after the last reply: changes of the mode and of extensions, and the usage of delegates.
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

    /// Begins a command between replies. Anything that an earlier reply left open is closed first.
    async fn command(&self) -> StepResult<AgentLoop> {
        let state = Arc::clone(&self.context.conversation.state).lock_owned().await;
        let cancellation = self.context.begin();
        let events = self.context.outlets.events.begin_reply(cancellation.clone());
        let mut work = AgentLoop::new(Arc::clone(&self.context), state, events, cancellation);
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
        f.debug_struct("Exchange").field("session", &self.context.session.id()).finish_non_exhaustive()
    }
}
