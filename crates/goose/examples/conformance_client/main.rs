//! The client under test for the official conformance suite of MCP, in its client mode:
//!
//! ```text
//! conformance client --command target/debug/examples/conformance_client --requirements 2026-07-28 -o out
//! ```
//!
//! The suite starts one server for each scenario and this program with its URL as the last argument; what is special
//! about a scenario comes in the environment. Everything goes through the public interface, as a user's would:
//! - `visitor`: a browser that says yes to everything; `person`: one who accepts every form as it is;
//! - `work`: what to do with a server.

mod person;
mod visitor;
mod work;

use std::{env, sync::Arc, time::Duration};

use anyhow::Context as _;
use goose::{
    agents::{
        extension::ExtensionConfig,
        extension_manager::{ExtensionManager, ManagerOptions},
    },
    config::Paths,
    services::{BindingContext, PoolOptions, ServicePool},
};
use goose_extension::CallContext;
use goose_mcp_bridge::{MemoryTokenStore, OAuth};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{person::Person, visitor::Visitor};

/// Time limit of a call.
const CALL_TIMEOUT: Duration = Duration::from_secs(20);

/// The document that describes this client, as the suite expects it.
const CLIENT_METADATA: &str = "https://conformance-test.local/client-metadata.json";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let url = env::args().next_back().context("The server's URL is missing.")?;
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let context = match env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(text) => serde_json::from_str(&text).context("MCP_CONFORMANCE_CONTEXT is not JSON.")?,
        Err(_) => Value::Null,
    };
    let home = tempfile::tempdir()?;
    let paths = Paths::under(home.path());
    let surroundings = BindingContext::new(&paths, []).with_oauth(oauth(&context));
    let manager = ExtensionManager::with_options(
        vec![ExtensionConfig::streamable_http("suite", url).with_timeout(CALL_TIMEOUT)],
        CancellationToken::new(),
        ManagerOptions::in_pool(
            ServicePool::new(PoolOptions::new(&paths, goose_mcp::BUILTINS)),
            surroundings,
        ),
    )
    .await?;
    let calls = CallContext::new().with_caller(Arc::new(Person));
    let worked = work::through(&manager, &scenario, &context, &calls).await;
    manager.close().await;
    worked
}

fn oauth(context: &Value) -> OAuth {
    let text = |name: &str| context[name].as_str().map(str::to_owned);
    OAuth::new(Arc::new(MemoryTokenStore::default())).with(|it| {
        it.browser = Some(Arc::new(Visitor));
        it.client_metadata_url = Some(CLIENT_METADATA.to_owned());
        it.client = text("client_id").map(|id| (id, text("client_secret")));
    })
}
