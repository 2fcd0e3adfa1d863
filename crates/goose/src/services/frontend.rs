//! Tools that the user interface runs (`type: frontend`).

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use goose_extension::{
    AnyhowResult, CallContext, CheckedArguments, Extension, JsonObject, Tool, ToolError, ToolOutput,
    ToolResult,
};
use serde_json::{Value, json};

use crate::config::{ExtensionConfig, ExtensionKind};

/// A user interface that runs tools.
#[async_trait]
pub trait Frontend: Send + Sync {
    /// Runs a tool; its arguments fit its schema.
    ///
    /// # Errors
    ///
    /// The failure, for the model.
    async fn run(
        &self,
        extension: &str,
        tool: &str,
        arguments: JsonObject,
        context: &CallContext,
    ) -> ToolResult<ToolOutput>;
}

/// The tools of a `frontend` entry.
pub(crate) struct FrontendExtension {
    name: String,
    description: String,
    instructions: String,
    tools: Vec<Tool>,
    frontend: Option<Arc<dyn Frontend>>,
}

impl FrontendExtension {
    /// The extension of a `frontend` entry; `None` for entries of other types. It has tools only where a user interface is
    /// attached that runs them. Tools that MCP cannot read are left out.
    pub(crate) fn new(config: &ExtensionConfig, frontend: Option<Arc<dyn Frontend>>) -> Option<Self> {
        let ExtensionKind::Frontend { tools, instructions } = &config.kind else { return None };
        Some(Self {
            name: config.key(),
            description: config.description().to_owned(),
            instructions: instructions.clone().unwrap_or_default(),
            tools: match frontend.is_some() {
                true => tools.iter().filter_map(|tool| read_tool(config.name(), tool)).collect(),
                false => Vec::new(),
            },
            frontend,
        })
    }
}

fn read_tool(extension: &str, tool: &Value) -> Option<Tool> {
    match serde_json::from_value(tool.clone()) {
        Ok(tool) => Some(Tool::from_mcp(tool)),
        Err(error) => {
            tracing::warn!(extension, %error, "a tool of the user interface could not be read");
            None
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
        Ok(HashMap::from([("attached".to_owned(), json!(self.frontend.is_some()))]))
    }

    async fn call_tool(&self, tool_name: &str, parameters: HashMap<String, Value>) -> ToolResult<Value> {
        self.call(tool_name, parameters.into_iter().collect(), &CallContext::new()).await?.into_value()
    }

    async fn call(
        &self,
        tool_name: &str,
        arguments: JsonObject,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        let Some(tool) = self.tools.iter().find(|tool| tool.name() == tool_name) else {
            return Err(ToolError::NotFound(format!("`{}` has no tool `{tool_name}`.", self.name)));
        };
        let arguments = tool.validate(arguments)?;
        self.call_checked(tool_name, arguments, context).await
    }

    async fn call_checked(
        &self,
        tool_name: &str,
        arguments: CheckedArguments,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        match &self.frontend {
            Some(frontend) => frontend.run(&self.name, tool_name, arguments.into_object(), context).await,
            None => Ok(ToolOutput::error(format!(
                "`{tool_name}` runs in a user interface, and none is attached. Do without it."
            ))),
        }
    }
}
