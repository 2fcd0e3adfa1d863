//! Sixteen callers at once on one server: through the manager, and with rmcp's own client.

use std::{sync::Arc, time::Instant};

use anyhow::ensure;
use futures::future::BoxFuture;
use goose::agents::extension_manager::ExtensionManager;
use goose_extension::JsonObject;
use rmcp::{
    RoleClient,
    model::{CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion},
    service::{ClientLifecycleMode, ClientServiceExt as _, RunningService},
    transport::TokioChildProcess,
};
use serde_json::{Value, json};
use tokio::{process::Command, task::JoinSet};

use crate::{
    Effort,
    home::{self, ECHO, Home},
    report::{Bar, Report, median},
};

const CALLERS: usize = 16;

/// Number of calls by each caller in a round.
const CALLS: usize = 200;

const ROUNDS: usize = 60;

/// The share of rmcp's own throughput that has to be reached.
const BAR: f64 = 0.95;

/// Makes one call.
type Call = Arc<dyn Fn() -> BoxFuture<'static, anyhow::Result<()>> + Send + Sync>;

pub(crate) async fn measure(report: &mut Report, effort: Effort) -> anyhow::Result<()> {
    let home = Home::new()?;
    let manager = Arc::new(home::manager(&home.pool(), vec![home::server("echo", &[ECHO])?]).await?);
    let mut contenders = [
        Contender::new("through the manager", through_manager(&manager).await?),
        Contender::new("rmcp's own client", through_client(bare_client(ClientConfig::default()).await?)),
        Contender::new("rmcp's own client, as talkative", through_client(bare_client(talkative()).await?)),
    ];
    for number in 0..effort.rounds(ROUNDS) {
        // Everybody goes first as often as the others.
        let first = number % contenders.len();
        contenders.rotate_left(first);
        for contender in &mut contenders {
            contender.rounds.push(round(&contender.call).await?);
        }
        contenders.rotate_right(first);
    }
    for Contender { name, rounds, .. } in &contenders {
        report.note(&format!("sixteen callers on one server, {name}"), median(rounds.clone()), "calls/s");
    }
    let [managed, bare, talkative] = &contenders;
    report.note(
        "the manager's throughput as a share of the talkative one's",
        managed.share_of(talkative),
        "",
    );
    report.judge(
        "the manager's throughput as a share of rmcp's own",
        managed.share_of(bare),
        "",
        Bar::AtLeast(BAR),
    );
    manager.close().await;
    Ok(())
}

/// One way to the server.
struct Contender {
    name: &'static str,
    call: Call,
    /// The throughput of each round.
    rounds: Vec<f64>,
}

impl Contender {
    fn new(name: &'static str, call: Call) -> Self {
        Self { name, call, rounds: Vec::new() }
    }

    /// The median over all rounds of what this one reached of the other's throughput in the same round.
    fn share_of(&self, other: &Self) -> f64 {
        median(self.rounds.iter().zip(&other.rounds).map(|(ours, theirs)| ours / theirs).collect())
    }
}

/// A client that says the same of itself as goose's does, with every request.
fn talkative() -> ClientConfig {
    let capabilities = ClientCapabilities::builder().enable_tasks().build();
    ClientConfig::new(capabilities, Implementation::new("goose", env!("CARGO_PKG_VERSION")))
}

type Client = RunningService<RoleClient, ClientConfig>;

async fn bare_client(config: ClientConfig) -> anyhow::Result<Client> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(ECHO);
    let mode = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    Ok(config.serve_with_lifecycle(TokioChildProcess::new(command)?, mode).await?)
}

async fn through_manager(manager: &Arc<ExtensionManager>) -> anyhow::Result<Call> {
    let service = manager.service("echo")?;
    service.ready().await?;
    let protocol = service.report().protocol;
    ensure!(protocol.as_deref() == Some("2026-07-28"), "both speak the same: {protocol:?}");
    let manager = Arc::clone(manager);
    Ok(Arc::new(move || {
        let manager = Arc::clone(&manager);
        Box::pin(async move { check(manager.call_tool("echo__echo", arguments()).await?.structured) })
    }))
}

fn through_client(client: Client) -> Call {
    let client = Arc::new(client);
    Arc::new(move || {
        let client = Arc::clone(&client);
        Box::pin(async move {
            let request = CallToolRequestParams::new("echo").with_arguments(arguments());
            check(client.call_tool(request).await?.structured_content)
        })
    })
}

fn arguments() -> JsonObject {
    JsonObject::from_iter([("message".to_owned(), json!("hello"))])
}

fn check(structured: Option<Value>) -> anyhow::Result<()> {
    ensure!(structured == Some(json!({ "response": "hello" })), "{structured:?}");
    Ok(())
}

/// Calls in a second, by all callers together.
async fn round(call: &Call) -> anyhow::Result<f64> {
    let mut callers = JoinSet::new();
    let begin = Instant::now();
    for _ in 0..CALLERS {
        callers.spawn(repeat(Arc::clone(call)));
    }
    while let Some(caller) = callers.join_next().await {
        caller??;
    }
    Ok((CALLERS * CALLS) as f64 / begin.elapsed().as_secs_f64())
}

async fn repeat(call: Call) -> anyhow::Result<()> {
    for _ in 0..CALLS {
        call().await?;
    }
    Ok(())
}
