//! The MCP methods of a server.

#![expect(deprecated, reason = "MCP 2026-07-28 deprecates logging; all older peers use it")]

use std::sync::atomic::Ordering;

use goose_extension::{Freshness, LogLevel, ToolError, ToolOutput, adapter::catch};
use rmcp::{
    RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
        CompletionInfo, CustomRequest, CustomResult, ErrorCode, ErrorData, GetPromptRequestParams,
        GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult,
        ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
        ReadResourceResponse, ReadResourceResult, ResultType, ServerConfig, SetLevelRequestMethod,
        SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde_json::json;

use super::{
    ExtensionServer, notifications,
    request_scope::{Outcome, is_new_wire},
};

type McpResult<T> = Result<T, ErrorData>;

fn cache(freshness: Freshness) -> (Option<u64>, Option<CacheScope>) {
    let scope = if freshness.shared { CacheScope::Public } else { CacheScope::Private };
    (Some(freshness.ttl_ms), Some(scope))
}

/// Methods that exist. rmcp reports a request as custom if its parameters cannot be read, so that a wrong
/// parameter looks like an unknown method.
const KNOWN_METHODS: [&str; 8] = [
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
];

/// Methods that exist on the older wire only.
const OLDER_METHODS: [&str; 3] = ["logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

impl ServerHandler for ExtensionServer {
    fn get_info(&self) -> ServerConfig {
        let extension = self.extension();
        let mut implementation = Implementation::new(extension.name(), extension.version());
        implementation.description = Some(extension.description().to_owned()).filter(|text| !text.is_empty());
        let mut config = ServerConfig::new(self.capabilities()).with_server_info(implementation);
        config.instructions = Some(extension.prompt()).filter(|text| !text.is_empty());
        config
    }

    fn get_tool(&self, name: &str) -> Option<rmcp::model::Tool> {
        self.extension().tools().iter().find(|tool| tool.name() == name).map(|tool| tool.to_mcp())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> McpResult<ListToolsResult> {
        let extension = self.extension();
        let tools = extension.tools().iter().map(|tool| tool.to_mcp()).collect();
        let (tools, next_cursor) = self.page(tools, request.as_ref(), |tool| &tool.name)?;
        let (ttl_ms, cache_scope) = cache(extension.freshness());
        Ok(ListToolsResult { next_cursor, ttl_ms, cache_scope, ..ListToolsResult::with_all_items(tools) })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> McpResult<CallToolResponse> {
        let arguments = request.arguments.unwrap_or_default();
        let identity = ("tools/call", &request.name, &arguments);
        let scope =
            self.scope(context, &identity, request.request_state.as_deref(), request.input_responses)?;
        let (extension, call) = (self.extension(), scope.context.clone());
        let ended = scope
            .run(&self.shared.codec, &request.name, extension.call(&request.name, arguments, &call))
            .await?;
        Ok(match ended {
            Outcome::Done(output) => CallToolResponse::Complete(ToolOutput::into_mcp(output)),
            Outcome::InputRequired(questions) => CallToolResponse::InputRequired(questions),
        })
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> McpResult<ListResourcesResult> {
        let extension = self.extension();
        let resources = catch("resources/list", extension.list_resources()).await?;
        let (resources, next_cursor) = self.page(resources, request.as_ref(), |resource| &resource.uri)?;
        let (ttl_ms, cache_scope) = cache(extension.freshness());
        let result = ListResourcesResult::with_all_items(resources);
        Ok(ListResourcesResult { next_cursor, ttl_ms, cache_scope, ..result })
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> McpResult<ListResourceTemplatesResult> {
        let extension = self.extension();
        let templates = catch("resources/templates/list", extension.list_resource_templates()).await?;
        let (templates, next_cursor) =
            self.page(templates, request.as_ref(), |template| &template.uri_template)?;
        let (ttl_ms, cache_scope) = cache(extension.freshness());
        let result = ListResourceTemplatesResult::with_all_items(templates);
        Ok(ListResourceTemplatesResult { next_cursor, ttl_ms, cache_scope, ..result })
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> McpResult<ReadResourceResponse> {
        let identity = ("resources/read", &request.uri);
        let scope =
            self.scope(context, &identity, request.request_state.as_deref(), request.input_responses)?;
        let (extension, call) = (self.extension(), scope.context.clone());
        let read = async {
            extension.read_resource(&request.uri, &call).await.map_err(|e| with_uri(e, &request.uri))
        };
        let ended = scope.run(&self.shared.codec, &request.uri, read).await?;
        Ok(match ended {
            Outcome::Done(contents) => {
                // No freshness: contents may change at any time, and may depend on the client.
                ReadResourceResponse::Complete(ReadResourceResult::new(contents))
            }
            Outcome::InputRequired(questions) => ReadResourceResponse::InputRequired(questions),
        })
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> McpResult<ListPromptsResult> {
        let extension = self.extension();
        let prompts = catch("prompts/list", extension.list_prompts()).await?;
        let (prompts, next_cursor) = self.page(prompts, request.as_ref(), |prompt| &prompt.name)?;
        let (ttl_ms, cache_scope) = cache(extension.freshness());
        let result = ListPromptsResult::with_all_items(prompts);
        Ok(ListPromptsResult { next_cursor, ttl_ms, cache_scope, ..result })
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> McpResult<GetPromptResponse> {
        let arguments = request.arguments.unwrap_or_default();
        let identity = ("prompts/get", &request.name, &arguments);
        let scope =
            self.scope(context, &identity, request.request_state.as_deref(), request.input_responses)?;
        let (extension, call) = (self.extension(), scope.context.clone());
        let ended = scope
            .run(&self.shared.codec, &request.name, extension.get_prompt(&request.name, arguments, &call))
            .await?;
        Ok(match ended {
            Outcome::Done(mut result) => {
                // A result from an older server lacks the type.
                result.result_type = Some(ResultType::COMPLETE);
                GetPromptResponse::Complete(result)
            }
            Outcome::InputRequired(questions) => GetPromptResponse::InputRequired(questions),
        })
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> McpResult<CompleteResult> {
        let extension = self.extension();
        let mut completion = catch("completion/complete", extension.complete(request)).await?;
        if completion.values.len() > CompletionInfo::MAX_VALUES {
            completion.total = completion.total.or(u32::try_from(completion.values.len()).ok());
            completion.has_more = Some(true);
            completion.values.truncate(CompletionInfo::MAX_VALUES);
        }
        Ok(CompleteResult::new(completion))
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> McpResult<()> {
        if is_new_wire(&context) {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        *self.log_level.lock() = LogLevel::from_mcp(request.level);
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> McpResult<()> {
        let begin = catch(&request.uri, self.watch_list.watch(&request.uri));
        let begun = context.ct.run_until_cancelled(begin).await.unwrap_or(Ok(()));
        Ok(begun.map_err(|error| with_uri(error, &request.uri))?)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> McpResult<()> {
        let end = catch(&request.uri, self.watch_list.unwatch(&request.uri));
        let ended = context.ct.run_until_cancelled(end).await.unwrap_or(Ok(()));
        Ok(ended.map_err(|error| with_uri(error, &request.uri))?)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if self.forwards_changes.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Some(feed) = self.feed() {
            let (watch_list, session) = (self.watch_list.clone(), self.session.clone());
            tokio::spawn(notifications::forward(feed, context.peer, watch_list, session));
        }
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let feed = self.feed()?;
        self.has_streams.store(true, Ordering::Release);
        self.listening.lock().push_back(feed);
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> McpResult<()> {
        let accepted = self.listening.lock().pop_front();
        let Some(feed) = accepted.or_else(|| self.feed()) else { return Ok(()) };
        // A list for this request alone: its watches end with it, also when it is dropped.
        let watch_list = self.shared.watch_list();
        for uri in context.accepted().resource_subscriptions.iter().flatten() {
            tokio::select! {
                begun = catch(uri, watch_list.watch(uri)) => begun.map_err(|error| with_uri(error, uri))?,
                () = context.cancelled() => return Ok(()),
                () = self.session.cancelled() => return Ok(()),
            }
        }
        self.session.run_until_cancelled(notifications::listen(feed, context)).await;
        Ok(())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> McpResult<CustomResult> {
        let method = request.method.as_str();
        let is_known =
            KNOWN_METHODS.contains(&method) || (!is_new_wire(&context) && OLDER_METHODS.contains(&method));
        if !is_known {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None));
        }
        Err(ToolError::InvalidParameters(format!(
            "The parameters of `{}` do not match MCP: names and URIs are strings, `arguments` is an object. \
             Correct them and send the request again.",
            request.method
        ))
        .into())
    }
}

fn with_uri(error: ToolError, uri: &str) -> ToolError {
    match error {
        ToolError::ResourceNotFound(message) => {
            ToolError::Protocol(ErrorData::resource_not_found(message, Some(json!({ "uri": uri }))))
        }
        other => other,
    }
}
