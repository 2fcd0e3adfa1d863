//! [`Extension`]: anything an agent can operate.
//!
//! The first six methods are the author's interface. The rest is provided, for services that need more; an
//! extension implements what it has. `#[extension]` writes most of it.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use rmcp::model::{CompleteRequestParams, CompletionInfo, GetPromptResult, Prompt, ResourceTemplate};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    changes::ChangeFeed,
    context::CallContext,
    error::{AnyhowResult, ToolError, ToolResult},
    guard,
    notifier::RichRenderable,
    output::{Resource, ResourceContents, ToolOutput},
    registry::unknown_tool,
    requirements::Offers,
    tool::{CheckedArguments, JsonObject, Tool},
};

/// A component that an agent can operate: it exposes tools and keeps its own state.
#[async_trait]
pub trait Extension: Send + Sync {
    /// The name, unique within an agent.
    fn name(&self) -> &str;

    /// The purpose of the extension, in a sentence.
    fn description(&self) -> &str;

    /// Instructions for the model.
    fn instructions(&self) -> &str;

    /// The tools: an immutable snapshot. A changed list comes as a new extension, see
    /// [`changes`](Self::changes).
    fn tools(&self) -> &[Tool];

    /// The state of the extension, for people.
    ///
    /// # Errors
    ///
    /// Whatever kept the extension from telling its state.
    async fn status(&self) -> AnyhowResult<HashMap<String, Value>>;

    /// Calls a tool and returns its result as one value.
    ///
    /// # Errors
    ///
    /// See [the table of errors](crate::error).
    async fn call_tool(&self, tool_name: &str, parameters: HashMap<String, Value>) -> ToolResult<Value>;

    /// The version shown to MCP clients.
    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    /// The text for the model's prompt: the instructions, or something made from the extension's state.
    fn prompt(&self) -> String {
        self.instructions().to_owned()
    }

    /// Calls a tool with a context and returns its result in full.
    ///
    /// A tool that ran and failed is an *output* with `is_error`; an error means that it was not run. The
    /// provided method checks the arguments against the tool's schema and hands them to
    /// [`call_checked`](Self::call_checked), which is the method to override.
    ///
    /// # Errors
    ///
    /// See [the table of errors](crate::error).
    async fn call(
        &self,
        tool_name: &str,
        arguments: JsonObject,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        let tools = self.tools();
        let Some(tool) = tools.iter().find(|tool| tool.name() == tool_name) else {
            return Err(unknown_tool(tool_name, tools));
        };
        self.call_checked(tool_name, tool.validate(arguments)?, context).await
    }

    /// Calls a tool with checked arguments. Every call of a session arrives here, so arguments are checked once.
    ///
    /// The provided method bounds time and size, and turns a panic into a failure, around
    /// [`call_tool`](Self::call_tool). It checks the arguments again only if they were checked for another schema.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    async fn call_checked(
        &self,
        tool_name: &str,
        arguments: CheckedArguments,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        let tools = self.tools();
        let Some(tool) = tools.iter().find(|tool| tool.name() == tool_name) else {
            return Err(unknown_tool(tool_name, tools));
        };
        let arguments = tool.accept(arguments)?;
        let call =
            async { self.call_tool(tool_name, arguments.into_iter().collect()).await.map(ToolOutput::value) };
        guard::run(tool, context, call).await
    }

    /// Returns what a call would change, such as [`RichRenderable::Diff`], for the person who is asked to allow it;
    /// `None` if the tool cannot tell. Nothing is changed.
    async fn preview(
        &self,
        _tool_name: &str,
        _arguments: CheckedArguments,
        _context: &CallContext,
    ) -> Option<RichRenderable> {
        None
    }

    /// The optional parts that the extension has. Only these are announced to MCP clients.
    fn features(&self) -> Features {
        Features::default()
    }

    /// The time that clients may keep lists.
    fn freshness(&self) -> Freshness {
        Freshness::default()
    }

    /// If changes are announced, for an extension whose tools, resources or prompts can change.
    fn changes(&self) -> Option<&ChangeFeed> {
        None
    }

    /// Offers typed handles to other extensions.
    fn offer(self: Arc<Self>, _offers: &mut Offers) {}

    /// The resources.
    ///
    /// # Errors
    ///
    /// If they cannot be listed now.
    async fn list_resources(&self) -> ToolResult<Vec<Resource>> {
        Ok(Vec::new())
    }

    /// The resource templates.
    ///
    /// # Errors
    ///
    /// If they cannot be listed now.
    async fn list_resource_templates(&self) -> ToolResult<Vec<ResourceTemplate>> {
        Ok(Vec::new())
    }

    /// Reads a resource.
    ///
    /// # Errors
    ///
    /// [`ToolError::ResourceNotFound`] for an unknown URI.
    async fn read_resource(&self, uri: &str, _context: &CallContext) -> ToolResult<Vec<ResourceContents>> {
        Err(unknown_resource(uri))
    }

    /// Someone wants to hear of changes of a resource (announced by [`changes`](Self::changes)).
    ///
    /// # Errors
    ///
    /// [`ToolError::ResourceNotFound`] for an unknown URI.
    async fn subscribe(&self, _uri: &str) -> ToolResult<()> {
        Ok(())
    }

    /// Ends a subscription to changes of a resource.
    ///
    /// # Errors
    ///
    /// If there is no such subscription and the extension minds.
    async fn unsubscribe(&self, _uri: &str) -> ToolResult<()> {
        Ok(())
    }

    /// The prompts.
    ///
    /// # Errors
    ///
    /// If they cannot be listed now.
    async fn list_prompts(&self) -> ToolResult<Vec<Prompt>> {
        Ok(Vec::new())
    }

    /// Fills in a prompt.
    ///
    /// # Errors
    ///
    /// [`ToolError::InvalidParameters`] for an unknown prompt or missing arguments.
    async fn get_prompt(
        &self,
        name: &str,
        _arguments: JsonObject,
        _context: &CallContext,
    ) -> ToolResult<GetPromptResult> {
        Err(unknown_prompt(name))
    }

    /// Completes an argument of a prompt or resource template.
    ///
    /// # Errors
    ///
    /// [`ToolError::InvalidParameters`] for an unknown prompt or template.
    async fn complete(&self, _request: CompleteRequestParams) -> ToolResult<CompletionInfo> {
        Ok(CompletionInfo::default())
    }
}

/// The optional parts of an extension.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Features {
    /// It has resources or resource templates.
    pub resources: bool,
    /// One can subscribe to its resources.
    pub subscriptions: bool,
    /// It has prompts.
    pub prompts: bool,
    /// It completes arguments.
    pub completions: bool,
}

/// Cache hints for clients (`ttlMs`, `cacheScope`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Freshness {
    /// Milliseconds; 0 means ask again each time.
    pub ttl_ms: u64,
    /// True if the answer is the same for everybody.
    pub shared: bool,
}

impl Freshness {
    /// Answers that stay fresh for some time.
    pub fn for_millis(ttl_ms: u64) -> Self {
        Self { ttl_ms, shared: false }
    }

    /// Answers that are the same for everybody.
    pub fn shared(mut self) -> Self {
        self.shared = true;
        self
    }
}

/// The error for a resource that does not exist.
pub fn unknown_resource(uri: &str) -> ToolError {
    ToolError::ResourceNotFound(format!(
        "There is no resource `{uri}`. List the resources to see what there is."
    ))
}

pub(crate) fn unknown_prompt(name: &str) -> ToolError {
    ToolError::InvalidParameters(format!(
        "There is no prompt `{name}`. List the prompts to see what there is."
    ))
}
