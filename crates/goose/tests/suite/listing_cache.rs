//! Cached tool lists: on disk, and after changes.
#![cfg(target_os = "linux")]

use std::time::Duration;

use anyhow::{Context as _, ensure};
use goose::{
    agents::extension::ExtensionConfig,
    services::{Phase, ServiceChange},
};
use serde_json::json;

use crate::support::{World, bounded, phase, status, text, tool_names, until};

/// Waits until a list lies on disk.
async fn kept(world: &World) -> anyhow::Result<()> {
    let folder = world.paths().cache.join("tools");
    until("a list is kept", || {
        std::fs::read_dir(&folder).is_ok_and(|files| {
            files.flatten().any(|file| file.path().extension().is_some_and(|it| it == "json"))
        })
    })
    .await
}

/// Forgets who started so far.
fn forget_starts(world: &World, name: &str) -> anyhow::Result<()> {
    Ok(std::fs::remove_file(world.file(name).with_extension("starts"))?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_known_server_is_listed_without_being_started() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = world.manager(vec![world.server("a", &["--tools", "3"])?]).await?;
    let names = tool_names(&manager).await?;
    let prompts = manager.prompts().await;
    kept(&world).await?;
    manager.close().await;
    forget_starts(&world, "a")?;
    let world = world.restarted()?;
    let manager = world.manager(vec![world.server("a", &["--tools", "3"])?]).await?;
    ensure!(names.len() == 9 && tool_names(&manager).await? == names);
    ensure!(manager.prompts().await == prompts && !prompts.is_empty());
    let report = status(&manager, "a")?;
    ensure!(report.tools == 9 && report.version.is_some() && report.service.phase == Phase::Idle);
    let outcome = bounded(manager.call_tool("nobody", json!({}))).await?;
    ensure!(outcome.is_err() && world.starts("a").is_empty(), "nothing needs to start for this");
    ensure!(text(&manager, "a__tool_2", json!({})).await? == "tool_2 was called");
    ensure!(world.starts("a").len() == 1);
    manager.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_not_true_any_more_is_replaced_at_the_start() -> anyhow::Result<()> {
    let world = World::new()?;
    // The same command line, and other tools: it is a script that can be changed behind our back.
    let script = world.file("server.sh");
    let config = || ExtensionConfig::stdio("a", "sh", [script.to_string_lossy()]);
    let write = |flags: &str| {
        let program = goose_test_support::binary("faulty_server")?;
        anyhow::Ok(std::fs::write(&script, format!("exec '{}' {flags}", program.display()))?)
    };
    write("--tools 1")?;
    let manager = world.manager(vec![config()]).await?;
    ensure!(tool_names(&manager).await?.len() == 7);
    kept(&world).await?;
    manager.close().await;
    write("--tools 2")?;
    let world = world.restarted()?;
    let manager = world.manager(vec![config()]).await?;
    ensure!(tool_names(&manager).await?.len() == 7, "what was known");
    ensure!(phase(&manager, "a") == Some(Phase::Idle));
    manager.warm_up();
    until("it has started", || phase(&manager, "a") == Some(Phase::Ready)).await?;
    ensure!(tool_names(&manager).await?.len() == 8, "what is true");
    ensure!(text(&manager, "a__tool_1", json!({})).await? == "tool_1 was called");
    manager.close().await;
    let files: Vec<_> = std::fs::read_dir(world.paths().cache.join("tools"))?.collect();
    ensure!(files.len() == 1, "{files:?}");
    let world = world.restarted()?;
    let manager = world.manager(vec![config()]).await?;
    ensure!(tool_names(&manager).await?.len() == 8 && phase(&manager, "a") == Some(Phase::Idle));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_file_costs_a_start_and_nothing_else() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = world.manager(vec![world.server("a", &[])?]).await?;
    let names = tool_names(&manager).await?;
    kept(&world).await?;
    manager.close().await;
    for file in std::fs::read_dir(world.paths().cache.join("tools"))? {
        std::fs::write(file?.path(), "{\"format\": 1, \"tools\": [{}]")?;
    }
    let world = world.restarted()?;
    let manager = world.manager(vec![world.server("a", &[])?]).await?;
    ensure!(tool_names(&manager).await? == names && world.starts("a").len() == 2);
    manager.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_without_a_cache_keeps_nothing() -> anyhow::Result<()> {
    let world = World::with(|options| options.without_cache())?;
    let manager = world.manager(vec![world.server("a", &[])?]).await?;
    ensure!(tool_names(&manager).await?.len() == 6);
    manager.close().await;
    ensure!(!world.paths().cache.exists());
    Ok(())
}

/// A server of the older kind that notes its start in the file `$1`, is slow to listen, and answers one request after
/// the other.
const SLOW: &str = r#"
    answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
    echo $$ >>"$1"
    sleep 11
    while read -r line; do
        id=${line##*'"id":'} id=${id%%[,\}]*}
        case $line in
            *'"initialize"'*) answer '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"slow","version":"1"}}' ;;
            *'"tools/list"'*) answer '"result":{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}' ;;
            *'"tools/call"'*) answer '"result":{"content":[{"type":"text","text":"done"}]}' ;;
            *'"id"'*) answer '"error":{"code":-32601,"message":"What?"}' ;;
        esac
    done
"#;

/// A server that takes longer than the probe for the newer protocol is started once: its late answer is dropped.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_slower_than_the_probe_is_started_once() -> anyhow::Result<()> {
    let world = World::new()?;
    let starts = world.file("slow").with_extension("starts").to_string_lossy().into_owned();
    let config = || ExtensionConfig::stdio("slow", "sh", ["-c", SLOW, "slow", &starts]);
    let manager = world.manager(vec![config()]).await?;
    ensure!(tool_names(&manager).await? == ["slow__work"], "{:?}", status(&manager, "slow"));
    ensure!(world.starts("slow").len() == 1, "{:?}", world.starts("slow"));
    kept(&world).await?;
    manager.close().await;
    forget_starts(&world, "slow")?;
    let world = world.restarted()?;
    let manager = world.manager(vec![config()]).await?;
    ensure!(text(&manager, "slow__work", json!({})).await? == "done");
    ensure!(world.starts("slow").len() == 1, "{:?}", world.starts("slow"));
    manager.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_list_is_seen_by_all_and_kept() -> anyhow::Result<()> {
    for wire in ["2025-11-25", "2026-07-28"] {
        let world = World::new()?;
        let flags = ["--changing", "--wire", wire];
        let config = world.server("a", &flags)?;
        let manager = world.manager(vec![config.clone()]).await?;
        let other = world.manager(vec![config.clone()]).await?;
        ensure!(tool_names(&other).await?.len() == 7);
        let mut events = world.events();
        text(&manager, "a__grow", json!({})).await?;
        until("both see it", || manager.known_tools().len() == 8 && other.known_tools().len() == 8).await?;
        until("it is told", || events.changes("a").contains(&ServiceChange::Tools)).await?;
        ensure!(text(&other, "grown_0", json!({})).await? == "grown_0 was called");
        let folder = world.paths().cache.join("tools");
        let holds = |text: &str| {
            let mut files = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            files.any(|file| std::fs::read_to_string(file.path()).is_ok_and(|kept| kept.contains(text)))
        };
        until("it is kept", || holds("grown_0")).await?;
        manager.close().await;
        other.close().await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_grows_while_it_is_called_loses_nothing() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = world.manager(vec![world.server("a", &["--changing"])?]).await?;
    tool_names(&manager).await?;
    for _ in 0..20 {
        text(&manager, "a__grow", json!({})).await?;
    }
    until("the last one is there", || manager.known_tools().len() == 27).await?;
    ensure!(text(&manager, "a__grown_19", json!({})).await? == "grown_19 was called");
    tokio::time::timeout(Duration::from_secs(30), manager.close()).await?;
    Ok(())
}

/// A list on disk may be of a day when the server had fewer tools.
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_a_kept_list_does_not_know_is_asked_for_at_the_server() -> anyhow::Result<()> {
    let world = World::new()?;
    let server = world.server("a", &["--tools", "2"])?;
    let manager = world.manager(vec![server.clone()]).await?;
    let names = tool_names(&manager).await?;
    kept(&world).await?;
    manager.close().await;
    let folder = world.paths().cache.join("tools");
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let mut file: serde_json::Value = serde_json::from_slice(&std::fs::read(&path)?)?;
        let tools = file["listing"]["tools"].as_array_mut().context("the file has tools")?;
        tools.retain(|tool| tool["name"] != "tool_1");
        std::fs::write(&path, file.to_string())?;
    }
    let world = world.restarted()?;
    let manager = world.manager(vec![server]).await?;
    ensure!(tool_names(&manager).await?.len() + 1 == names.len());
    ensure!(text(&manager, "a__tool_1", json!({})).await? == "tool_1 was called");
    ensure!(tool_names(&manager).await? == names);
    manager.close().await;
    Ok(())
}
