//! Secrets: they reach no child process that was not given them, and nothing that goose prints.

use std::fs;

use anyhow::ensure;

use crate::support::{Home, Run};

/// Variables that are secrets, by name or by value. None of these is real.
const SECRETS: [(&str, &str); 18] = [
    ("CONNECTION_STRING", "Server=db;User=a;Password=canary-1"),
    ("SLACK_WEBHOOK", "canary-2"),
    ("STRIPE_SK", "canary-3"),
    ("PRIVATE_PEM", "canary-4"),
    ("SESSION_ID", "canary-5"),
    ("MY_SALT", "canary-6"),
    ("HF_HUB", "hf_CANARYabcdefghijklmnop0123"),
    ("PAYMENTS", "sk_live_CANARY0123456789"),
    ("MODEL_ACCESS", "sk-proj-CANARY0123456789abcdef"),
    ("FORGE", "ghp_CANARY0123456789abcdefghijkl"),
    ("FORGE2", "glpat-CANARY0123456789"),
    ("CHAT", "xoxb-123-CANARY"),
    ("CLOUD", "AKIACANARY0123456789"),
    ("DEPLOY_HOOK", "https://hooks.slack.com/services/T0/B0/CANARY"),
    ("DB", "postgres://me:CANARY@host/db"),
    ("ANSWER", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJDQU5BUlkifQ.Q0FOQVJZ"),
    ("LETTER", "-----BEGIN OPENSSH PRIVATE KEY-----\nCANARY"),
    ("CURL_OPTIONS", "-H 'Authorization: Bearer ghp_CANARY0123456789abcdefghijkl'"),
];

/// Variables that programs need.
const HARMLESS: [(&str, &str); 10] = [
    ("SESSION_MANAGER", "local/host:@/tmp/.ICE-unix/1"),
    ("XDG_SESSION_ID", "2"),
    ("XDG_SESSION_TYPE", "wayland"),
    ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1000/bus"),
    ("DESKTOP_SESSION", "gnome"),
    ("GPG_TTY", "/dev/pts/1"),
    ("SSH_AUTH_SOCK", "/run/agent.sock"),
    ("MACHTYPE", "x86_64-pc-linux-gnu"),
    ("LS_COLORS", "rs=0:di=01;34:ln=01;36"),
    ("LANGUAGE", "sk-SK:sk"),
];

fn is_leaked(text: &str) -> bool {
    text.to_ascii_lowercase().contains("canary")
}

fn with_variables(home: &Home, arguments: &[&str]) -> anyhow::Result<Run> {
    home.goose(arguments).envs(SECRETS).envs(HARMLESS).output()?.try_into()
}

#[test]
fn commands_do_not_see_secrets() -> anyhow::Result<()> {
    let home = Home::new()?;
    let run = with_variables(
        &home,
        &["extension", "call", "developer", "shell", "--args", r#"{"command": "env"}"#],
    )?;
    assert_eq!(run.code, Some(0), "{run:?}");
    for (name, _) in SECRETS {
        let is_it = |line: &str| line.starts_with(&format!("{name}="));
        ensure!(!run.stdout.lines().any(is_it), "{name} reached a command");
    }
    ensure!(!is_leaked(&run.stdout), "{}", run.stdout);
    for (name, value) in HARMLESS {
        ensure!(run.stdout.contains(&format!("{name}={value}")), "{name} is missing:\n{}", run.stdout);
    }
    ensure!(run.stdout.contains("PATH=") && run.stdout.contains("HOME="), "{}", run.stdout);
    Ok(())
}

#[test]
fn servers_see_only_the_secrets_that_they_are_given() -> anyhow::Result<()> {
    let home = Home::with_config(
        "extensions:\n  bench:\n    type: stdio\n    enabled: true\n    cmd: sh\n    \
         args: ['-c', 'env > {home}/seen; exec {kitchen_sink}']\n    env_keys: [SESSION_ID]\n",
    )?;
    let run = with_variables(&home, &["extension", "tools", "bench"])?;
    assert_eq!(run.code, Some(0), "{run:?}");
    let seen = fs::read_to_string(home.path().join("seen"))?;
    ensure!(seen.contains("SESSION_ID=canary-5"), "{seen}");
    ensure!(!is_leaked(&seen.replace("SESSION_ID=canary-5", "")), "{seen}");
    ensure!(seen.contains("XDG_SESSION_ID=2"), "{seen}");
    Ok(())
}

const CONFIG: &str = "\
GOOSE_PROVIDER: openai
GOOSE_MODEL: m
OPENAI_CUSTOM_HEADERS: 'X-Org: canary-a'
OPENAI_HOST: https://me:canary-b@models.example
GOOSE_NOTE: ghp_CANARY0123456789abcdefghijkl
extensions:
  web:
    type: streamable_http
    enabled: true
    uri: http://me:canary-c@127.0.0.1:9/mcp?token=canary-d&mode=canary-e#canary-f
    headers: {Authorization: Bearer canary-g}
  hook: {type: streamable_http, enabled: true, uri: 'https://hooks.slack.com/services/T0/B0/CANARY'}
  tool:
    type: stdio
    enabled: true
    cmd: sh
    args: [--token, canary-h, --api-key=canary-i, PASSWORD=canary-j, -H, 'X-Auth: canary-k', 'http://a:canary-l@h/']
  old: {type: sse, enabled: true, uri: 'http://me:canary-m@h/sse?key=canary-n'}
";

#[test]
fn nothing_that_is_printed_has_a_secret_in_it() -> anyhow::Result<()> {
    let home = Home::with_config(CONFIG)?;
    for arguments in [
        &["doctor"][..],
        &["doctor", "--json"],
        &["doctor", "--start"],
        &["info"],
        &["info", "-v"],
        &["info", "--json"],
        &["extension", "list"],
        &["extension", "list", "--json"],
        &["extension", "status"],
        &["extension", "status", "--json"],
        &["extension", "tools"],
        &["configure", "get", "OPENAI_CUSTOM_HEADERS"],
        &["configure", "get", "OPENAI_HOST"],
        &["configure", "get", "GOOSE_NOTE"],
    ] {
        let run: Run = home.goose(arguments).env("RUST_LOG", "debug").output()?.try_into()?;
        ensure!(!is_leaked(&run.stdout), "{arguments:?} printed a secret:\n{}", run.stdout);
        ensure!(!is_leaked(&run.stderr), "{arguments:?} logged a secret:\n{}", run.stderr);
    }
    let list = home.run(&["extension", "list"])?.stdout;
    for expected in [
        "http://127.0.0.1:9/mcp?token=…&mode=…#…",
        "https://hooks.slack.com/…",
        "sh --token … --api-key=… PASSWORD=… -H 'X-Auth: (hidden)' http://h/",
    ] {
        ensure!(list.contains(expected), "no `{expected}` in:\n{list}");
    }
    Ok(())
}
