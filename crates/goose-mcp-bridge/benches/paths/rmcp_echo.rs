//! The other side: the same tool with rmcp's own macros, server and client, on the fastest settings that it has for its
//! server.

use std::sync::Arc;

use axum::serve::ListenerExt as _;
use goose_mcp_bridge::Lifecycle;
use rmcp::{
    ErrorData, Json, RoleClient, ServerHandler, ServiceExt as _,
    handler::server::wrapper::Parameters,
    model::{CallToolRequestParams, ProtocolVersion},
    schemars::JsonSchema,
    service::{ClientLifecycleMode, ClientServiceExt as _, RunningService},
    tool, tool_handler, tool_router,
    transport::{
        StreamableHttpClientTransport, StreamableHttpServerConfig, StreamableHttpService, TokioChildProcess,
        streamable_http_server::session::local::LocalSessionManager,
    },
};
use serde::{Deserialize, Serialize};
use tokio::process::Command;

use crate::{Contender, Wire};

#[derive(Clone)]
struct Echo;

#[derive(Deserialize, JsonSchema)]
struct Request {
    /// What to say
    message: String,
}

#[derive(Serialize, JsonSchema)]
struct Response {
    response: String,
}

#[tool_router]
impl Echo {
    #[tool(description = "Gives back a message.")]
    async fn echo(&self, Parameters(request): Parameters<Request>) -> Result<Json<Response>, ErrorData> {
        Ok(Json(Response { response: request.message }))
    }
}

#[tool_handler]
impl ServerHandler for Echo {}

pub(crate) async fn serve_stdio() -> anyhow::Result<()> {
    Echo.serve(rmcp::transport::io::stdio_pipes()).await?.waiting().await?;
    Ok(())
}

pub(crate) async fn over(wire: Wire) -> anyhow::Result<Contender> {
    let (client, calls) = match wire {
        Wire::Duplex(lifecycle) => {
            let (client, server) = tokio::io::duplex(64 * 1024);
            tokio::spawn(async move {
                if let Ok(running) = Echo.serve(server).await {
                    let _ = running.waiting().await;
                }
            });
            (().serve_with_lifecycle(client, mode(lifecycle)).await?, 500)
        }
        Wire::Stdio(lifecycle) => {
            let mut command = Command::new(std::env::current_exe()?);
            command.arg("serve-rmcp");
            let transport = TokioChildProcess::new(command)?;
            (().serve_with_lifecycle(transport, mode(lifecycle)).await?, 500)
        }
        Wire::Http(lifecycle) => {
            let transport = StreamableHttpClientTransport::from_uri(serve_http().await?);
            (().serve_with_lifecycle(transport, mode(lifecycle)).await?, 100)
        }
    };
    Ok(contender(wire, calls, client))
}

async fn serve_http() -> anyhow::Result<String> {
    let service = StreamableHttpService::new(
        || Ok(Echo),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    let router = axum::Router::new().nest_service("/mcp", service);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(url)
}

fn mode(lifecycle: Lifecycle) -> ClientLifecycleMode {
    match lifecycle {
        Lifecycle::Initialize => ClientLifecycleMode::Initialize,
        _ => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
    }
}

fn contender(wire: Wire, calls: u32, client: RunningService<RoleClient, ()>) -> Contender {
    let client = Arc::new(client);
    Contender::new(format!("rmcp {}", wire.name()), Some(wire), false, calls, move || {
        let client = Arc::clone(&client);
        async move {
            let mut arguments = serde_json::Map::new();
            arguments.insert("message".to_owned(), "hello".into());
            let result =
                client.call_tool(CallToolRequestParams::new("echo").with_arguments(arguments)).await?;
            let expected = serde_json::json!({ "response": "hello" });
            anyhow::ensure!(result.structured_content == Some(expected), "{result:?}");
            Ok(())
        }
    })
}
