//! Servers that do not answer: not to the greeting, not to a call, not at all (RELIABILITY 3 and 4).
#![cfg(target_os = "linux")]

use std::time::{Duration, Instant};

use anyhow::ensure;
use goose::services::Phase;
use goose_extension::ToolError;
use goose_test_support::RecordingCaller;
use serde_json::{Value, json};

use crate::support::{
    World, bounded, failure, is_alive, phase, pid, signal, status, text, tool_names, until, within,
};

/// Long enough for a good server on a busy machine, short enough for a test.
const START_TIMEOUT: Duration = Duration::from_secs(5);

/// The shortest time that a configuration can give to calls.
const CALL_TIMEOUT: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_greets_is_named_and_the_others_work() -> anyhow::Result<()> {
    for (flags, reason) in [
        (["--never-initialize"].as_slice(), "did not answer within 5s"),
        (&["--slow-start", "600"], "did not answer within 5s"),
        (&["--slow-list", "600"], "did not list its tools within 5s"),
    ] {
        let world = World::with(|options| options.with_start_timeout(START_TIMEOUT))?;
        let manager = world.manager(vec![world.server("mute", flags)?, world.server("fine", &[])?]).await?;
        let names = tool_names(&manager).await?;
        ensure!(!names.is_empty() && names.iter().all(|name| name.starts_with("fine__")), "{names:?}");
        let mute = status(&manager, "mute")?.service;
        ensure!(mute.phase == Phase::Degraded && mute.failures == 1, "{mute:?}");
        ensure!(mute.reason.as_ref().is_some_and(|text| text.contains(reason)), "{mute:?}");
        ensure!(text(&manager, "fine__echo", json!({ "text": "a" })).await? == "a");
        until("nothing of it is left", || !world.starts("mute").into_iter().any(is_alive)).await?;
        manager.close().await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_waits_no_longer_than_it_was_told() -> anyhow::Result<()> {
    let world = World::new()?;
    let options = world.options().with_patience(Duration::from_secs(5));
    let configs = vec![world.server("mute", &["--never-initialize"])?, world.server("fine", &[])?];
    let manager = world.manager_with(configs, options).await?;
    let names = tool_names(&manager).await?;
    ensure!(!names.is_empty() && names.iter().all(|name| name.starts_with("fine__")), "{names:?}");
    ensure!(phase(&manager, "mute") == Some(Phase::Starting), "it is still given its time");
    bounded(manager.close()).await?;
    within(Duration::from_secs(2), "a start under way is killed", || {
        !world.starts("mute").into_iter().any(is_alive)
    })
    .await
}

/// The ids of the requests that the server heard to be cancelled.
async fn cancelled(world: &World, flags: &[&str]) -> anyhow::Result<(Vec<Value>, ToolError)> {
    let config = world.server("a", flags)?.with_timeout(CALL_TIMEOUT);
    let manager = world.manager(vec![config]).await?;
    let process = pid(&manager, "a").await?;
    let error = failure(&manager, "a__work", json!({})).await?;
    let mut ids = Vec::new();
    let begin = Instant::now();
    while ids.is_empty() && begin.elapsed() < Duration::from_secs(20) {
        ids = serde_json::from_str(&text(&manager, "a__cancelled", json!({})).await?)?;
    }
    ensure!(pid(&manager, "a").await? == process, "a slow tool does not cost the server");
    manager.close().await;
    Ok((ids, error))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_never_returns_times_out_and_is_cancelled() -> anyhow::Result<()> {
    for wire in ["2025-11-25", "2026-07-28"] {
        let world = World::new()?;
        let (ids, error) = cancelled(&world, &["--hang", "work", "--wire", wire]).await?;
        ensure!(matches!(error, ToolError::Timeout(_)) && error.to_string().contains("within 1s"), "{error}");
        ensure!(ids.len() == 1, "{wire}: the server heard of {ids:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_reply_is_ignored_and_the_next_calls_get_their_own() -> anyhow::Result<()> {
    let world = World::new()?;
    let late = Duration::from_secs(3);
    let config = world.server("a", &["--late", "work", "3"])?.with_timeout(CALL_TIMEOUT);
    let manager = world.manager(vec![config]).await?;
    let process = pid(&manager, "a").await?;
    let begin = Instant::now();
    let error = failure(&manager, "a__work", json!({})).await?;
    ensure!(
        matches!(error, ToolError::Timeout(_)) && begin.elapsed() < late,
        "{error} {:?}",
        begin.elapsed()
    );
    let mut number = 0;
    // Before, while and after the late reply comes.
    while begin.elapsed() < late + CALL_TIMEOUT {
        number += 1;
        let said = number.to_string();
        ensure!(text(&manager, "a__echo", json!({ "text": said })).await? == said);
    }
    ensure!(pid(&manager, "a").await? == process && world.starts("a").len() == 1);
    manager.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_reports_progress_may_take_longer() -> anyhow::Result<()> {
    let world = World::new()?;
    // 60 reports, 50 ms apart: three times as long as a silent call may take.
    let config = world.server("a", &["--progress", "work", "60"])?.with_timeout(CALL_TIMEOUT);
    let manager = world.manager(vec![config]).await?;
    let recorder = RecordingCaller::new();
    let output = bounded(manager.call_tool_with("a__work", json!({}), &recorder.context())).await??;
    ensure!(!output.is_error, "{}", output.as_text());
    ensure!(recorder.seen().len() == 60, "{:?}", recorder.seen());
    manager.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_is_found_out_after_a_time_out_and_replaced() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = world.manager(vec![world.server("a", &[])?.with_timeout(CALL_TIMEOUT)]).await?;
    let first = pid(&manager, "a").await?;
    let mut events = world.events();
    signal(first, "STOP")?;
    let error = failure(&manager, "a__echo", json!({ "text": "a" })).await?;
    ensure!(matches!(error, ToolError::Timeout(_)), "{error:?}");
    until("the pool finds out", || phase(&manager, "a") == Some(Phase::Degraded)).await?;
    let reason = status(&manager, "a")?.service.reason.unwrap_or_default();
    ensure!(reason.contains("does not answer"), "{reason}");
    ensure!(pid(&manager, "a").await? != first);
    until("it is gone", || !is_alive(first)).await?;
    ensure!(events.phases("a") == [Phase::Degraded, Phase::Starting, Phase::Ready]);
    manager.close().await;
    Ok(())
}
