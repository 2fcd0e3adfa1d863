//! MCP over streamable HTTP: the agents at `/mcp`, a tool for each mode, and the built-in services at `/mcp/{service}`.
//!
//! The services act at once, without an agent and its permissions, so they need a token with the scope `admin`.

use std::{collections::HashMap, sync::Arc};

use axum::{
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use goose::{
    agent_manager::AgentManager,
    config::Profile,
    services::{BindingContext, builtin_options},
};
use goose_extension::{Extension, ToolResult};
use goose_mcp_bridge::{ExtensionServer, HttpEndpoint, ServeOptions};
use http::{HeaderValue, Method, header};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    body::PathText,
    endpoint::{Content, Endpoint, schema_of},
    error::ApiError,
    state::AppState,
    tokens::Scope,
};

/// Endpoints of the server.
pub(crate) struct McpEndpoints {
    agents: HttpEndpoint,
    services: HashMap<String, HttpEndpoint>,
}

impl McpEndpoints {
    /// Makes the endpoints.
    pub(crate) fn new(
        manager: &AgentManager,
        profile: Profile,
        root: &std::path::Path,
        stop: &CancellationToken,
    ) -> ToolResult<Self> {
        let endpoint = |extension: Arc<dyn Extension>| {
            let server = ExtensionServer::new(extension, ServeOptions::default())?;
            Ok::<_, goose_extension::ToolError>(HttpEndpoint::new(&server, stop.child_token()))
        };
        let agents = Arc::new(manager.served_agents(profile, root));
        let settings = manager.settings();
        let context = BindingContext::new(settings.paths(), settings.environment()).with_working_dir(root);
        let options = builtin_options(settings.paths(), &context);
        let services = settings.builtins().iter();
        let services =
            services.map(|builtin| Ok((builtin.name.to_owned(), endpoint(builtin.build(&options))?)));
        Ok(Self { agents: endpoint(agents)?, services: services.collect::<ToolResult<_>>()? })
    }
}

pub(crate) fn endpoints() -> Vec<Endpoint> {
    const TAG: &str = "MCP";
    let described = |endpoint: Endpoint, scope| {
        let answers = vec![
            Content::Json(schema_of::<serde_json::Map<String, Value>>),
            Content::Events(schema_of::<serde_json::Map<String, Value>>),
            Content::Text,
        ];
        endpoint
            .scope(scope)
            .about(TAG, "Streamable HTTP of the Model Context Protocol")
            .header("Mcp-Session-Id", "Session of revisions up to 2025-11-25")
            .header("MCP-Protocol-Version", "Revision of the protocol")
            .answers(200, "A JSON-RPC message, or a stream of them", answers.clone())
            .answers(202, "The notification was taken", vec![Content::Nothing])
            .answers(204, "The session has ended", vec![Content::Nothing])
            .answers(400, "The request is malformed", answers.clone())
            .answers(404, "There is no such service or session", answers.clone())
            .answers(405, "The method is not used by the protocol's revision", answers.clone())
            .answers(406, "The client accepts neither JSON nor events", answers.clone())
            .answers(415, "The body is not JSON", answers.clone())
            .answers(422, "The first message does not begin a session", answers)
    };
    let message = |endpoint: Endpoint| endpoint.takes::<serde_json::Map<String, Value>>();
    let delete = |path: &'static str| {
        if path == "/mcp" { Endpoint::delete(path, agents) } else { Endpoint::delete(path, service) }
    };
    vec![
        described(message(Endpoint::post("/mcp", agents)), Scope::Run),
        described(Endpoint::get("/mcp", agents), Scope::Run),
        described(delete("/mcp"), Scope::Run),
        described(message(Endpoint::post("/mcp/{service}", service)), Scope::Admin),
        described(Endpoint::get("/mcp/{service}", service), Scope::Admin),
        described(delete("/mcp/{service}"), Scope::Admin),
    ]
}

async fn agents(State(app): State<AppState>, request: Request) -> Response {
    answer(&app, &app.mcp.agents, request).await
}

async fn service(State(app): State<AppState>, PathText(name): PathText, request: Request) -> Response {
    match app.mcp.services.get(&name) {
        Some(endpoint) => answer(&app, endpoint, request).await,
        None => {
            let names: Vec<&str> = app.mcp.services.keys().map(String::as_str).collect();
            ApiError::not_found(format!("There is no such service. There are: {}.", names.join(", ")))
                .into_response()
        }
    }
}

async fn answer(app: &AppState, endpoint: &HttpEndpoint, request: Request) -> Response {
    if request.method() != Method::DELETE
        && let Err(error) = app.check_open()
    {
        return error.into_response();
    }
    let client = request.extensions().get::<crate::tokens::Client>().cloned();
    let mut response = endpoint.answer(request).await;
    // The reasons of refusals come without a type.
    if response.status().is_client_error() && !response.headers().contains_key(header::CONTENT_TYPE) {
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    }
    match client {
        Some(client) => crate::sse::ended_with(app, client, response),
        None => response,
    }
}
