//! Pages of the autovisualiser at the command line, and the commands of the tutorials.

use std::fs;

use anyhow::{Context as _, ensure};
use goose_test_support::{ModelServer, Turn, write_program};
use serde_json::json;

use crate::{
    run::goose,
    support::{Home, Run},
    talk::{at_terminal, prompted},
};

const CHART: &str = r#"{"data": {"type": "bar", "title": "Sales", "labels": ["a", "b"], "datasets": [{"label": "x", "data": [1, 2]}]}}"#;

#[test]
fn a_page_is_drawn_and_opened() -> anyhow::Result<()> {
    let home = Home::with_config("extensions:\n  autovisualiser: { type: builtin, enabled: true }\n")?;
    let drawn = home.run(&["extension", "call", "autovisualiser", "show_chart", "--args", CHART])?;
    assert_eq!(drawn.code, Some(0), "{drawn:?}");
    ensure!(drawn.stdout.starts_with("Drew \"Sales\", a bar chart: 1 dataset, 2 values.\n"), "{drawn:?}");
    let name = drawn.stdout.split("`goose apps open ").nth(1).context("a command")?;
    let name = name.split('`').next().context("a name")?;
    let file = drawn.stdout.lines().nth(2).context("a file")?;
    ensure!(fs::read_to_string(file)?.contains("<svg"), "{file}");

    let (server, programs) = (ModelServer::scripted([])?, home.path().join("programs"));
    fs::create_dir(&programs)?;
    let (starter, seen) = (programs.join("xdg-open"), programs.join("seen"));
    write_program(&starter, &format!("#!/bin/sh\nprintf %s \"$1\" > '{}'\n", seen.display()))?;
    for name in [name.to_owned(), format!("ui://autovisualiser/{name}")] {
        let mut command = goose(&home, &server, &["apps", "open", &name]);
        let opened: Run = command.env("PATH", &programs).output()?.try_into()?;
        assert_eq!(opened.code, Some(0), "{opened:?}");
        assert_eq!(fs::read_to_string(&seen)?, format!("file://{file}"));
    }
    let missing = home.run(&["apps", "open", "ui://autovisualiser/chart-nothing"])?;
    ensure!(missing.code == Some(1) && missing.stderr.contains("chart-nothing"), "{missing:?}");
    Ok(())
}

/// A model that draws in a session: the terminal shows how to open the page.
#[test]
fn the_terminal_says_how_to_open_a_page() -> anyhow::Result<()> {
    let home = Home::with_config("extensions:\n  autovisualiser: { type: builtin, enabled: true }\n")?;
    let call = Turn::call("autovisualiser__show_chart", serde_json::from_str(CHART)?);
    let server = ModelServer::scripted([call, Turn::text("There it is.")])?;
    let mut terminal = at_terminal(&home, &server, "auto", &["session"])?;
    prompted(&terminal)?;
    terminal.send("Draw the sales\r")?;
    terminal.wait_for("There it is.")?;
    let screen = terminal.screen();
    ensure!(
        screen.contains("autovisualiser: show_chart") && screen.contains("goose apps open chart-sales-"),
        "{screen}"
    );
    prompted(&terminal)?;
    terminal.send("/exit\r")?;
    assert_eq!(terminal.wait()?.code(), Some(0));
    Ok(())
}

/// Nothing of a service that is not enabled is sent.
#[test]
fn the_first_request_has_nothing_of_it() -> anyhow::Result<()> {
    let (home, server) = (Home::new()?, ModelServer::scripted([Turn::text("ok")])?);
    let run: Run = goose(&home, &server, &["run", "-t", "Draw a chart"]).output()?.try_into()?;
    assert_eq!(run.code, Some(0), "{run:?}");
    let asked = server.asked();
    let body = asked.first().context("a request")?.body.to_string();
    ensure!(!body.contains("autovisualiser") && !body.contains("render_"), "{body}");
    Ok(())
}

/// Runs all commands of the tutorial about goose itself, in the order in which they stand there.
#[test]
fn the_commands_of_the_first_steps_work() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::scripted([Turn::text("Geese on still water.")])?;
    let lesson = home.run(&[
        "extension",
        "call",
        "tutorial",
        "load_tutorial",
        "--with-builtin",
        "tutorial",
        "--args",
        &json!({ "name": "first-steps" }).to_string(),
    ])?;
    assert_eq!(lesson.code, Some(0), "{lesson:?}");
    let blocks: Vec<&str> =
        lesson.stdout.split("```sh\n").skip(1).filter_map(|block| block.split("```").next()).collect();
    ensure!(blocks.len() >= 8, "{}", lesson.stdout);
    // The shell finds goose by its name, as at the person's terminal.
    let programs = home.path().join("programs");
    fs::create_dir(&programs)?;
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_goose"), programs.join("goose"))?;
    let path = std::env::join_paths(
        std::iter::once(programs).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    )?;
    for command in blocks.iter().flat_map(|block| block.lines()) {
        let like_goose = goose(&home, &server, &[]);
        let mut shell = std::process::Command::new("bash");
        shell.args(["-ec", command]).current_dir(home.path());
        for (name, value) in like_goose.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        let run: Run = shell.env("PATH", &path).env("GOOSE_MODE", "auto").output()?.try_into()?;
        assert_eq!(run.code, Some(0), "{command}: {run:?}");
        ensure!(command.starts_with("mkdir") || !run.stdout.trim().is_empty(), "{command}: {run:?}");
    }
    Ok(())
}
