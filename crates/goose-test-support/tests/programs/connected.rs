//! Our own client reaches `faulty_server`, on both wires and both ways.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context as _, Result, ensure};
use goose_extension::{Extension as _, hashmap};
use goose_mcp_bridge::{ConnectOptions, ProcessSpec, RemoteExtension, connect};
use goose_test_support::binary;
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

use crate::raw::PATIENCE;

const VERSIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

async fn program() -> Result<PathBuf> {
    tokio::task::spawn_blocking(|| binary("faulty_server")).await?
}

async fn command(arguments: &[&str]) -> Result<ProcessSpec> {
    let mut command = ProcessSpec::new(program().await?);
    command.args(arguments);
    Ok(command)
}

async fn served(arguments: &[&str]) -> Result<(Child, String)> {
    let mut command = Command::new(program().await?);
    command.arg("--http").args(arguments).kill_on_drop(true);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("stdout is ours")?).lines();
    let url = tokio::time::timeout(PATIENCE, lines.next_line()).await??.context("no URL")?;
    Ok((child, url))
}

async fn check(extension: &RemoteExtension, version: &str) -> Result<()> {
    ensure!(extension.name() == "faulty_server");
    ensure!(extension.protocol_version().as_deref() == Some(version), "{extension:?}");
    let answer = extension.call_tool("echo", hashmap! { "text" => json!("hello") }).await?;
    ensure!(answer == json!("hello"), "{answer}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn over_stdio() -> Result<()> {
    for version in VERSIONS {
        let command = command(&["--wire", version]).await?;
        check(&*connect(command, ConnectOptions::default()).await?, version).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn over_http() -> Result<()> {
    for version in VERSIONS {
        let (_child, url) = served(&["--wire", version]).await?;
        check(&*connect(url, ConnectOptions::default()).await?, version).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_and_cancellations_arrive_everywhere() -> Result<()> {
    for version in VERSIONS {
        for over_http in [false, true] {
            let arguments = ["--wire", version, "--changing"];
            // Also the limit of the calls that answer at once, on a busy machine.
            let options =
                ConnectOptions { call_timeout: Some(Duration::from_secs(3)), ..ConnectOptions::default() };
            let (_child, extension) = if over_http {
                let (child, url) = served(&arguments).await?;
                (Some(child), connect(url, options).await?)
            } else {
                (None, connect(command(&arguments).await?, options).await?)
            };
            let late = extension.call_tool("sleep", hashmap! { "seconds" => json!(300) }).await;
            ensure!(late.is_err(), "{late:?}");
            let cancelled = until(async || {
                let ids = extension.call_tool("cancelled", hashmap! {}).await?;
                Ok(ids != json!([]) && ids != json!("[]"))
            });
            cancelled.await.with_context(|| format!("no cancellation, {version}, HTTP: {over_http}"))?;

            let mut changes = extension.changes().context("no changes")?.subscribe();
            extension.call_tool("grow", hashmap! {}).await?;
            let change = tokio::time::timeout(PATIENCE, changes.recv()).await;
            change.with_context(|| format!("no news, {version}, HTTP: {over_http}"))??;
        }
    }
    Ok(())
}

/// Waits until a condition holds, but not for ever.
async fn until(mut holds: impl AsyncFnMut() -> Result<bool>) -> Result<()> {
    let waiting = async {
        while !holds().await? {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    };
    tokio::time::timeout(PATIENCE, waiting).await?
}
