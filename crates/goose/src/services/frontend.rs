//! Tools that the user interface runs (`type: frontend`).

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use goose_extension::{
    CallContext, JsonObject, RegistryExtension, Tool, ToolDef, ToolOutput, ToolResult, hashmap,
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

/// A tool of a `frontend` entry.
struct FrontendTool {
    extension: String,
    name: String,
    frontend: Arc<dyn Frontend>,
}

impl FrontendTool {
    fn run<'a>(
        &'a self,
        arguments: JsonObject,
        context: &'a CallContext,
    ) -> BoxFuture<'a, ToolResult<ToolOutput>> {
        self.frontend.run(&self.extension, &self.name, arguments, context)
    }
}

/// The extension of a `frontend` entry; `None` for entries of other types. It has tools only where a user interface is
/// attached that runs them. Tools that MCP cannot read are left out.
pub(crate) fn frontend_extension(
    config: &ExtensionConfig,
    frontend: Option<Arc<dyn Frontend>>,
) -> Option<RegistryExtension> {
    let ExtensionKind::Frontend { tools, instructions } = &config.kind else { return None };
    let is_attached = frontend.is_some();
    let extension = RegistryExtension::new(config.key(), config.description())
        .with_instructions(instructions.clone().unwrap_or_default())
        .with_status(move || hashmap! { "attached" => json!(is_attached) });
    let Some(frontend) = frontend else { return Some(extension) };
    let tools = tools.iter().filter_map(|tool| read_tool(config.name(), tool));
    Some(tools.fold(extension, |extension, tool| {
        let (name, frontend) = (tool.name().to_owned(), Arc::clone(&frontend));
        let owner = FrontendTool { extension: config.key(), name, frontend };
        extension.with_tool(&Arc::new(owner), ToolDef::new(tool, FrontendTool::run))
    }))
}

fn read_tool(extension: &str, tool: &Value) -> Option<Tool> {
    match serde_json::from_value(tool.clone()) {
        Ok(tool) => Some(tool),
        Err(error) => {
            tracing::warn!(extension, %error, "a tool of the user interface could not be read");
            None
        }
    }
}
