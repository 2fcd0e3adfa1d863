//! `goose serve --dangerously-unauthenticated` with the extension of the official MCP conformance suite as a service:
//! the suite sends no tokens. Everything else, such as the gate, is as in the program. Prints its URL to standard
//! error.
//!
//! ```text
//! cargo run -p goose-server --example conformance_endpoint
//! conformance server --url http://127.0.0.1:PORT/mcp/conformance --requirements 2026-07-28
//! ```

#[path = "../../goose-mcp-bridge/examples/conformance_server/extension/mod.rs"]
mod extension;

use std::sync::Arc;

use goose::{
    agent_manager::AgentManager,
    config::{Paths, Settings, SettingsSource},
};
use goose_extension::{Builtin, BuiltinOptions, Extension};
use goose_server::{Server, ServerOptions};

/// Name of the service.
const NAME: &str = "conformance";

const BUILTINS: &[Builtin] =
    &[Builtin { name: NAME, summary: "what the MCP conformance suite looks for", build }];

fn build(_: &BuiltinOptions) -> Arc<dyn Extension> {
    Arc::new(extension::Conformance::default())
}

#[tokio::main]
#[expect(clippy::print_stderr, reason = "the program that started the server waits for its address")]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let paths = Paths::under(folder.path());
    let home = folder.path().to_string_lossy().into_owned();
    let source = SettingsSource::new(paths.clone())
        .with_environment([("HOME", home.as_str()), ("GOOSE_DISABLE_KEYRING", "1")])
        .with_builtins(BUILTINS);
    let mut options = ServerOptions::new(&paths, folder.path());
    (options.port, options.is_unauthenticated) = (0, true);
    let manager = AgentManager::new(Settings::load(source)?);
    let server = Server::start(manager, None, Vec::new(), options).await?;
    eprintln!("{}/mcp/{NAME}", server.url());
    std::future::pending().await
}
