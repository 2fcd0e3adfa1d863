//! `goose doctor`: problems are found, and fixes suggested.

use std::{fs, net::TcpListener, os::unix::fs::PermissionsExt as _};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::support::{Home, Run};

/// The check of that name.
fn check<'j>(json: &'j Value, name: &str) -> anyhow::Result<&'j Value> {
    let checks = json["checks"].as_array().context("no checks")?;
    checks.iter().find(|check| check["name"] == name).with_context(|| format!("no '{name}' in {json:#}"))
}

fn examined(home: &Home, arguments: &[&str]) -> anyhow::Result<(Run, Value)> {
    let arguments = [&["doctor", "--json"], arguments].concat();
    let output =
        home.goose(&arguments).env("GOOSE_DISABLE_KEYRING", "1").env("OPENAI_API_KEY", "key").output()?;
    let run: Run = output.try_into()?;
    let json = run.json()?;
    Ok((run, json))
}

#[test]
fn a_home_that_works_is_healthy() -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let home = Home::with_config(&format!(
        "GOOSE_PROVIDER: openai\nGOOSE_MODEL: gpt-5\nOPENAI_HOST: http://{}\nextensions:\n  memory: {{type: builtin}}\n  m: {{type: stdio, cmd: '{{faulty_server}}'}}\n",
        listener.local_addr()?
    ))?;
    let (run, json) = examined(&home, &["--start"])?;
    assert_eq!((run.code, &json["healthy"]), (Some(0), &Value::Bool(true)), "{json:#}");
    for name in [
        "config folder",
        "configuration",
        "model",
        "provider",
        "shell",
        "sessions",
        "extension m",
        "start of memory",
        "start of m",
    ] {
        assert_eq!(check(&json, name)?["state"], "good", "{name}: {json:#}");
    }
    ensure!(!home.path().join("data").exists(), "looking has made something");
    let people = home.run(&["doctor"])?;
    ensure!(people.stdout.ends_with("found.\n"), "{}", people.stdout);
    Ok(())
}

/// Names and values of the configuration cannot write to the terminal.
#[test]
fn names_of_extensions_are_escaped() -> anyhow::Result<()> {
    let name = r"a\e]0;title\a\u202eb\r";
    let home = Home::with_config(&format!(
        "extensions:\n  \"{name}\": {{type: stdio, cmd: \"x{name}\"}}\n  \"h{name}\": {{type: streamable_http, uri: \"http://x/{name}\"}}\n"
    ))?;
    for arguments in [&["doctor"][..], &["doctor", "--start"], &["doctor", "--json"]] {
        let run = home.run(arguments)?;
        let shown = format!("{}{}", run.stdout, run.stderr);
        ensure!(shown.contains("title"), "{arguments:?}: {shown}");
        ensure!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}', '\r']), "{arguments:?}: {shown:?}");
    }
    Ok(())
}

#[test]
fn problems_are_reported_with_fixes() -> anyhow::Result<()> {
    let free = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let home = Home::with_config(&format!(
        "GOOSE_PROVIDER: openai\nGOOSE_MODEL: gpt-5\nOPENAI_HOST: http://{free}\nGOOSE_SHELL: /nowhere/sh\nextensions:\n  gone: {{type: stdio, cmd: no-such-program-here}}\n  old: {{type: sse}}\n  secret: {{type: stdio, cmd: sh, env_keys: [NOBODY_SET_THIS]}}\n  off: {{type: sse, enabled: false}}\n",
    ))?;
    fs::write(home.path().join("config/secrets.yaml"), "A: b\n")?;
    fs::set_permissions(home.path().join("config/secrets.yaml"), fs::Permissions::from_mode(0o644))?;
    let (run, json) = examined(&home, &[])?;
    assert_eq!((run.code, &json["healthy"]), (Some(1), &Value::Bool(false)));
    for (name, state, says) in [
        ("provider", "bad", "cannot be reached"),
        ("shell", "bad", "/nowhere/sh cannot be started"),
        ("extension gone", "bad", "'no-such-program-here' was not found"),
        ("extension old", "bad", "streamable_http"),
        ("extension secret", "bad", "NOBODY_SET_THIS"),
        ("secrets.yaml", "warning", "other users can read"),
        ("configuration", "good", "config.yaml"),
    ] {
        let check = check(&json, name)?;
        assert_eq!(check["state"], state, "{check:#}");
        ensure!(check["says"].as_str().is_some_and(|it| it.contains(says)), "{check:#}");
        ensure!(state == "good" || check["fix"].is_string(), "{check:#}");
    }
    ensure!(check(&json, "extension off").is_err());
    Ok(())
}

#[test]
fn a_home_without_a_model_or_with_a_broken_file_is_not_healthy() -> anyhow::Result<()> {
    let nowhere = Home::with_config("GOOSE_PROVIDER: anthropic\n")?;
    let (run, json) = examined(&nowhere, &[])?;
    assert_eq!((run.code, &check(&json, "model")?["state"]), (Some(1), &Value::from("bad")));
    ensure!(check(&json, "model")?["fix"].as_str().is_some_and(|it| it.contains("goose configure")));

    let broken = Home::with_config("A: [\n")?;
    let (run, json) = examined(&broken, &[])?;
    let configuration = check(&json, "configuration")?;
    assert_eq!((run.code, &configuration["state"]), (Some(1), &Value::from("bad")));
    ensure!(
        configuration["says"].as_str().is_some_and(|it| it.contains("config.yaml:1:4")),
        "{configuration:#}"
    );
    Ok(())
}

#[test]
fn what_cannot_be_read_is_not_as_if_it_were_not_set() -> anyhow::Result<()> {
    let home = Home::with_config(
        "GOOSE_PROVIDER: openai\nGOOSE_MODEL: gpt-5\nOPENAI_HOST: [oops]\nGOOSE_SHELL: {a: b}\nGOOSE_MODE: yolo\n",
    )?;
    let (run, json) = examined(&home, &[])?;
    assert_eq!(run.code, Some(1));
    for (name, says) in [
        ("model", "config.yaml:3:14: 'OPENAI_HOST'"),
        ("shell", "config.yaml:4:"),
        ("configuration", "config.yaml:5:1: `yolo` is not a mode"),
    ] {
        let check = check(&json, name)?;
        assert_eq!(check["state"], "bad", "{check:#}");
        ensure!(check["says"].as_str().is_some_and(|it| it.contains(says)), "{check:#}");
    }
    Ok(())
}

#[test]
fn a_damaged_store_is_found() -> anyhow::Result<()> {
    let home = Home::with_config("GOOSE_PROVIDER: openai\nGOOSE_MODEL: gpt-5\n")?;
    let file = home.path().join("data/sessions/goose.db");
    fs::create_dir_all(file.parent().context("no folder")?)?;
    // Made by looking for what is not there.
    home.run(&["session", "search", "x"])?;
    ensure!(file.exists(), "there is no store");
    let (_, json) = examined(&home, &[])?;
    assert_eq!(check(&json, "sessions")?["state"], "good", "{json:#}");
    let mut bytes = fs::read(&file)?;
    let page = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    bytes[page..].fill(0x55);
    fs::write(&file, bytes)?;
    let (run, json) = examined(&home, &[])?;
    let sessions = check(&json, "sessions")?;
    assert_eq!((run.code, &sessions["state"]), (Some(1), &Value::from("bad")), "{sessions:#}");
    ensure!(sessions["fix"].is_string());
    Ok(())
}

/// All files that goose reads are looked at, and errors name the file and the line.
#[test]
fn every_file_is_looked_at() -> anyhow::Result<()> {
    let home = Home::with_config(
        "GOOSE_MODEE: auto\nagents:\n  badtype: {type: acpp, command: cat}\n  lost: {type: acp, command: no-such-program-here}\n",
    )?;
    let config = home.path().join("config");
    fs::create_dir_all(config.join("agents"))?;
    fs::create_dir_all(config.join("profiles"))?;
    fs::write(config.join("permission.yaml"), "rules:\n  - alow: shell ls\n")?;
    fs::write(config.join("profiles/fast.yaml"), "temprature: 1\n")?;
    fs::write(config.join("profiles/slow.yaml"), "max_turns: many\n")?;
    fs::write(
        config.join("agents/mine.yaml"),
        "name: mine\nmodes:\n  - slug: main\n    tool_groups: [read, [edit, {fileRegexp: x}]]\n",
    )?;
    fs::write(config.join("agents/typo.yaml"), "name: typo\nmodes:\n  - slug: main\n    dependecies: []\n")?;
    let (run, json) = examined(&home, &[])?;
    assert_eq!(run.code, Some(1), "{json:#}");
    let text = json["checks"].to_string();
    for expected in [
        "permission.yaml:2:",
        "slow.yaml:1:",
        "config.yaml:1:1: unknown key 'GOOSE_MODEE'; did you mean 'GOOSE_MODE'?",
        "fast.yaml:1:1: unknown key 'temprature'; did you mean 'temperature'?",
        "line 4, 'modes.0.tool_groups.1': expected the name of a group",
        "typo.yaml:4:5: unknown key 'dependecies'; did you mean 'dependencies'?",
        "agent 'badtype'",
        "the program 'no-such-program-here' was not found",
    ] {
        ensure!(text.contains(expected), "no {expected} in {text}");
    }
    let run = home.run(&["run", "--agent", "badtype", "hi"])?;
    ensure!(run.code == Some(1) && run.stderr.contains("acpp"), "{run:?}");
    let run = home.run(&["agents", "validate", "config/agents/typo.yaml"])?;
    ensure!(run.stdout.starts_with("warning") && run.stdout.contains("dependecies"), "{run:?}");
    Ok(())
}
