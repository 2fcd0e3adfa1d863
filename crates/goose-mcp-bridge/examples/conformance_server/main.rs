//! Server that the official MCP conformance suite is run against.
//!
//! ```text
//! cargo run -p goose-mcp-bridge --example conformance_server -- --port 3001
//! conformance server --url http://localhost:3001/mcp --requirements 2026-07-28
//! ```

mod extension;

use anyhow::Context as _;
use extension::Conformance;
use goose_mcp_bridge::{HttpOptions, serve};

#[tokio::main]
#[expect(clippy::print_stderr, reason = "the program that started the server waits for its address")]
async fn main() -> anyhow::Result<()> {
    let port = port(std::env::args().skip(1))?;
    let server = serve(Conformance::default()).http(HttpOptions::local(port)).await?;
    eprintln!("{}", server.url());
    server.waiting().await
}

/// The port to serve on; 0, the default, takes a free one.
fn port(args: impl Iterator<Item = String>) -> anyhow::Result<u16> {
    match args.collect::<Vec<_>>().as_slice() {
        [] => Ok(0),
        [flag, port] if flag == "--port" => port.parse().with_context(|| format!("`{port}` is not a port")),
        _ => anyhow::bail!("usage: conformance_server [--port N]"),
    }
}
