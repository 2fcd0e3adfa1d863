//! An MCP server as an extension: [`connect`] gives a [`RemoteExtension`].
//!
//! - `connect`: where the server is and how to greet it;
//! - `request`: one request, through as many rounds as it takes; `listing`: whole lists;
//! - `routes`: which call a message belongs to; `handler`: what the server asks; `news`: what it announces.

mod connect;
mod handler;
mod listing;
mod news;
mod request;
mod routes;

use std::{collections::HashMap, sync::Arc, time::Duration};

use async_trait::async_trait;
pub use connect::{ConnectOptions, Lifecycle, Target, connect};
use handler::ClientSide;
use news::News;
use request::{Answers, Carried, converse, failure};
use rmcp::{
    Peer, RoleClient, ServiceError,
    model::{
        CallToolRequest, CallToolRequestParams, ClientRequest, CompleteRequestParams, CompletionInfo,
        ErrorCode, GetPromptRequest, GetPromptRequestParams, GetPromptResult, Prompt, ReadResourceRequest,
        ReadResourceRequestParams, ResourceTemplate, ServerResult, SubscriptionFilter,
    },
    service::RunningService,
};
use routes::Routes;
use serde_json::{Value, json};
use tokio::process::Child;
use tokio_util::sync::CancellationToken;

use crate::{
    arguments,
    changes::ChangeFeed,
    context::CallContext,
    error::{AnyhowResult, ToolError, ToolResult},
    extension::{Extension, Features},
    output::{Resource, ResourceContents, ToolOutput},
    questions::LogLevel,
    registry::unknown_tool,
    tool::{JsonObject, Tool},
};

/// A connection, shared by all snapshots of its extension.
struct Connection {
    name: String,
    options: ConnectOptions,
    service: RunningService<RoleClient, ClientSide>,
    /// What the server was told at the start that we can answer.
    declared: Answers,
    child: Option<Child>,
    feed: ChangeFeed,
    watches: news::Watches,
    news: Arc<News>,
    routes: Arc<Routes>,
    ends: CancellationToken,
}

impl Connection {
    fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    fn is_new_wire(&self) -> bool {
        self.peer().peer_info().is_some_and(|info| !info.protocol_version.has_initialize())
    }

    /// The list changes that the server says it reports.
    fn list_filter(&self) -> SubscriptionFilter {
        let mut filter = SubscriptionFilter::new();
        let Some(info) = self.peer().peer_info() else { return filter };
        let capabilities = &info.capabilities;
        filter.tools_list_changed = capabilities.tools.as_ref().and_then(|tools| tools.list_changed);
        filter.prompts_list_changed = capabilities.prompts.as_ref().and_then(|prompts| prompts.list_changed);
        filter.resources_list_changed =
            capabilities.resources.as_ref().and_then(|resources| resources.list_changed);
        filter
    }

    fn failure(&self, what: &str) -> impl FnOnce(ServiceError) -> ToolError {
        move |error| failure(&self.name, what, error)
    }
}

/// How long a server may take to end after its input was closed.
const GRACE: Duration = Duration::from_secs(2);

impl Drop for Connection {
    /// Closes the server's input; a child that does not end by itself then is killed.
    fn drop(&mut self) {
        self.ends.cancel();
        if let (Some(mut child), Ok(runtime)) = (self.child.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move {
                if tokio::time::timeout(GRACE, child.wait()).await.is_err()
                    && let Err(error) = child.kill().await
                {
                    tracing::warn!(%error, "a server could not be ended");
                }
            });
        }
    }
}

#[expect(deprecated, reason = "MCP 2026-07-28 deprecates logging; all older peers use it")]
async fn set_level(connection: &Connection, level: LogLevel) -> Result<(), ServiceError> {
    let params = rmcp::model::SetLevelRequestParams::new(level.into_mcp());
    connection.peer().set_level(params).await
}

/// What a server said about itself at some time.
struct Listing {
    description: String,
    version: String,
    instructions: String,
    tools: Vec<Tool>,
}

impl Listing {
    async fn read(peer: &Peer<RoleClient>, name: &str) -> ToolResult<Self> {
        let info = peer.peer_info();
        let server = info.as_ref().and_then(|info| info.server_info.clone());
        let offers_tools = info.as_ref().is_none_or(|info| info.capabilities.tools.is_some());
        let tools = if offers_tools { list_tools(peer, name).await? } else { Vec::new() };
        Ok(Self {
            description: server.as_ref().and_then(|server| server.description.clone()).unwrap_or_default(),
            version: server.map(|server| server.version).unwrap_or_default(),
            instructions: info.and_then(|info| info.instructions.clone()).unwrap_or_default(),
            tools,
        })
    }
}

/// A server as an extension: a snapshot of its tools over a shared connection.
pub struct RemoteExtension {
    connection: Arc<Connection>,
    listing: Arc<Listing>,
}

impl RemoteExtension {
    /// The MCP version that was agreed on.
    pub fn protocol_version(&self) -> Option<String> {
        self.connection.peer().peer_info().map(|info| info.protocol_version.to_string())
    }

    /// Whether the server is still there.
    pub fn is_connected(&self) -> bool {
        !self.connection.peer().is_transport_closed()
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
        arguments::check_caps(tool_name, &mut arguments)?;
        let result = converse(&self.connection, tool_name, context, |carried| {
            let mut params =
                CallToolRequestParams::new(tool_name.to_owned()).with_arguments(arguments.clone());
            Carried { responses: params.input_responses, state: params.request_state } = carried;
            ClientRequest::CallToolRequest(CallToolRequest::new(params))
        });
        match result.await? {
            ServerResult::CallToolResult(result) => Ok(ToolOutput::from_mcp(result).within_cap()),
            _ => Err(self.unexpected("tools/call")),
        }
    }

    fn unexpected(&self, method: &str) -> ToolError {
        failure(&self.connection.name, method, ServiceError::UnexpectedResponse)
    }
}

async fn list_tools(peer: &Peer<RoleClient>, name: &str) -> ToolResult<Vec<Tool>> {
    let tools = listing::all("tools", async |page| {
        let result = peer.list_tools(page).await.map_err(|error| failure(name, "tools/list", error))?;
        Ok((result.tools, result.next_cursor))
    });
    Ok(tools.await?.into_iter().map(Tool::from_mcp).collect())
}

/// Some servers announce a list and then do not have it: that costs the list, not the extension.
fn lacking<T>(result: ToolResult<Vec<T>>) -> ToolResult<Vec<T>> {
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
        Ok(crate::hashmap! {
            "connected" => json!(self.is_connected()),
            "protocol" => json!(self.protocol_version()),
            "tools" => json!(self.listing.tools.len()),
        })
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
        self.call_remote(tool_name, arguments, context).await.or_else(ToolOutput::from_error)
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
            let result =
                connection.peer().list_resources(page).await.map_err(connection.failure("resources/list"))?;
            Ok((result.resources, result.next_cursor))
        });
        lacking(resources.await)
    }

    async fn list_resource_templates(&self) -> ToolResult<Vec<ResourceTemplate>> {
        let templates = listing::all("resource templates", async |page| {
            let connection = &self.connection;
            let result = connection
                .peer()
                .list_resource_templates(page)
                .await
                .map_err(connection.failure("resources/templates/list"))?;
            Ok((result.resource_templates, result.next_cursor))
        });
        lacking(templates.await)
    }

    async fn read_resource(&self, uri: &str, context: &CallContext) -> ToolResult<Vec<ResourceContents>> {
        let result = converse(&self.connection, uri, context, |carried| {
            let mut params = ReadResourceRequestParams::new(uri);
            Carried { responses: params.input_responses, state: params.request_state } = carried;
            ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
        });
        match result.await? {
            ServerResult::ReadResourceResult(result) => Ok(result.contents),
            _ => Err(self.unexpected("resources/read")),
        }
    }

    #[expect(deprecated, reason = "the older wire subscribes this way")]
    async fn subscribe(&self, uri: &str) -> ToolResult<()> {
        let connection = &self.connection;
        if !connection.is_new_wire() {
            let params = rmcp::model::SubscribeRequestParams::new(uri);
            let result = connection.peer().subscribe(params).await;
            return result.map_err(connection.failure("resources/subscribe"));
        }
        if connection.watches.contains(uri) {
            return Ok(());
        }
        let mut filter = SubscriptionFilter::new();
        filter.resource_subscriptions = Some(vec![uri.to_owned()]);
        let stream = news::Stream::open(connection.peer().clone(), filter).await;
        let stream = stream.map_err(connection.failure("subscriptions/listen"))?;
        let (watch, news) = (connection.watches.begin(uri, &connection.ends), Arc::clone(&connection.news));
        tokio::spawn(async move {
            watch.run_until_cancelled(stream.run(news)).await;
        });
        Ok(())
    }

    #[expect(deprecated, reason = "the older wire unsubscribes this way")]
    async fn unsubscribe(&self, uri: &str) -> ToolResult<()> {
        let connection = &self.connection;
        if !connection.is_new_wire() {
            let params = rmcp::model::UnsubscribeRequestParams::new(uri);
            let result = connection.peer().unsubscribe(params).await;
            return result.map_err(connection.failure("resources/unsubscribe"));
        }
        connection.watches.end(uri);
        Ok(())
    }

    async fn list_prompts(&self) -> ToolResult<Vec<Prompt>> {
        let prompts = listing::all("prompts", async |page| {
            let connection = &self.connection;
            let result =
                connection.peer().list_prompts(page).await.map_err(connection.failure("prompts/list"))?;
            Ok((result.prompts, result.next_cursor))
        });
        lacking(prompts.await)
    }

    async fn get_prompt(
        &self,
        name: &str,
        arguments: JsonObject,
        context: &CallContext,
    ) -> ToolResult<GetPromptResult> {
        let result = converse(&self.connection, name, context, |carried| {
            let mut params = GetPromptRequestParams::new(name).with_arguments(arguments.clone());
            Carried { responses: params.input_responses, state: params.request_state } = carried;
            ClientRequest::GetPromptRequest(GetPromptRequest::new(params))
        });
        match result.await? {
            ServerResult::GetPromptResult(result) => Ok(result),
            _ => Err(self.unexpected("prompts/get")),
        }
    }

    async fn complete(&self, request: CompleteRequestParams) -> ToolResult<CompletionInfo> {
        let connection = &self.connection;
        let result =
            connection.peer().complete(request).await.map_err(connection.failure("completion/complete"))?;
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
