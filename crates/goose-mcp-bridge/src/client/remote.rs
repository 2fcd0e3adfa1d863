//! [`RemoteExtension`]: a server as an extension.

use std::{collections::HashMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use goose_extension::{
    AnyhowResult, CallContext, ChangeFeed, CheckedArguments, Extension, Features, JsonObject, Resource,
    ResourceContents, Tool, ToolError, ToolOutput, ToolResult,
    adapter::{check_caps, unknown_tool},
};
use rmcp::{
    ServiceError,
    model::{
        CallToolRequest, CallToolRequestParams, ClientRequest, CompleteRequestParams, CompletionInfo,
        ErrorCode, GetPromptRequest, GetPromptRequestParams, GetPromptResult, Prompt, ReadResourceRequest,
        ReadResourceRequestParams, ResourceTemplate, ServerResult,
    },
};
use serde_json::{Value, json};

use super::{
    child_process::Program,
    connection::{self, Connection},
    errors::failure,
    listing::{self, DroppedTool, Listing},
    options::Lifecycle,
    request::{self, RoundState, send_with_rounds},
    sanitize,
};
use crate::stdio_transport::LineFaults;

/// A server as an extension: a snapshot of its tools over a shared connection.
pub struct RemoteExtension {
    pub(super) connection: Arc<Connection>,
    pub(super) listing: Arc<Listing>,
}

impl RemoteExtension {
    /// Returns the negotiated MCP version.
    pub fn protocol_version(&self) -> Option<String> {
        self.connection.peer().peer_info().map(|info| info.protocol_version.to_string())
    }

    /// Returns whether the connection is open.
    pub fn is_connected(&self) -> bool {
        !self.connection.peer().is_transport_closed()
    }

    /// Returns the handshake that succeeded: the one in [`ConnectOptions`](super::ConnectOptions), or
    /// `initialize` if the server did not understand that one.
    pub fn lifecycle(&self) -> Lifecycle {
        self.connection.options.lifecycle
    }

    /// Waits until the connection ends. Does not keep the extension alive.
    pub fn closed(&self) -> impl Future<Output = ()> + Send + 'static {
        self.connection.routes.closed().cancelled_owned()
    }

    /// Returns the last standard error output of a program; empty for other servers.
    pub fn stderr_tail(&self) -> String {
        self.connection.program.as_ref().map(Program::stderr).unwrap_or_default()
    }

    /// Describes why the connection has ended, with the exit code and last output of a program.
    pub async fn exit_report(&self) -> String {
        let lost =
            ToolError::Disconnected(format!("The connection to `{}` has ended.", self.connection.name));
        self.connection.explain(lost).await.to_string()
    }

    /// Closes the connection of this snapshot and all others; their calls fail with
    /// [`ToolError::Disconnected`]. A program has a moment to exit, then it is killed with its children. No
    /// process is left when this returns. Continues in the background if it is dropped.
    pub async fn stop(&self) {
        let connection = Arc::clone(&self.connection);
        let stopping = tokio::spawn(async move { connection.stop().await });
        if let Err(error) = stopping.await {
            tracing::warn!(%error, server = self.connection.name, "a server could not be stopped cleanly");
        }
    }

    /// Returns the tools that cannot be used. If there are very many, the last entry counts the rest.
    pub fn dropped_tools(&self) -> &[DroppedTool] {
        &self.listing.dropped
    }

    /// Returns the tools of the newest snapshot that cannot be used.
    pub fn dropped_tools_now(&self) -> Vec<DroppedTool> {
        self.connection.dropped.lock().clone()
    }

    /// Returns whether the server is a program that we started.
    pub fn is_program(&self) -> bool {
        self.connection.program.is_some()
    }

    /// Measures the server's response time.
    ///
    /// # Errors
    ///
    /// [`ToolError::Timeout`] after `limit`, [`ToolError::Disconnected`] if the connection has ended.
    pub async fn ping(&self, limit: Duration) -> ToolResult<Duration> {
        request::ping(&self.connection, limit).await
    }

    /// Returns the counters of unusable lines; `None` if the transport is not line-based.
    pub fn line_faults(&self) -> Option<Arc<LineFaults>> {
        self.connection.routes.faults()
    }

    async fn call_remote(
        &self,
        tool_name: &str,
        mut arguments: JsonObject,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        if !self.listing.tools.iter().any(|tool| tool.name() == tool_name) {
            return Err(unknown_tool(tool_name, &self.listing.tools));
        }
        check_caps(tool_name, &mut arguments)?;
        let make = |carried| {
            let mut params =
                CallToolRequestParams::new(tool_name.to_owned()).with_arguments(arguments.clone());
            RoundState { responses: params.input_responses, state: params.request_state } = carried;
            ClientRequest::CallToolRequest(CallToolRequest::new(params))
        };
        match send_with_rounds(&self.connection, tool_name, context, make).await? {
            ServerResult::CallToolResult(result) => {
                Ok(ToolOutput::from_mcp(sanitize::result(result)).within_cap())
            }
            _ => Err(self.unexpected("tools/call")),
        }
    }

    fn unexpected(&self, method: &str) -> ToolError {
        failure(&self.connection.name, method, ServiceError::UnexpectedResponse)
    }
}

/// Returns an empty list if the server declares a list but does not implement it, as some servers do.
fn or_empty<T>(result: ToolResult<Vec<T>>) -> ToolResult<Vec<T>> {
    match result {
        Err(ToolError::NotFound(_)) => Ok(Vec::new()),
        Err(ToolError::Protocol(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => Ok(Vec::new()),
        other => other,
    }
}

#[async_trait]
impl Extension for RemoteExtension {
    fn name(&self) -> &str {
        &self.connection.name
    }

    fn description(&self) -> &str {
        &self.listing.description
    }

    fn instructions(&self) -> &str {
        &self.listing.instructions
    }

    fn version(&self) -> &str {
        &self.listing.version
    }

    fn tools(&self) -> &[Tool] {
        &self.listing.tools
    }

    async fn status(&self) -> AnyhowResult<HashMap<String, Value>> {
        Ok(goose_extension::hashmap! {
            "connected" => json!(self.is_connected()),
            "protocol" => json!(self.protocol_version()),
            "tools" => json!(self.listing.tools.len()),
        })
    }

    async fn call_tool(&self, tool_name: &str, parameters: HashMap<String, Value>) -> ToolResult<Value> {
        self.call(tool_name, parameters.into_iter().collect(), &CallContext::new()).await?.into_value()
    }

    // The server checks the arguments of a direct call.
    async fn call(
        &self,
        tool_name: &str,
        arguments: JsonObject,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        self.call_remote(tool_name, arguments, context).await.or_else(ToolOutput::from_error)
    }

    async fn call_checked(
        &self,
        tool_name: &str,
        arguments: CheckedArguments,
        context: &CallContext,
    ) -> ToolResult<ToolOutput> {
        self.call(tool_name, arguments.into_object(), context).await
    }

    fn features(&self) -> Features {
        let Some(info) = self.connection.peer().peer_info() else { return Features::default() };
        let capabilities = &info.capabilities;
        Features {
            resources: capabilities.resources.is_some(),
            subscriptions: capabilities.resources.as_ref().is_some_and(|it| it.subscribe == Some(true)),
            prompts: capabilities.prompts.is_some(),
            completions: capabilities.completions.is_some(),
        }
    }

    fn changes(&self) -> Option<&ChangeFeed> {
        Some(&self.connection.feed)
    }

    async fn list_resources(&self) -> ToolResult<Vec<Resource>> {
        let resources = listing::all("resources", async |page| {
            let connection = &self.connection;
            let result = connection.bounded("resources/list", connection.peer().list_resources(page)).await?;
            Ok((result.resources, result.next_cursor))
        });
        or_empty(resources.await)
    }

    async fn list_resource_templates(&self) -> ToolResult<Vec<ResourceTemplate>> {
        let templates = listing::all("resource templates", async |page| {
            let connection = &self.connection;
            let result = connection
                .bounded("resources/templates/list", connection.peer().list_resource_templates(page))
                .await?;
            Ok((result.resource_templates, result.next_cursor))
        });
        or_empty(templates.await)
    }

    async fn read_resource(&self, uri: &str, context: &CallContext) -> ToolResult<Vec<ResourceContents>> {
        let result = send_with_rounds(&self.connection, uri, context, |carried| {
            let mut params = ReadResourceRequestParams::new(uri);
            RoundState { responses: params.input_responses, state: params.request_state } = carried;
            ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
        });
        match result.await? {
            ServerResult::ReadResourceResult(result) => {
                Ok(result.contents.into_iter().map(sanitize::contents).collect())
            }
            _ => Err(self.unexpected("resources/read")),
        }
    }

    async fn subscribe(&self, uri: &str) -> ToolResult<()> {
        connection::add_subscriber(&self.connection, uri).await
    }

    async fn unsubscribe(&self, uri: &str) -> ToolResult<()> {
        connection::remove_subscriber(&self.connection, uri).await
    }

    async fn list_prompts(&self) -> ToolResult<Vec<Prompt>> {
        let prompts = listing::all("prompts", async |page| {
            let connection = &self.connection;
            let result = connection.bounded("prompts/list", connection.peer().list_prompts(page)).await?;
            Ok((result.prompts, result.next_cursor))
        });
        or_empty(prompts.await)
    }

    async fn get_prompt(
        &self,
        name: &str,
        arguments: JsonObject,
        context: &CallContext,
    ) -> ToolResult<GetPromptResult> {
        let result = send_with_rounds(&self.connection, name, context, |carried| {
            let mut params = GetPromptRequestParams::new(name).with_arguments(arguments.clone());
            RoundState { responses: params.input_responses, state: params.request_state } = carried;
            ClientRequest::GetPromptRequest(GetPromptRequest::new(params))
        });
        match result.await? {
            ServerResult::GetPromptResult(result) => Ok(sanitize::prompt(result)),
            _ => Err(self.unexpected("prompts/get")),
        }
    }

    async fn complete(&self, request: CompleteRequestParams) -> ToolResult<CompletionInfo> {
        let connection = &self.connection;
        let result = connection.bounded("completion/complete", connection.peer().complete(request)).await?;
        Ok(result.completion)
    }
}

impl std::fmt::Debug for RemoteExtension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteExtension")
            .field("name", &self.connection.name)
            .field("protocol", &self.protocol_version())
            .field("tools", &self.listing.tools.len())
            .finish_non_exhaustive()
    }
}
