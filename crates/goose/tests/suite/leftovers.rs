//! Nothing stays behind: not of servers with children of their own, not of an owner that dies, not of a hundred starts
//! and stops (RELIABILITY 14).
#![cfg(target_os = "linux")]

use std::{collections::BTreeSet, process::Stdio, time::Duration};

use anyhow::{Context as _, ensure};
use goose_test_support::{binary, example};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

use crate::support::{World, bounded, is_alive, pid, text, within};

/// Time limit for descendants to end after their owner.
const LIMIT: Duration = Duration::from_secs(5);

/// The ways in which a server and what it started can refuse to end.
const STUBBORN: &[&[&str]] = &[
    &["--grandchildren"],
    &["--grandchildren", "--ignore-eof"],
    &["--grandchildren", "--ignore-eof", "--ignore-term"],
];

/// A server's process and those that it has left.
async fn family(
    manager: &goose::agents::extension_manager::ExtensionManager,
    name: &str,
) -> anyhow::Result<BTreeSet<u32>> {
    let left: Vec<u32> =
        serde_json::from_str(&text(manager, &format!("{name}__grandchildren"), json!({})).await?)?;
    let pids: BTreeSet<u32> = left.into_iter().chain([pid(manager, name).await?]).collect();
    ensure!(pids.len() == 3 && pids.iter().all(|&pid| is_alive(pid)), "{pids:?}");
    Ok(pids)
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_server_is_left_when_it_was_given_back() -> anyhow::Result<()> {
    for flags in STUBBORN {
        let world = World::new()?;
        let manager = world.manager(vec![world.server("a", flags)?]).await?;
        let pids = family(&manager, "a").await?;
        bounded(manager.close()).await?;
        ensure!(!pids.iter().any(|&pid| is_alive(pid)), "{flags:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_server_is_left_when_it_dies_by_itself() -> anyhow::Result<()> {
    let world = World::new()?;
    let flags = ["--grandchildren", "--die-on-call", "work", "--die-how", "kill9"];
    let manager = world.manager(vec![world.server("a", &flags)?]).await?;
    let pids = family(&manager, "a").await?;
    let output = bounded(manager.call_tool("a__work", json!({}))).await??;
    ensure!(output.is_error);
    within(LIMIT, "all are gone", || !pids.iter().any(|&pid| is_alive(pid))).await?;
    manager.close().await;
    Ok(())
}

/// Starts a program that owns a manager with stubborn servers. Gives the processes of these.
async fn start_owner(home: &std::path::Path) -> anyhow::Result<(Child, BTreeSet<u32>)> {
    let programs = || anyhow::Ok((example("goose", "service_owner")?, binary("faulty_server")?));
    let (owner, faulty_server) = tokio::task::spawn_blocking(programs).await??;
    let mut command = Command::new(owner);
    command.arg(home).arg(faulty_server).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn()?;
    let output = child.stdout.take().context("its output is piped")?;
    let line = bounded(BufReader::new(output).lines().next_line()).await??.context("it prints a line")?;
    let pids: BTreeSet<u32> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    ensure!(pids.len() == 6 && pids.iter().all(|&pid| is_alive(pid)), "{line}");
    Ok((child, pids))
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_outlives_an_owner_that_ends() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let (mut child, pids) = start_owner(home.path()).await?;
    drop(child.stdin.take());
    ensure!(bounded(child.wait()).await??.success());
    within(LIMIT, "all are gone", || !pids.iter().any(|&pid| is_alive(pid))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_outlives_an_owner_that_is_killed() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let (mut child, pids) = start_owner(home.path()).await?;
    child.kill().await?;
    within(LIMIT, "all are gone", || !pids.iter().any(|&pid| is_alive(pid))).await
}

/// The counting is done by a process of its own, because the other tests start processes meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_cycles_leave_no_process_no_file_and_no_task() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let programs = || anyhow::Ok((example("goose", "service_owner")?, binary("faulty_server")?));
    let (owner, faulty_server) = tokio::task::spawn_blocking(programs).await??;
    let mut command = Command::new(owner);
    command.arg(home.path()).arg(faulty_server).arg("100").kill_on_drop(true);
    let output = tokio::time::timeout(Duration::from_secs(300), command.output()).await??;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let counts: Vec<&str> = text.lines().collect();
    ensure!(counts.len() == 2 && counts[0].starts_with("files "), "{text}");
    ensure!(counts[0] == counts[1], "before and after differ:\n{text}");
    ensure!(counts[0].ends_with("children []"), "there are children left:\n{text}");
    Ok(())
}
