//! `goose mcp`: a built-in as a server.

use std::{process::Stdio, time::Duration};

use anyhow::{Context as _, ensure};
use goose::{
    builtins,
    config::Paths,
    session::{NewSession, SessionStore, Step},
};
use goose_extension::{CallContext, Extension as _, Message, hashmap};
use goose_mcp_bridge::{ConnectOptions, Lifecycle, ProcessSpec, connect};
use serde_json::json;

use crate::support::{Home, wait_until};

/// Time limit for a server to end.
const LIMIT: Duration = Duration::from_secs(5);

fn memory(home: &Home) -> ProcessSpec {
    server(home, "memory")
}

fn server(home: &Home, name: &str) -> ProcessSpec {
    let command = home.goose(&["mcp", name]);
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

#[tokio::test]
async fn platform_extensions_are_served_where_they_need_no_session() -> anyhow::Result<()> {
    let home = Home::new()?;
    let skill = home.path().join("config/skills/tides/SKILL.md");
    std::fs::create_dir_all(skill.parent().context("a folder")?)?;
    std::fs::write(&skill, "---\nname: tides\ndescription: About tides\n---\nThe moon does it.")?;
    let store = SessionStore::open(&SessionStore::file(&Paths::under(home.path()))).await?;
    let session = store.create(NewSession::in_folder("/work")).await?;
    session.append(&Step::Message { message: Message::user("count the walrus") }).await?;
    store.close().await?;

    let calls = [
        ("chatrecall", vec!["chatrecall"], json!({"query": "walrus"}), "count the walrus"),
        ("summon", vec!["load"], json!({"source": "tides"}), "The moon does it."),
        ("apps", vec!["list_apps", "create_app", "iterate_app", "delete_app"], json!({}), "no apps yet"),
    ];
    for (name, tools, arguments, expected) in calls {
        let server = connect(server(&home, name), ConnectOptions::default()).await?;
        let listed: Vec<&str> = server.tools().iter().map(|tool| tool.name()).collect();
        assert_eq!(listed, tools, "{name}");
        let arguments = arguments.as_object().context("an object")?.clone();
        let answer = server.call(tools[0], arguments, &CallContext::new()).await?.as_text();
        ensure!(answer.contains(expected), "{name}: {answer}");
        server.stop().await;
    }
    // The model that writes apps is looked for only when it is asked.
    let server = connect(server(&home, "apps"), ConnectOptions::default()).await?;
    let arguments = hashmap! { "prd" => json!("A timer") };
    let error = server.call_tool("create_app", arguments).await.err().context("there is no model")?;
    ensure!(error.to_string().contains("no model is chosen"), "{error}");
    server.stop().await;
    Ok(())
}

#[test]
fn an_extension_that_needs_a_session_is_refused_with_the_reason() -> anyhow::Result<()> {
    let home = Home::new()?;
    for builtin in builtins::platform() {
        let Some(reason) = builtin.needs_session else { continue };
        let run = home.run(&["mcp", builtin.name])?;
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
        ensure!(
            run.stderr.split_whitespace().eq(format!(
                "error: `{}` works only in a session of goose: {reason}.",
                builtin.name
            )
            .split_whitespace()),
            "{}",
            run.stderr
        );
    }
    ensure!(!home.run(&["mcp", "--help"])?.stdout.contains("extensionmanager"));
    Ok(())
}

#[test]
fn the_end_of_its_input_ends_it() -> anyhow::Result<()> {
    let output = Home::new()?.goose(&["mcp", "tutorial"]).output()?;
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), b"".as_slice()));
    assert_eq!(String::from_utf8(output.stderr)?, "");
    Ok(())
}

/// A client that writes nonsense and closes its end is told so, also before `initialize`.
#[test]
fn a_bad_line_is_answered_before_the_end() -> anyhow::Result<()> {
    let home = Home::new()?;
    for line in ["nonsense\n", "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":5}\n"] {
        let run = home.run_with_input(&["mcp", "tutorial"], line)?;
        let answer: serde_json::Value = serde_json::from_str(run.stdout.trim())?;
        ensure!(answer["error"]["code"].is_number(), "{run:?}");
    }
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
