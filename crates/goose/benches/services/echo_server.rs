//! The server of the throughput measurement, with rmcp's own macros, so that neither side has its own server.

use rmcp::{
    ErrorData, Json, ServerHandler, ServiceExt as _, handler::server::wrapper::Parameters, schemars,
    schemars::JsonSchema, tool, tool_handler, tool_router,
};
use serde::{Deserialize, Serialize};

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

/// Serves on stdio until the input ends.
pub(crate) async fn serve() -> anyhow::Result<()> {
    Echo.serve(rmcp::transport::io::stdio_pipes()).await?.waiting().await?;
    Ok(())
}
