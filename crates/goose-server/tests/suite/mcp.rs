//! MCP over streamable HTTP, with goose's own client in both eras.

use std::collections::HashMap;

use anyhow::{Context as _, ensure};
use goose_extension::{Extension as _, prelude::json};
use goose_mcp_bridge::{ConnectOptions, Lifecycle, Target, connect};
use goose_server::{Scope, TokenStore};
use goose_test_support::Turn;

use crate::support::TestServer;

#[tokio::test(flavor = "multi_thread")]
async fn agents_are_tools_and_services_need_the_scope_admin() -> anyhow::Result<()> {
    let server = TestServer::new([Turn::text("Done by an agent."), Turn::text("Done again.")]).await?;
    let store = TokenStore::new(server.folder.path().join("data/server/tokens.json"));
    let runner = store.create("runner", Scope::Run)?.secret;
    for (era, answer) in [(Lifecycle::Initialize, "Done by an agent."), (Lifecycle::Discover, "Done again.")]
    {
        let options = |token: &str| ConnectOptions {
            lifecycle: era,
            headers: vec![("Authorization".to_owned(), format!("Bearer {token}"))],
            ..ConnectOptions::default()
        };
        let url = |path: &str| Target::Http(format!("{}{path}", server.url));
        let agents = connect(url("/mcp"), options(&server.token)).await?;
        ensure!(agents.tools().iter().any(|tool| tool.name() == "coding-agent__backend"));
        let arguments = HashMap::from([("task".to_owned(), json!("Do it"))]);
        let done = agents
            .call_tool("goose-agent__assistant", arguments)
            .await
            .map_err(|error| anyhow::anyhow!("{error}"))?;
        ensure!(done.to_string().contains(answer), "{done}");

        let memory = connect(url("/mcp/memory"), options(&server.token)).await?;
        ensure!(memory.tools().iter().any(|tool| tool.name() == "retrieve_memories"));
        let refused = connect(url("/mcp/memory"), options(&runner)).await;
        ensure!(refused.is_err(), "a token with the scope `run` must not reach a service");
    }
    server.server.context("it runs")?.shutdown().await;
    Ok(())
}
