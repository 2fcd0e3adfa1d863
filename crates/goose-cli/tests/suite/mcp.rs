//! `goose mcp`: a built-in as a server.

use std::{process::Stdio, time::Duration};

use anyhow::{Context as _, ensure};
use goose_extension::{Extension as _, hashmap};
use goose_mcp_bridge::{ConnectOptions, Lifecycle, ProcessSpec, connect};
use serde_json::json;

use crate::support::{Home, wait_until};

/// How long a server may take to end.
const LIMIT: Duration = Duration::from_secs(5);

fn memory(home: &Home) -> ProcessSpec {
    let command = home.goose(&["mcp", "memory"]);
    let mut spec = ProcessSpec::new(command.get_program());
    spec.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => spec.env(name, value),
            None => spec.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        spec.current_dir(folder);
    }
    spec
}

#[tokio::test]
async fn memory_is_served_in_both_eras() -> anyhow::Result<()> {
    let home = Home::new()?;
    for lifecycle in [Lifecycle::Initialize, Lifecycle::Discover] {
        let server =
            connect(memory(&home), ConnectOptions { lifecycle, ..ConnectOptions::default() }).await?;
        ensure!(server.tools().iter().any(|tool| tool.name() == "remember_memory"));
        let arguments = hashmap! {
            "category" => json!("test"), "data" => json!("geese fly south"), "is_global" => json!(true),
        };
        server.call_tool("remember_memory", arguments).await?;
        server.stop().await;
    }
    let kept = std::fs::read_to_string(home.path().join("config/memory/test.txt"))?;
    ensure!(kept.contains("geese fly south"), "{kept}");
    Ok(())
}

#[test]
fn the_end_of_its_input_ends_it() -> anyhow::Result<()> {
    let output = Home::new()?.goose(&["mcp", "tutorial"]).output()?;
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), b"".as_slice()));
    assert_eq!(String::from_utf8(output.stderr)?, "");
    Ok(())
}

#[test]
fn signals_end_it_cleanly() -> anyhow::Result<()> {
    let home = Home::new()?;
    for signal in ["-TERM", "-INT"] {
        // A file of its log shows when it listens.
        let log = home.path().join("log");
        let mut child = home
            .goose(&["mcp", "memory"])
            .env("RUST_LOG", "debug")
            .stdin(Stdio::piped())
            .stderr(std::fs::File::create(&log)?)
            .spawn()?;
        wait_until(LIMIT, "it listens", || Ok(std::fs::metadata(&log)?.len() > 0))?;
        let sent = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status()?;
        ensure!(sent.success());
        let mut code = None;
        wait_until(LIMIT, "it ends", || {
            code = child.try_wait()?;
            Ok(code.is_some())
        })?;
        assert_eq!(code.context("it has ended")?.code(), Some(0), "{signal}");
    }
    Ok(())
}
