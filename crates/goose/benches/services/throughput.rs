//! Sixteen callers at once on one server: through the manager, and with rmcp's own client.

use std::{sync::Arc, time::Instant};

use anyhow::ensure;
use futures::future::BoxFuture;
use goose::agents::extension_manager::ExtensionManager;
use goose_extension::JsonObject;
use rmcp::{
    RoleClient,
    model::{CallToolRequestParams, ProtocolVersion},
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

/// How often each caller calls in a round.
const CALLS: usize = 200;

const ROUNDS: usize = 60;

/// The share of rmcp's own throughput that has to be reached.
const BAR: f64 = 0.95;

/// Makes one call.
type Call = Arc<dyn Fn() -> BoxFuture<'static, anyhow::Result<()>> + Send + Sync>;

pub(crate) async fn measure(report: &mut Report, effort: Effort) -> anyhow::Result<()> {
    let home = Home::new()?;
    let manager = Arc::new(home::manager(&home.pool(), vec![home::server("echo", &[ECHO])?]).await?);
    let bare = Arc::new(bare_client().await?);
    let (ours, theirs) = (through_manager(&manager).await?, through_client(&bare));
    let (mut managed, mut alone, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..effort.rounds(ROUNDS) {
        // Whoever goes first does so every other time.
        let (a, b) = if number % 2 == 0 {
            let a = round(&ours).await?;
            (a, round(&theirs).await?)
        } else {
            let b = round(&theirs).await?;
            (round(&ours).await?, b)
        };
        managed.push(a);
        alone.push(b);
        ratios.push(a / b);
    }
    report.note("sixteen callers on one server, through the manager", median(managed), "calls/s");
    report.note("sixteen callers on one server, rmcp's own client", median(alone), "calls/s");
    report.judge("the manager's throughput as a share of that", median(ratios), "", Bar::AtLeast(BAR));
    manager.close().await;
    Ok(())
}

async fn bare_client() -> anyhow::Result<RunningService<RoleClient, ()>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(ECHO);
    let mode = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    Ok(().serve_with_lifecycle(TokioChildProcess::new(command)?, mode).await?)
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

fn through_client(client: &Arc<RunningService<RoleClient, ()>>) -> Call {
    let client = Arc::clone(client);
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
