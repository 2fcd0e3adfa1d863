//! Ten slow servers start together, while another one is used.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::ensure;
use futures::future::try_join_all;
use goose::{agents::extension_manager::ExtensionManager, services::Service};
use serde_json::json;

use crate::{
    home::{self, FAULTY_SERVER, Home},
    report::{Bar, Report, median, percentile},
};

const SERVERS: usize = 10;

/// Delay of each server's first answer, in seconds.
const SILENCE: f64 = 2.0;

/// Time limit for all of them, in seconds.
const BAR: f64 = 3.0;

/// Number of calls to the ready server before the others start.
const CALLS: usize = 200;

/// Between two calls of the ready server.
const PAUSE: Duration = Duration::from_millis(5);

pub(crate) async fn measure(report: &mut Report) -> anyhow::Result<()> {
    let home = Home::new()?;
    let manager = home::manager(&home.pool(), vec![home::server("ready", &[FAULTY_SERVER])?]).await?;
    manager.list_tools().await?;
    let mut before = Vec::new();
    for _ in 0..CALLS {
        before.push(call(&manager).await?);
    }
    let begin = Instant::now();
    let starting = tokio::spawn(all_ready(add_slow(&manager)?));
    let mut meanwhile = Vec::new();
    while !starting.is_finished() {
        meanwhile.push(call(&manager).await?);
    }
    let took = (starting.await?? - begin).as_secs_f64();
    ensure!(took >= SILENCE, "the servers did not take their time");
    report.judge("ten servers of 2 s each, until all are ready", took, "s", Bar::Below(BAR));
    tell(report, "before", before);
    tell(report, "meanwhile", meanwhile);
    manager.close().await;
    Ok(())
}

fn tell(report: &Report, when: &str, calls: Vec<f64>) {
    report.note(&format!("a call of the ready server {when}, p50"), median(calls.clone()), "ms");
    report.note(&format!("a call of the ready server {when}, p99"), percentile(calls, 0.99), "ms");
}

fn add_slow(manager: &ExtensionManager) -> anyhow::Result<Vec<Arc<Service>>> {
    let add = |number| {
        let name = format!("slow{number}");
        manager.add(&home::server(&name, &[FAULTY_SERVER, "--slow-start", &SILENCE.to_string()])?)?;
        Ok(manager.service(&name)?)
    };
    (0..SERVERS).map(add).collect()
}

/// Returns the time of the last answer.
async fn all_ready(services: Vec<Arc<Service>>) -> anyhow::Result<Instant> {
    try_join_all(services.iter().map(|service| service.ready())).await?;
    Ok(Instant::now())
}

/// Calls the ready server; how long it took, in milliseconds.
async fn call(manager: &ExtensionManager) -> anyhow::Result<f64> {
    let begin = Instant::now();
    let output = manager.call_tool("ready__echo", json!({ "text": "hello" })).await?;
    let took = begin.elapsed().as_secs_f64() * 1e3;
    ensure!(output.as_text() == "hello", "{}", output.as_text());
    tokio::time::sleep(PAUSE).await;
    Ok(took)
}
