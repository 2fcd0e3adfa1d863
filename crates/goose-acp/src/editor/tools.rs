//! [`EditorTools`]: tools that run in the editor, as `frontend` extensions. The protocol has no place for them; its
//! extensions do: an editor declares `_meta.goose.tools` among its capabilities, gives tools in MCP's form as
//! `_meta.goose.tools` of a new session, and answers `_goose/call_tool` with a result in MCP's form.

use std::sync::Arc;

use async_trait::async_trait;
use goose::{config::ExtensionConfig, services::Frontend};
use goose_extension::{ContentBlock, JsonObject, ToolError, ToolOutput, ToolResult};
use serde_json::{Value, json};

use super::client::Client;

/// Name of the extension with the tools that an editor gives to a session.
const NAME: &str = "editor";

/// Maximum number of tools that an editor gives to a session.
const MAX_TOOLS: usize = 256;

/// Runs tools in the editor.
pub(super) struct EditorTools {
    pub(super) client: Arc<Client>,
    pub(super) session: String,
}

#[async_trait]
impl Frontend for EditorTools {
    async fn call(&self, extension: &str, tool: &str, arguments: JsonObject) -> ToolResult<ToolOutput> {
        let params = json!({
            "sessionId": self.session, "extension": extension, "name": tool, "arguments": arguments,
        });
        let answer = self.client.ask("_goose/call_tool", params).await.map_err(ToolError::execution)?;
        let content = answer.get("content").cloned().unwrap_or_else(|| json!([]));
        let content: Vec<ContentBlock> = serde_json::from_value(content)
            .map_err(|error| ToolError::execution(format!("The editor's answer cannot be read: {error}")))?;
        let mut output = ToolOutput::text("");
        output.content = content;
        output.structured = answer.get("structuredContent").cloned();
        output.is_error = answer.get("isError") == Some(&Value::Bool(true));
        Ok(output)
    }
}

/// Reads the tools that an editor gives to a new session.
///
/// # Errors
///
/// Fails with the reason if they cannot be used.
pub(super) fn read(params: &Value) -> Result<Option<ExtensionConfig>, String> {
    let given = params.pointer("/_meta/goose/tools").and_then(Value::as_array);
    let Some(tools) = given.filter(|tools| !tools.is_empty()) else { return Ok(None) };
    if tools.len() > MAX_TOOLS {
        return Err(format!("the editor gives {} tools; a session has at most {MAX_TOOLS}", tools.len()));
    }
    let config = ExtensionConfig::frontend(NAME, tools.clone()).with_description("Tools of the editor");
    config.check().map_err(|error| format!("the editor's tools cannot be used: {error}"))?;
    Ok(Some(config))
}
