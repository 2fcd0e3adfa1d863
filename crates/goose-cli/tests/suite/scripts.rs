//! Commands and flags that scripts for goose 1.52 use.

use std::fs;

use anyhow::{Context as _, ensure};
use goose_test_support::{ModelServer, Turn};
use serde_json::Value;

use crate::{
    run::goose,
    sessions::{ids, with_two},
    support::{Home, Run, program},
    talk::at_terminal_with,
};

#[test]
fn sessions_are_sorted_filtered_and_removed_by_pattern() -> anyhow::Result<()> {
    let home = with_two()?;
    assert_eq!(ids(&home, &[])?, ["20261102_1", "20261101_1"]);
    assert_eq!(ids(&home, &["--ascending"])?, ["20261101_1", "20261102_1"]);
    assert_eq!(ids(&home, &["-w", "/work"])?.len(), 2);
    assert_eq!(ids(&home, &["--working_dir", "/elsewhere"])?.len(), 0);

    let none = home.run(&["session", "remove", "--regex", "^nothing$"])?;
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), "No session matches.\n"));
    let broken = home.run(&["session", "remove", "--regex", "("])?;
    ensure!(broken.code == Some(1) && broken.stderr.contains("regular expression"), "{broken:?}");
    let unsure = home.run(&["session", "remove", "-r", "Which|ports"])?;
    ensure!(unsure.code == Some(1) && unsure.stderr.contains("20261101_1 (Which bird is it?"), "{unsure:?}");
    assert_eq!(ids(&home, &[])?.len(), 2);
    let removed = home.run(&["session", "remove", "ports", "20261101_1", "ports", "--yes"])?;
    assert_eq!((removed.code, removed.stdout.matches("Removed").count()), (Some(0), 2), "{removed:?}");
    assert!(ids(&home, &[])?.is_empty());
    Ok(())
}

#[test]
fn an_export_has_the_form_of_its_file() -> anyhow::Result<()> {
    let home = with_two()?;
    let export = |arguments: &[&str]| home.run(&[&["session", "export", "ports"], arguments].concat());
    ensure!(export(&[])?.stdout.starts_with('#'), "Markdown is the default");
    let json = export(&["--format", "json"])?.json()?;
    let yaml: Value = serde_saphyr::from_str(&export(&["--format", "yaml"])?.stdout)?;
    assert_eq!(yaml["session"]["id"], json["session"]["id"]);
    for (file, start) in [("a.json", '{'), ("a.md", '#'), ("a.txt", '#')] {
        assert_eq!(export(&["-o", file])?.code, Some(0));
        let text = fs::read_to_string(home.path().join(file))?;
        ensure!(text.starts_with(start), "{file}: {text}");
    }
    assert_eq!(home.run(&["session", "import", "a.json"])?.code, Some(0));
    Ok(())
}

#[test]
fn flags_of_extensions_are_understood() -> anyhow::Result<()> {
    let home = Home::new()?;
    let named = format!("sink:MODE=1 {}", program("kitchen_sink", "")?);
    let listed =
        home.run(&["extension", "list", "--no-profile", "--with-extension", &named, "--json"])?.json()?;
    ensure!(listed.to_string().contains("\"sink\""), "{listed}");
    let url = "http://127.0.0.1:9/mcp timeout=7";
    let listed =
        home.run(&["extension", "list", "--no-profile", "--with-streamable-http-extension", url, "--json"])?;
    ensure!(listed.stdout.contains("127.0.0.1:9") && !listed.stdout.contains("timeout=7"), "{listed:?}");
    let wrong = "http://127.0.0.1:9/mcp retries=7";
    let refused = home.run(&["extension", "list", "--with-streamable-http-extension", wrong])?;
    ensure!(refused.code == Some(1) && refused.stderr.contains("timeout=SECONDS"), "{refused:?}");
    let builtins =
        home.run(&["extension", "list", "--no-profile", "--with-builtin", "memory,todo,summon"])?;
    assert_eq!(builtins.code, Some(0), "{builtins:?}");
    Ok(())
}

#[test]
fn a_run_prints_its_statistics_and_a_file_names_its_session() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::answering(|_| Turn::text("Hello.").costing(11, 22))?;
    let run: Run = goose(&home, &server, &["run", "--stats", "-t", "hi"]).output()?.try_into()?;
    assert_eq!(run.stdout, "Hello.\n");
    ensure!(run.stderr.contains("11 input tokens") && run.stderr.contains("22 output tokens"), "{run:?}");
    let id = ids(&home, &[])?.pop().context("a session")?;
    let file = format!("/old/sessions/{id}.jsonl");
    let run: Run = goose(&home, &server, &["run", "--path", &file, "-t", "again"]).output()?.try_into()?;
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(ids(&home, &[])?, [id]);
    Ok(())
}

#[test]
fn names_of_commands_and_shells_are_known() -> anyhow::Result<()> {
    let home = Home::new()?;
    let script = home.run(&["completion", "nu"])?;
    ensure!(script.code == Some(0) && script.stdout.contains("export extern goose"), "{script:?}");
    let script = home.run(&["completion", "bash", "--bin-name", "gs"])?;
    ensure!(script.stdout.contains("complete -F _gs") && script.stdout.contains(" gs\n"), "{script:?}");
    #[cfg(feature = "local")]
    for name in ["local-models", "lm"] {
        assert_eq!(home.run(&[name, "list"])?.code, Some(0));
    }
    assert_eq!(home.run(&["sched", "cron-help"])?.code, Some(0));
    for (name, advice) in [("gateway", "goose serve"), ("term", "goose run --resume"), ("plugin", "skills")] {
        let run = home.run(&[name, "status"])?;
        ensure!(run.code == Some(2) && run.stderr.contains(advice), "{run:?}");
    }
    for (arguments, advice) in [
        (["session", "--container", "x"], "docker exec -i"),
        (["session", "export", "--nostr"], "goose session import FILE.json"),
        (["info", "--check", "-v"], "goose doctor"),
    ] {
        let run = home.run(&arguments)?;
        ensure!(run.code == Some(2) && run.stderr.contains(advice), "{run:?}");
    }
    Ok(())
}

/// The messages of a session are changed in an editor before it is resumed.
#[test]
fn messages_are_edited_before_a_session_is_resumed() -> anyhow::Result<()> {
    let home = Home::new()?;
    let server = ModelServer::answering(|_| Turn::text("Hello."))?;
    let run: Run = goose(&home, &server, &["run", "-t", "The bird is blue"]).output()?.try_into()?;
    assert_eq!(run.code, Some(0), "{run:?}");
    let edit = |command: &str, expected: &str| {
        let editor = home.path().join("editor.sh");
        fs::write(&editor, format!("#!/bin/sh\n{command}\n"))?;
        fs::set_permissions(&editor, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let editor = [("EDITOR", editor.display().to_string())];
        let terminal = at_terminal_with(&home, &server, "auto", &["session", "--resume", "--edit"], &editor)?;
        terminal.wait_for(expected)?;
        Ok::<_, anyhow::Error>(terminal)
    };
    drop(edit("echo broken > \"$1\"", "cannot be read")?);
    drop(edit("true", "unchanged")?);
    let mut terminal = edit("sed -i s/blue/green/ \"$1\"", "The session now has")?;
    terminal.wait_for("›")?;
    terminal.send("Which colour?\r")?;
    terminal.wait_until("it was not asked", |_| server.asked().len() == 2)?;
    let sent = server.asked()[1].body.to_string();
    ensure!(sent.contains("The bird is green") && !sent.contains("The bird is blue"), "{sent}");
    terminal.wait_for("tokens")?;
    terminal.send("/exit\r")?;
    assert_eq!(terminal.wait()?.code(), Some(0));
    Ok(())
}
