//! Extensions that are not plain programs: tools of the user interface, Python code; and what programs are given.
#![cfg(target_os = "linux")]

use std::{path::Path, sync::Arc};

use anyhow::{Context as _, ensure};
use goose::{
    agents::{extension::ExtensionConfig, extension_manager::ExtensionManager},
    config::{EnvSecrets, ExtensionKind},
    services::Phase,
};
use goose_extension::ToolError;
use goose_test_support::{binary, write_program};
use serde_json::{Value, json};

use crate::support::{World, bounded, status, text, tool_names};

fn window_tools() -> Vec<Value> {
    let schema = json!({
        "type": "object",
        "properties": { "page": { "type": "integer" }, "never": { "type": "boolean" } },
        "required": ["page"],
    });
    vec![
        json!({ "name": "open", "description": "Opens a page.", "inputSchema": schema }),
        json!({ "description": "This one has no name." }),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_of_a_user_interface_that_is_not_attached_are_not_offered() -> anyhow::Result<()> {
    let world = World::new()?;
    let manager = world.manager(vec![ExtensionConfig::frontend("window", window_tools())]).await?;
    ensure!(tool_names(&manager).await?.is_empty());
    let refused = bounded(manager.call_tool("window__open", json!({ "page": 3 }))).await?;
    ensure!(matches!(refused, Err(ToolError::NotFound(_))), "{refused:?}");
    manager.close().await;
    Ok(())
}

/// A runner in place of the real one: it notes its arguments and becomes a plain server.
fn place_runner(folder: &Path, notes: &Path) -> anyhow::Result<()> {
    let runner = folder.join("uvx");
    let program = binary("faulty_server")?;
    let lines = ["#!/bin/sh".to_owned(), format!("printf '%s\\n' \"$@\" >'{}'", notes.display())];
    write_program(&runner, &format!("{}\nexec '{}'\n", lines.join("\n"), program.display()))
}

#[tokio::test(flavor = "multi_thread")]
async fn python_code_is_run_from_a_file_with_what_it_needs() -> anyhow::Result<()> {
    let tools = tempfile::tempdir()?;
    let path = format!("{}:{}", tools.path().display(), std::env::var("PATH")?);
    let world = World::with_context(|context| {
        context.environment = Arc::new([("PATH", path)].into_iter().collect());
    })?;
    let notes = world.file("arguments");
    place_runner(tools.path(), &notes)?;
    let code = "from mcp import server\nprint('größe \"quoted\"')\n";
    let mut config = ExtensionConfig::inline_python("snake", code);
    if let ExtensionKind::InlinePython { dependencies, .. } = &mut config.kind {
        dependencies.push("httpx".to_owned());
    }
    let manager = world.manager(vec![config]).await?;
    ensure!(text(&manager, "snake__echo", json!({ "text": "sss" })).await? == "sss");
    let arguments = std::fs::read_to_string(notes)?;
    let arguments: Vec<&str> = arguments.lines().collect();
    let (script, before) = arguments.split_last().context("there are arguments")?;
    ensure!(before == ["--with", "mcp", "--with", "httpx", "python"], "{arguments:?}");
    ensure!(Path::new(script).starts_with(world.paths().cache) && std::fs::read_to_string(script)? == code);
    manager.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_not_there_is_named() -> anyhow::Result<()> {
    let world = World::new()?;
    let missing = ExtensionConfig::stdio("missing", "no-such-program-anywhere", Vec::<String>::new());
    let unknown = ExtensionConfig::builtin("unknown");
    let manager = world.manager(vec![missing, unknown, world.server("fine", &[])?]).await?;
    ensure!(tool_names(&manager).await?.iter().all(|name| name.starts_with("fine__")));
    for (name, words) in [("missing", "no-such-program-anywhere"), ("unknown", "memory")] {
        let report = status(&manager, name)?.service;
        ensure!(report.reason.as_ref().is_some_and(|reason| reason.contains(words)), "{report:?}");
        ensure!(report.phase == Phase::Degraded && report.failures == 1, "{report:?}");
    }
    manager.close().await;
    Ok(())
}

async fn variable(manager: &ExtensionManager, name: &str) -> anyhow::Result<String> {
    text(manager, "a__env", json!({ "name": name })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_is_given_the_secrets_it_asks_for_and_no_others() -> anyhow::Result<()> {
    let path = std::env::var("PATH")?;
    let variables = [
        ("PATH", path.as_str()),
        ("LANG", "de"),
        ("WANTED_TOKEN", "wanted-canary"),
        ("OTHER_TOKEN", "other-canary"),
        ("OPENAI_API_KEY", "key-canary"),
    ];
    let world = World::with_context(|context| {
        context.environment = Arc::new(variables.into_iter().collect());
        context.secrets = Arc::new(EnvSecrets::from_iter(variables));
    })?;
    let config = world.server("a", &[])?.with_env("MODE", "plain").with_env_key("WANTED_TOKEN");
    let manager = world.manager(vec![config]).await?;
    ensure!(variable(&manager, "WANTED_TOKEN").await? == "wanted-canary");
    ensure!(variable(&manager, "MODE").await? == "plain" && variable(&manager, "LANG").await? == "de");
    for name in ["OTHER_TOKEN", "OPENAI_API_KEY", "HOME", "CARGO_MANIFEST_DIR"] {
        ensure!(variable(&manager, name).await? == "(unset)", "{name} reached the child");
    }
    let seen = format!("{:?} {:?} {}", manager.status(), world.pool, json!(manager.status()));
    ensure!(!seen.contains("canary"), "{seen}");
    manager.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_is_missing_is_named_and_nothing_starts() -> anyhow::Result<()> {
    let world = World::new()?;
    let config = world.server("a", &[])?.with_env_key("MISSING_TOKEN");
    let manager = world.manager(vec![config, world.server("fine", &[])?]).await?;
    ensure!(tool_names(&manager).await?.iter().all(|name| name.starts_with("fine__")));
    let report = status(&manager, "a")?.service;
    let reason = report.reason.unwrap_or_default();
    ensure!(report.phase == Phase::Dead && reason.contains("MISSING_TOKEN"), "{reason}");
    ensure!(world.starts("a").is_empty());
    manager.close().await;
    Ok(())
}
