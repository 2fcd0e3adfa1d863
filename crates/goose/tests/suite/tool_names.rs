//! Names of tools, and the tools that may be used.
#![cfg(target_os = "linux")]

use std::sync::Arc;

use anyhow::{Context as _, ensure};
use goose::agents::extension_manager::ExtensionManager;
use goose_extension::{Extension as _, ToolError};
use goose_test_support::KitchenSink;
use serde_json::json;

use crate::support::{World, bounded, status, text, tool_names};

async fn not_found(manager: &ExtensionManager, name: &str) -> anyhow::Result<String> {
    match bounded(manager.call_tool(name, json!({}))).await? {
        Err(ToolError::NotFound(text)) => Ok(text),
        other => anyhow::bail!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bare_name_means_the_only_tool_of_that_name() -> anyhow::Result<()> {
    let world = World::new()?;
    let configs = vec![world.server("one", &["--tools", "1"])?, world.server("two", &["--changing"])?];
    let manager = world.manager(configs).await?;
    ensure!(text(&manager, "tool_0", json!({})).await? == "tool_0 was called");
    ensure!(text(&manager, "two__echo", json!({ "text": "full" })).await? == "full");
    let ambiguous = not_found(&manager, "echo").await?;
    ensure!(ambiguous.contains("one__echo, two__echo"), "{ambiguous}");
    let unknown = not_found(&manager, "one__ech").await?;
    ensure!(unknown.contains("Did you mean") && unknown.contains("one__echo"), "{unknown}");
    let strange = not_found(&manager, &"x".repeat(100_000)).await?;
    ensure!(strange.len() < 2000, "{}", strange.len());
    manager.close().await;
    Ok(())
}

/// A server that calls its tool as another extension's would be called gets no calls that are meant for that one.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_answers_for_an_extension_that_is_not_there() -> anyhow::Result<()> {
    let world = World::new()?;
    let evil = world.server("evil", &["--progress", "fs__write", "1"])?;
    let manager = world.manager(vec![evil, world.server("fs", &["--die-on-start"])?]).await?;
    ensure!(tool_names(&manager).await?.iter().any(|name| name == "evil__fs__write"));
    let dead = not_found(&manager, "fs__write").await?;
    ensure!(dead.contains("`fs` is not available"), "{dead}");
    manager.remove("fs").await?;
    not_found(&manager, "fs__write").await?;
    text(&manager, "evil__fs__write", json!({})).await?;
    manager.close().await;
    Ok(())
}

/// A call by bare name waits for those who may have the tool.
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_of_an_extension_that_still_starts_is_found() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = world.manager(vec![world.server("a", &["--slow-start", "1", "--tools", "1"])?]).await?;
    ensure!(manager.known_tools().is_empty());
    ensure!(text(&manager, "tool_0", json!({})).await? == "tool_0 was called");
    manager.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_listed_in_the_same_order_whatever_starts_first() -> anyhow::Result<()> {
    let world = World::new()?;
    let mut lists = Vec::new();
    for slow in ["0", "0.5"] {
        let configs = vec![
            world.server("b", &["--slow-start", slow])?,
            world.server("a", &[])?,
            world.server("c", &["--slow-start", "0.2"])?,
        ];
        let manager = world.manager(configs).await?;
        lists.push(tool_names(&manager).await?);
        ensure!(manager.names() == ["b", "a", "c"]);
        manager.close().await;
    }
    ensure!(lists[0] == lists[1] && lists[0].is_sorted() && lists[0].len() == 18, "{lists:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_tools_that_are_allowed_are_listed_and_run() -> anyhow::Result<()> {
    let world = World::new()?;
    let allowed = world.server("a", &["--changing"])?.with_available_tools(["echo", "count", "missing"]);
    let manager = world.manager(vec![allowed]).await?;
    ensure!(tool_names(&manager).await? == ["a__count", "a__echo"]);
    ensure!(text(&manager, "a__count", json!({})).await? == "1");
    for name in ["a__pid", "pid", "a__grow", "grow", "a__missing"] {
        let error = not_found(&manager, name).await?;
        let (_, hint) = error.split_once("`. ").context("there is a hint")?;
        ensure!(!hint.contains("a__pid") && !hint.contains("a__grow"), "{error}");
    }
    let report = status(&manager, "a")?;
    ensure!(report.tools == 2 && report.missing_tools == ["missing"], "{report:?}");
    // Another agent, the same process, and other rights.
    let other = world.manager(vec![world.server("a", &["--changing"])?]).await?;
    text(&other, "a__grow", json!({})).await?;
    ensure!(text(&other, "a__count", json!({})).await? == "2" && world.starts("a").len() == 1);
    ensure!(not_found(&manager, "a__grown_0").await.is_ok(), "a new tool is not allowed by itself");
    manager.close().await;
    other.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_extension_of_the_program_itself_is_called_like_any_other() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = world.manager(vec![world.server("other", &[])?]).await?;
    let kitchen_sink = Arc::new(KitchenSink::new());
    manager.add_extension(kitchen_sink.clone())?;
    tool_names(&manager).await?;
    let name = kitchen_sink.name().to_owned();
    let sum = bounded(manager.call_tool(&format!("{name}__add"), json!({ "a": 2, "b": 3 }))).await??;
    ensure!(sum.into_value()? == json!(5) && kitchen_sink.entered() == 1);
    let wrong = bounded(manager.call_tool("add", json!({ "a": "two" }))).await?;
    ensure!(
        matches!(wrong, Err(ToolError::InvalidParameters(_))) && kitchen_sink.entered() == 1,
        "{wrong:?}"
    );
    let panicked = bounded(manager.call_tool("panic_now", json!({}))).await??;
    ensure!(panicked.is_error, "{panicked:?}");
    let ambiguous = not_found(&manager, "sleep").await?;
    ensure!(ambiguous.contains("other__sleep"), "{ambiguous}");
    let kind = status(&manager, &name).context("it is listed")?.service.kind;
    ensure!(kind == "in_process", "{kind}");
    manager.close().await;
    Ok(())
}
