//! [`SessionTools`]: tools of the session around an agent, served to it over MCP. Each call passes the session's
//! toolset, permissions and questions, as a call of goose's own model does.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use goose::agent_manager::acp_mcp_adapter::AgentError;
use goose_extension::{
    AnyhowResult, CallContext, Extension, JsonObject, Tool, ToolError, ToolOutput, ToolResult,
};
use goose_mcp_bridge::{HttpOptions, HttpServer, serve};
use serde_json::Value;

use super::requests::CurrentTask;
use crate::rpc::Peer;

/// The name of the server, as the agent sees it.
pub(super) const NAME: &str = "goose";

/// The bytes of the secret in the address.
const SECRET_BYTES: usize = 16;

/// Tools that an agent can call while it works on a task.
struct SessionTools {
    tools: Vec<Tool>,
    current: Arc<CurrentTask>,
    agent: Peer,
}

/// Serves the tools on this machine, at an address that only the agent knows. The server ends when it is dropped.
pub(super) async fn serve_tools(
    tools: Vec<Tool>,
    current: Arc<CurrentTask>,
    agent: Peer,
) -> Result<HttpServer, AgentError> {
    let failed = |why: &dyn std::fmt::Display| {
        AgentError::Failed(format!("The session's tools cannot be served: {why}."))
    };
    let mut secret = [0; SECRET_BYTES];
    getrandom::fill(&mut secret).map_err(|error| failed(&error))?;
    let secret: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let options = HttpOptions { path: format!("/{secret}"), ..HttpOptions::default() };
    let served = serve(SessionTools { tools, current, agent }).http(options).await;
    served.map_err(|error| failed(&error))
}

#[async_trait]
impl Extension for SessionTools {
    fn name(&self) -> &str {
        NAME
    }

    fn description(&self) -> &str {
        "Services of the goose session that has given you the task"
    }

    fn instructions(&self) -> &str {
        ""
    }

    fn tools(&self) -> &[Tool] {
        &self.tools
    }

    async fn status(&self) -> AnyhowResult<HashMap<String, Value>> {
        Ok(HashMap::new())
    }

    async fn call_tool(&self, tool: &str, parameters: HashMap<String, Value>) -> ToolResult<Value> {
        self.call(tool, parameters.into_iter().collect(), &CallContext::new()).await?.into_value()
    }

    // The session checks the arguments, with its own texts for the model.
    async fn call(&self, tool: &str, arguments: JsonObject, context: &CallContext) -> ToolResult<ToolOutput> {
        let Some(host) = self.current.host() else {
            return Err(ToolError::execution("No task is being worked on, so nothing is run. Wait for one."));
        };
        // The agent is silent while it waits.
        let _open = self.agent.begin_request();
        let cancellation = context.cancellation().cloned().unwrap_or_default();
        host.call_tool(tool, arguments, &cancellation).await
    }
}
