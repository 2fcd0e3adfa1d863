//! Servers that write what they should not: noise, endless lines, endless lists (RELIABILITY 5, 6 and 7).
#![cfg(target_os = "linux")]

use std::{
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, ensure};
use goose::services::Phase;
use goose_extension::ToolError;
use serde_json::json;
use tracing::{
    Event, Level, Metadata, Subscriber,
    span::{Attributes, Id, Record},
};

use crate::support::{World, failure, phase, pid, status, text, tool_names, until};

/// Counts warnings.
#[derive(Clone, Default)]
struct Warnings(Arc<AtomicUsize>);

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn event(&self, _: &Event<'_>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// On one thread, so that all warnings are ours.
#[tokio::test]
async fn noise_on_the_output_is_skipped_with_a_few_warnings() -> anyhow::Result<()> {
    let warnings = Warnings::default();
    let _guard = tracing::subscriber::set_default(warnings.clone());
    for flags in [["--noise", "--progress", "work", "3"].as_slice(), &["--noise-flood", "5000"]] {
        let before = warnings.0.load(Ordering::SeqCst);
        let world = World::new()?;
        let manager = world.manager(vec![world.server("a", flags)?]).await?;
        let process = pid(&manager, "a").await?;
        for said in ["one", "two", "three"] {
            ensure!(text(&manager, "a__echo", json!({ "text": said })).await? == said);
        }
        ensure!(pid(&manager, "a").await? == process && world.starts("a").len() == 1);
        manager.close().await;
        let count = warnings.0.load(Ordering::SeqCst) - before;
        ensure!((1..=10).contains(&count), "{flags:?} gave {count} warnings");
    }
    Ok(())
}

/// Runs a test again in a process of its own, whose memory is nobody else's. `true` in that process.
fn is_alone(test: &str) -> anyhow::Result<bool> {
    const ALONE: &str = "GOOSE_TEST_ALONE";
    if std::env::var_os(ALONE).is_some_and(|name| name == test) {
        return Ok(true);
    }
    let mut again = Command::new(std::env::current_exe()?);
    let output = again.args(["--exact", test, "--nocapture"]).env(ALONE, test).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success() && said.contains("1 passed"), "{said}{errors}");
    Ok(false)
}

/// A line of `/proc/self/status`, in bytes: `VmRSS` is the memory now, `VmHWM` the most so far.
fn memory(name: &str) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")).context("the line is there")?;
    Ok(kilobytes.trim().parse::<u64>()? * 1024)
}

const MEMORY_BAR: u64 = 50 * 1024 * 1024;

#[tokio::test(flavor = "multi_thread")]
async fn a_line_of_100_megabytes_is_refused_and_takes_no_memory() -> anyhow::Result<()> {
    if !is_alone("bad_output::a_line_of_100_megabytes_is_refused_and_takes_no_memory")? {
        return Ok(());
    }
    let world = World::new()?;
    let manager = world.manager(vec![world.server("a", &["--huge-line", "100000000", "work"])?]).await?;
    let process = pid(&manager, "a").await?;
    let before = memory("VmRSS")?;
    for _ in 0..2 {
        let error = failure(&manager, "a__work", json!({})).await?;
        ensure!(error.to_string().contains("larger than 8 MiB"), "{error}");
        ensure!(text(&manager, "a__echo", json!({ "text": "on" })).await? == "on");
    }
    let growth = memory("VmHWM")?.saturating_sub(before);
    ensure!(growth < MEMORY_BAR, "the memory grew by {growth} bytes");
    ensure!(pid(&manager, "a").await? == process, "the server goes on");
    manager.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_100_megabytes_beside_a_call_takes_no_memory() -> anyhow::Result<()> {
    if !is_alone("bad_output::a_message_of_100_megabytes_beside_a_call_takes_no_memory")? {
        return Ok(());
    }
    let world = World::new()?;
    let manager = world.manager(vec![world.server("a", &["--huge-notification", "100000000"])?]).await?;
    tool_names(&manager).await?;
    let before = memory("VmRSS")?;
    // It may have been the answer, so the call does not wait for another one.
    let error = failure(&manager, "a__echo", json!({ "text": "a" })).await?;
    ensure!(matches!(error, ToolError::ExecutionError(_)), "{error:?}");
    let growth = memory("VmHWM")?.saturating_sub(before);
    ensure!(growth < MEMORY_BAR, "the memory grew by {growth} bytes");
    ensure!(phase(&manager, "a") == Some(Phase::Ready));
    manager.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_does_not_end_is_stopped_and_the_others_work() -> anyhow::Result<()> {
    if !is_alone("bad_output::a_list_that_does_not_end_is_stopped_and_the_others_work")? {
        return Ok(());
    }
    for (flags, seconds, reason) in [
        (["--endless-pages"].as_slice(), 60, "more than 200 pages"),
        (&["--same-cursor"], 60, "the same cursor again"),
        (&["--cursor-cycle"], 60, "the same cursor again"),
        (&["--tools", "1000000", "--page-size", "1000"], 60, "more than 10000 items"),
        (&["--tools", "1000000"], 60, "larger than 8 MiB"),
        (&["--endless-pages", "--slow-list", "1"], 5, "did not list its tools within 5s"),
    ] {
        let world = World::with(|options| options.with_start_timeout(Duration::from_secs(seconds)))?;
        let before = memory("VmRSS")?;
        let manager = world.manager(vec![world.server("a", flags)?, world.server("fine", &[])?]).await?;
        let names = tool_names(&manager).await?;
        ensure!(!names.is_empty() && names.iter().all(|name| name.starts_with("fine__")), "{names:?}");
        let report = status(&manager, "a")?.service;
        ensure!(report.reason.as_ref().is_some_and(|text| text.contains(reason)), "{flags:?}: {report:?}");
        ensure!(text(&manager, "fine__echo", json!({ "text": "a" })).await? == "a");
        let growth = memory("VmHWM")?.saturating_sub(before);
        ensure!(growth < MEMORY_BAR, "{flags:?}: the memory grew by {growth} bytes");
        manager.close().await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_list_in_pages_is_read_whole() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = world.manager(vec![world.server("a", &["--tools", "1000", "--page-size", "7"])?]).await?;
    ensure!(tool_names(&manager).await?.len() == 1006);
    ensure!(text(&manager, "tool_999", json!({})).await? == "tool_999 was called");
    manager.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_stops_announcing_changes_works_all_the_same() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = world.manager(vec![world.server("a", &["--notify-flood", "5000"])?]).await?;
    for said in ["one", "two"] {
        let flood = manager.call_tool("a__flood", json!({}));
        let echo = text(&manager, "a__echo", json!({ "text": said }));
        let (flood, echo) = tokio::join!(flood, echo);
        ensure!(!flood?.is_error && echo? == said);
    }
    until("it is calm again", || phase(&manager, "a") == Some(Phase::Ready)).await?;
    ensure!(world.starts("a").len() == 1);
    manager.close().await;
    Ok(())
}
