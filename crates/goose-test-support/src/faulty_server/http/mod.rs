//! The server over streamable HTTP, at a free port of the loopback interface.

mod door;
mod faults;
mod stream;

use std::{io::Write as _, net::Ipv4Addr, sync::Arc};

use axum::{Router, extract::DefaultBodyLimit, routing::any};
use tokio::net::TcpListener;

use super::server::Server;
use door::Door;

/// Prints the URL and serves, for ever.
pub(super) fn serve(server: Arc<Server>) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        writeln!(std::io::stdout(), "http://{}/mcp", listener.local_addr()?)?;
        // Until then, connections wait to be accepted.
        tokio::time::sleep(server.options.start.slow).await;
        let router = Router::new()
            .route("/mcp", any(door::enter))
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::new(Door::new(server)));
        Ok(axum::serve(listener, router).await?)
    })
}
