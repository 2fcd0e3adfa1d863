//! An extension as an MCP server: [`ExtensionServer`] answers every MCP request from an
//! [`Extension`](crate::Extension), on both eras of the protocol.
//!
//! - `visit`: one request that may ask back, log and report progress;
//! - `caller`: the client, as the tool sees it; `outbox`: what is on its way to it; `rounds` and `answers`: questions on the 2026-07-28 wire;
//! - `paging`: lists in pages; `subscriptions`: who watches what; `changes`: news on their way to clients.

#![expect(deprecated, reason = "MCP 2026-07-28 deprecates logging; all older peers use it")]

mod answers;
mod caller;
mod changes;
mod outbox;
mod paging;
mod rounds;
mod subscriptions;
mod visit;

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

pub(crate) use caller::missing_capability;
use rmcp::{
    RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
        CompletionInfo, CustomRequest, CustomResult, ErrorCode, ErrorData, GetPromptRequestParams,
        GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult,
        ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
        ReadResourceResponse, ReadResourceResult, RequestStateCodec, ResultType, ServerCapabilities,
        ServerConfig, SetLevelRequestMethod, SetLevelRequestParams, SubscribeRequestParams,
        SubscriptionFilter, UnsubscribeRequestParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde_json::json;
use subscriptions::{Subscriptions, Watching};
use tokio::sync::broadcast;
use tokio_util::sync::{CancellationToken, DropGuard};
use visit::{Ended, Request, Visit, is_new_wire};

use crate::{
    changes::Change,
    error::ToolError,
    extension::{Extension, Freshness},
    guard,
    output::ToolOutput,
    questions::LogLevel,
};

type McpResult<T> = Result<T, ErrorData>;

/// How a server treats its clients.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServeOptions {
    /// Items on one page of a list.
    pub page_size: usize,
    /// Whether a client may say in which folder and session it works. On for local clients (stdio, duplex).
    pub trust_surroundings: bool,
    /// The key that seals states on the 2026-07-28 wire, 32 bytes or more. Several servers behind one address
    /// share one; otherwise each process makes its own.
    pub state_key: Option<Vec<u8>>,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self { page_size: paging::PAGE_SIZE, trust_surroundings: true, state_key: None }
    }
}

/// What all connections of one server share.
struct Shared {
    extension: Arc<dyn Extension>,
    codec: RequestStateCodec,
    options: ServeOptions,
    subscriptions: Arc<Subscriptions>,
}

/// Serves one connection of an extension. [`another`](Self::another) gives the next one.
pub struct ExtensionServer {
    shared: Arc<Shared>,
    log_level: Mutex<LogLevel>,
    watching: Watching,
    forwards_changes: AtomicBool,
    /// Feeds opened when a listen was accepted, so that nothing is lost until it runs.
    listening: Mutex<Vec<broadcast::Receiver<Change>>>,
    session: CancellationToken,
    _ends_with_session: DropGuard,
}

impl ExtensionServer {
    /// A server for an extension.
    pub fn new(extension: Arc<dyn Extension>) -> Self {
        Self::with_options(extension, ServeOptions::default())
    }

    /// A server with options of its own. A key that is too short is replaced by a random one.
    pub fn with_options(extension: Arc<dyn Extension>, options: ServeOptions) -> Self {
        let codec = options
            .state_key
            .clone()
            .and_then(|key| RequestStateCodec::try_new(key).ok())
            .unwrap_or_else(random_codec);
        Self::for_session(Arc::new(Shared { extension, codec, options, subscriptions: Arc::default() }))
    }

    /// A server for another connection to the same extension.
    pub fn another(&self) -> Self {
        Self::for_session(Arc::clone(&self.shared))
    }

    /// The same server for clients that must not choose our folders and sessions.
    pub(super) fn distrusting(&self) -> Self {
        let Shared { extension, codec, options, subscriptions } = &*self.shared;
        Self::for_session(Arc::new(Shared {
            extension: Arc::clone(extension),
            codec: codec.clone(),
            options: ServeOptions { trust_surroundings: false, ..options.clone() },
            subscriptions: Arc::clone(subscriptions),
        }))
    }

    fn for_session(shared: Arc<Shared>) -> Self {
        let session = CancellationToken::new();
        let watching = Watching::new(Arc::clone(&shared.subscriptions), Arc::clone(&shared.extension));
        Self {
            shared,
            log_level: Mutex::new(LogLevel::Info),
            watching,
            forwards_changes: AtomicBool::new(false),
            listening: Mutex::default(),
            _ends_with_session: session.clone().drop_guard(),
            session,
        }
    }

    /// The newest snapshot of the extension.
    fn extension(&self) -> Arc<dyn Extension> {
        let latest = self.shared.extension.changes().and_then(|feed| feed.latest());
        latest.unwrap_or_else(|| Arc::clone(&self.shared.extension))
    }

    fn feed(&self) -> Option<broadcast::Receiver<Change>> {
        self.shared.extension.changes().map(|feed| feed.subscribe())
    }

    fn visit<P: serde::Serialize>(
        &self,
        context: RequestContext<RoleServer>,
        request: Request<'_, P>,
    ) -> McpResult<Visit> {
        let Shared { codec, options, .. } = &*self.shared;
        Visit::open(context, request, codec, self.session_level(), options.trust_surroundings)
    }

    fn session_level(&self) -> LogLevel {
        *self.log_level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn page<T>(
        &self,
        items: Vec<T>,
        request: Option<&PaginatedRequestParams>,
        name: impl Fn(&T) -> &str,
    ) -> McpResult<(Vec<T>, Option<String>)> {
        let cursor = request.and_then(|request| request.cursor.as_deref());
        paging::page(items, cursor, self.shared.options.page_size.max(1), name)
    }

    fn capabilities(&self) -> ServerCapabilities {
        let extension = &self.shared.extension;
        let (features, changing) = (extension.features(), extension.changes().is_some());
        let mut capabilities = ServerCapabilities::builder().enable_tools().enable_logging().build();
        if let Some(tools) = &mut capabilities.tools {
            tools.list_changed = changing.then_some(true);
        }
        if features.resources {
            let resources = capabilities.resources.get_or_insert_default();
            resources.subscribe = features.subscriptions.then_some(true);
            resources.list_changed = changing.then_some(true);
        }
        if features.prompts {
            capabilities.prompts.get_or_insert_default().list_changed = changing.then_some(true);
        }
        if features.completions {
            capabilities.completions = Some(Default::default());
        }
        capabilities
    }
}

fn random_codec() -> RequestStateCodec {
    let mut key = [0u8; RequestStateCodec::MIN_KEY_LENGTH];
    if getrandom::fill(&mut key).is_err() {
        // The system gives no random bytes directly; the standard library's are its last word on the matter.
        for (index, chunk) in key.chunks_mut(8).enumerate() {
            chunk.copy_from_slice(&RandomState::new().hash_one(index).to_ne_bytes());
        }
    }
    RequestStateCodec::new_unchecked(key)
}

fn cache(freshness: Freshness) -> (Option<u64>, Option<CacheScope>) {
    let scope = if freshness.shared { CacheScope::Public } else { CacheScope::Private };
    (Some(freshness.ttl_ms), Some(scope))
}

/// Methods whose parameters were not what MCP says, as opposed to methods that do not exist.
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

/// The same for methods that only the older wire has.
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
        let visit = self.visit(
            context,
            Request {
                identity: ("tools/call", &request.name, &arguments),
                state: request.request_state.as_deref(),
                responses: request.input_responses,
            },
        )?;
        let (extension, call) = (self.extension(), visit.context.clone());
        let ended = visit
            .run(&self.shared.codec, &request.name, extension.call(&request.name, arguments, &call))
            .await?;
        Ok(match ended {
            Ended::Done(output) => CallToolResponse::Complete(ToolOutput::into_mcp(output)),
            Ended::InputRequired(questions) => CallToolResponse::InputRequired(questions),
        })
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> McpResult<ListResourcesResult> {
        let extension = self.extension();
        let resources = guard::catch("resources/list", extension.list_resources()).await?;
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
        let templates = guard::catch("resources/templates/list", extension.list_resource_templates()).await?;
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
        let visit = self.visit(
            context,
            Request {
                identity: ("resources/read", &request.uri),
                state: request.request_state.as_deref(),
                responses: request.input_responses,
            },
        )?;
        let (extension, call) = (self.extension(), visit.context.clone());
        let read = async {
            extension.read_resource(&request.uri, &call).await.map_err(|e| with_uri(e, &request.uri))
        };
        let ended = visit.run(&self.shared.codec, &request.uri, read).await?;
        Ok(match ended {
            Ended::Done(contents) => {
                // What a resource holds may change at any time and may depend on who asks: no freshness is promised.
                ReadResourceResponse::Complete(ReadResourceResult::new(contents))
            }
            Ended::InputRequired(questions) => ReadResourceResponse::InputRequired(questions),
        })
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> McpResult<ListPromptsResult> {
        let extension = self.extension();
        let prompts = guard::catch("prompts/list", extension.list_prompts()).await?;
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
        let visit = self.visit(
            context,
            Request {
                identity: ("prompts/get", &request.name, &arguments),
                state: request.request_state.as_deref(),
                responses: request.input_responses,
            },
        )?;
        let (extension, call) = (self.extension(), visit.context.clone());
        let ended = visit
            .run(&self.shared.codec, &request.name, extension.get_prompt(&request.name, arguments, &call))
            .await?;
        Ok(match ended {
            Ended::Done(mut result) => {
                // A result that was read from another server may lack it.
                result.result_type = Some(ResultType::COMPLETE);
                GetPromptResponse::Complete(result)
            }
            Ended::InputRequired(questions) => GetPromptResponse::InputRequired(questions),
        })
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> McpResult<CompleteResult> {
        let extension = self.extension();
        let mut completion = guard::catch("completion/complete", extension.complete(request)).await?;
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
        *self.log_level.lock().unwrap_or_else(PoisonError::into_inner) = LogLevel::from_mcp(request.level);
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> McpResult<()> {
        let begun = guard::catch(&request.uri, self.watching.begin(&request.uri)).await;
        Ok(begun.map_err(|error| with_uri(error, &request.uri))?)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> McpResult<()> {
        let ended = guard::catch(&request.uri, self.watching.end(&request.uri)).await;
        Ok(ended.map_err(|error| with_uri(error, &request.uri))?)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if self.forwards_changes.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Some(feed) = self.feed() {
            let (watching, session) = (self.watching.clone(), self.session.clone());
            tokio::spawn(changes::forward(feed, context.peer, watching, session));
        }
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let feed = self.feed()?;
        self.listening.lock().unwrap_or_else(PoisonError::into_inner).push(feed);
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> McpResult<()> {
        let accepted = self.listening.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Some(feed) = accepted.or_else(|| self.feed()) else { return Ok(()) };
        // This listen's own watches end with it, however it ends.
        let watching =
            Watching::new(Arc::clone(&self.shared.subscriptions), Arc::clone(&self.shared.extension));
        for uri in context.accepted().resource_subscriptions.iter().flatten() {
            let begun = guard::catch(uri, watching.begin(uri)).await;
            begun.map_err(|error| with_uri(error, uri))?;
        }
        changes::listen(feed, context).await;
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
            "The parameters of `{}` are not what MCP asks for: names and URIs are strings, `arguments` is an object. \
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
