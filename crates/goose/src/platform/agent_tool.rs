//! [`AgentTool`]: another agent as an extension with one tool, for agents whose manifest depends on it.

use std::sync::Arc;

use goose_extension::{RegistryExtension, prelude::*};

use crate::{
    agents::manifest::AgentManifest,
    config::MAX_TIMEOUT,
    exchange::{DelegateTask, Delegates, MAX_TASK},
};

/// Another agent as a tool. A call gives it a task, which it does in a separate session, with the tools of
/// its own mode, under the permissions of the calling session.
pub(crate) struct AgentTool {
    agent: Arc<AgentManifest>,
    /// Interface that starts delegates. `None` outside of a conversation.
    delegation: Option<Arc<dyn Delegates>>,
}

impl AgentTool {
    /// Builds the extension.
    pub(crate) fn extension(
        agent: Arc<AgentManifest>,
        delegation: Option<Arc<dyn Delegates>>,
    ) -> RegistryExtension {
        let modes: Vec<&str> = agent.modes.iter().map(|mode| mode.slug.as_str()).collect();
        let modes = match modes.len() {
            1 => String::new(),
            _ => format!(" Modes: {}.", modes.join(", ")),
        };
        let about = format!(
            "Give a task to the agent {}. Returns its answer. Fails if it cannot finish, or has no such mode. {}{modes}",
            agent.name, agent.description
        );
        // Turns and tokens of a delegate are limited instead.
        let tool = Self::task_tool().map_tool(|tool| tool.with_description(about).with_timeout(MAX_TIMEOUT));
        let extension = RegistryExtension::new(agent.name.clone(), agent.description.clone());
        extension.with_tool(&Arc::new(Self { agent, delegation }), tool)
    }

    // The description names the agent, see `extension`.
    #[tool]
    async fn task(
        &self,
        /// The task, complete; the user's last request and what was said before go with it, for information
        #[arg(min_length = 1, max_length = MAX_TASK)]
        task: &str,
        /// The agent's mode, default its first one
        mode: Option<String>,
        context: &CallContext,
    ) -> ToolResult<String> {
        let Some(delegation) = &self.delegation else {
            return Err(ToolError::execution("There is no session here that could give a task to an agent."));
        };
        let chosen = match &mode {
            Some(mode) => self.agent.mode(mode),
            None => self.agent.modes.first(),
        };
        let chosen = chosen.cloned().ok_or_else(|| {
            let modes: Vec<&str> = self.agent.modes.iter().map(|mode| mode.slug.as_str()).collect();
            ToolError::execution(format!("The agent has no such mode. It has: {}.", modes.join(", ")))
        })?;
        let mut task = DelegateTask::new((Arc::clone(&self.agent), chosen), task);
        let messages = context.exchange_view().processor.messages.snapshot();
        task.prompt = task.prompt.with_session(&messages, None);
        let mut delegate = delegation.prepare(task, context.call_id().unwrap_or_default()).await?.start();
        let _cancel = delegate.cancel_on_drop();
        delegate.result().await
    }
}
