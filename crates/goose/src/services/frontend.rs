//! [`Frontend`]: a user interface that runs the tools of `frontend` extensions.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use goose_extension::{
    AnyhowResult, CallContext, Extension, JsonObject, Tool, ToolError, ToolOutput, ToolResult,
};
use serde_json::Value;

use crate::config::ExtensionConfig;

/// User interface with tools of its own.
#[async_trait]
pub trait Frontend: Send + Sync {
    /// Runs a tool of a `frontend` extension. Dropping the future cancels the call.
    ///
    /// # Errors
    ///
    /// Fails if the user interface cannot run it.
    async fn call(&self, extension: &str, tool: &str, arguments: JsonObject) -> ToolResult<ToolOutput>;
}

/// A `frontend` extension whose user interface is attached.
pub(super) struct FrontendExtension {
    name: String,
    description: String,
    instructions: String,
    tools: Vec<Tool>,
    frontend: Arc<dyn Frontend>,
}

impl FrontendExtension {
    /// Creates the extension. Tools whose description cannot be read are left out.
    pub(super) fn new(
        config: &ExtensionConfig,
        tools: &[Value],
        instructions: Option<&String>,
        frontend: Arc<dyn Frontend>,
    ) -> Self {
        let read = |tool: &Value| match serde_json::from_value::<Tool>(tool.clone()) {
            Ok(tool) => Some(tool),
            Err(error) => {
                tracing::warn!(extension = config.name(), %error, "a tool of a user interface is left out");
                None
            }
        };
        Self {
            name: config.key(),
            description: config.description().to_owned(),
            instructions: instructions.cloned().unwrap_or_default(),
            tools: tools.iter().filter_map(read).collect(),
            frontend,
        }
    }
}

#[async_trait]
impl Extension for FrontendExtension {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn instructions(&self) -> &str {
        &self.instructions
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

    async fn call(&self, tool: &str, arguments: JsonObject, context: &CallContext) -> ToolResult<ToolOutput> {
        tokio::select! {
            biased;
            () = context.cancelled() => Err(ToolError::Cancelled("The call was cancelled.".to_owned())),
            output = self.frontend.call(&self.name, tool, arguments) => output,
        }
    }
}
