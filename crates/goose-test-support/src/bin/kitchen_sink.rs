//! The kitchen_sink as an MCP server on stdio.

use goose_test_support::KitchenSink;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(tracing_level()).init();
    goose_mcp_bridge::serve(KitchenSink::new()).stdio().await
}

/// Errors only, unless a test wants to see more.
fn tracing_level() -> tracing_subscriber::filter::LevelFilter {
    let level = std::env::var("KITCHEN_SINK_LOG").ok().and_then(|level| level.parse().ok());
    level.unwrap_or(tracing_subscriber::filter::LevelFilter::ERROR)
}
