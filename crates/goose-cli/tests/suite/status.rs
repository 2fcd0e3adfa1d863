//! `goose extension status`.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, ensure};
use goose_test_support::binary;
use serde_json::json;

use crate::support::{Home, program};

const CONFIG: &str = "\
extensions:
  good:
    enabled: true
    type: stdio
    name: good
    cmd: '{faulty_server}'
    args: [--bad-tool, duplicate]
    available_tools: [echo, pid, gone]
  dying:
    enabled: true
    type: stdio
    name: dying
    cmd: '{faulty_server}'
    args: [--stderr, \"the \\e[31mtable is missing\", --die-on-start]
  old:
    enabled: true
    type: sse
    name: old
  off:
    enabled: false
    type: stdio
    name: off
    cmd: '{faulty_server}'
  memory:
    enabled: true
    type: builtin
    name: memory
  developer: {enabled: false, type: builtin, name: developer}
";

#[test]
fn each_extension_is_started_and_shown() -> anyhow::Result<()> {
    let home = Home::with_config(CONFIG)?;
    let run = home.run(&["extension", "status"])?;
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""));
    let shown = home.normal(&run.stdout)?;
    let mut lines = shown.lines();
    assert_eq!(lines.next(), Some("✓ good    ready in N ms · 2 tools · stdio · MCP 2025-11-25 · ping N ms"));
    let dropped = lines.next().context("a dropped tool is named")?;
    ensure!(dropped.starts_with("    ignored the tool `echo`: "), "{dropped}");
    assert_eq!(lines.next(), Some("    available_tools names unknown tools: gone"));
    assert_eq!(lines.next(), Some("✗ dying   degraded · stdio"));
    for expected in [
        "ended with exit code 1",
        "      the \\u{1b}[31mtable is missing",
        "✗ old     broken · sse",
        "type: streamable_http",
        "✓ memory  ready in N ms · 5 tools · builtin",
    ] {
        ensure!(shown.contains(expected), "no `{expected}` in:\n{shown}");
    }
    ensure!(!shown.contains("off "), "{shown}");
    Ok(())
}

#[test]
fn the_same_as_json() -> anyhow::Result<()> {
    let home = Home::with_config(CONFIG)?;
    let run = home.run(&["extension", "status", "--json"])?;
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""));
    let json = run.json()?;
    assert_eq!(json["ready"], json!(false));
    let good = &json["extensions"][0];
    assert_eq!(
        json!([
            good["name"],
            good["type"],
            good["state"],
            good["tools"],
            good["missing_tools"],
            good["protocol"]
        ]),
        json!(["good", "stdio", "ready", 2, ["gone"], "2025-11-25"])
    );
    assert_eq!(good["dropped_tools"][0]["name"], json!("echo"));
    ensure!(good["ready_ms"].is_u64() && good["ping_ms"].is_u64(), "{good}");
    let states: Vec<_> =
        json["extensions"].as_array().context("a list")?.iter().map(|row| &row["state"]).collect();
    assert_eq!(json!(states), json!(["ready", "degraded", "broken", "ready"]));
    let reason = json["extensions"][1]["reason"].as_str().context("it says why")?;
    ensure!(reason.contains("table is missing"), "{reason}");
    Ok(())
}

#[test]
fn named_extensions_are_started_also_when_they_are_off() -> anyhow::Result<()> {
    let home = Home::with_config(CONFIG)?;
    let run = home.run(&["extension", "status", "off", "tutorial"])?;
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(
        home.normal(&run.stdout)?,
        "\
✓ off       ready in N ms · 6 tools · stdio · MCP 2025-11-25 · ping N ms
✓ tutorial  ready in N ms · 1 tool · builtin
    tutorials: build-mcp-extension, first-game, first-steps, rust-extension
"
    );
    Ok(())
}

#[test]
fn an_extension_says_how_it_is() -> anyhow::Result<()> {
    let home = Home::new()?;
    let run = home.run(&["extension", "status", "developer"])?;
    let folder = home.path().canonicalize()?;
    let expected = format!("\n    working folder: {}\n", folder.display());
    ensure!(run.code == Some(0) && run.stdout.ends_with(&expected), "{}", run.stdout);
    ensure!(run.stdout.contains("    shell: /"), "{}", run.stdout);
    let json = home.run(&["extension", "status", "developer", "--json"])?.json()?;
    assert_eq!(json["extensions"][0]["status"]["running_commands"], json!([]));
    Ok(())
}

#[test]
fn a_server_that_does_not_exist_says_so() -> anyhow::Result<()> {
    let home = Home::new()?;
    let run = home.run(&["extension", "status", "--with-extension", "/no/such/program"])?;
    assert_eq!(run.code, Some(1));
    ensure!(run.stdout.contains("✗ program  ") && run.stdout.contains("No such file"), "{}", run.stdout);
    Ok(())
}

#[test]
fn without_anything_enabled_it_says_what_to_do() -> anyhow::Result<()> {
    let nothing = "extensions:\n  developer: {type: builtin, enabled: false}\n  memory: {type: builtin, enabled: false}\n";
    let run = Home::with_config(nothing)?.run(&["extension", "status"])?;
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    ensure!(run.stderr.starts_with("error: No extensions are enabled. Name one"), "{}", run.stderr);
    Ok(())
}

#[test]
fn an_unknown_name_is_an_error_with_the_known_ones() -> anyhow::Result<()> {
    let home = Home::with_config(CONFIG)?;
    let run = home.run(&["extension", "status", "gud"])?;
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    let expected = "error: There is no extension `gud`. Available: good, dying, old, off, memory, developer, autovisualiser, tutorial.";
    ensure!(run.stderr.starts_with(expected), "{}", run.stderr);
    Ok(())
}

#[test]
fn no_colours_without_a_terminal_and_some_on_request() -> anyhow::Result<()> {
    let home = Home::new()?;
    let plain = home.run(&["extension", "status", "memory"])?;
    ensure!(!plain.stdout.contains('\u{1b}'), "{}", plain.stdout);
    let output = home.goose(&["extension", "status", "memory"]).env("CLICOLOR_FORCE", "1").output()?;
    ensure!(String::from_utf8(output.stdout)?.contains("\u{1b}[32m✓"));
    let asked = home.goose(&["extension", "status", "nope"]).output()?;
    ensure!(!String::from_utf8(asked.stderr)?.contains('\u{1b}'));
    Ok(())
}

#[test]
fn servers_start_side_by_side() -> anyhow::Result<()> {
    let home = Home::new()?;
    // Each begins to speak when the other has started.
    let waits = |own: &str, other: &str| {
        let faulty_server = program("faulty_server", "")?;
        anyhow::Ok(format!(
            "sh -c \"touch {own}; until test -e {other}; do sleep 0.02; done; exec {faulty_server}\""
        ))
    };
    let (one, two) = (waits("one", "two")?, waits("two", "one")?);
    let run = home.run(&["extension", "status", "--with-extension", &one, "--with-extension", &two])?;
    assert_eq!(run.code, Some(0), "{run:?}");
    Ok(())
}

/// A server on HTTP, which ends with this.
struct HttpServer {
    process: Child,
    url: String,
}

impl HttpServer {
    fn start(flags: &[&str]) -> anyhow::Result<Self> {
        let mut process = Command::new(binary("faulty_server")?)
            .arg("--http")
            .args(flags)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut url = String::new();
        BufReader::new(process.stdout.take().context("its output is ours")?).read_line(&mut url)?;
        Ok(Self { process, url: url.trim().to_owned() })
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn servers_on_http_are_reached_and_nobody_logs_in_without_a_terminal() -> anyhow::Result<()> {
    let home = Home::new()?;
    let (open, closed) = (HttpServer::start(&[])?, HttpServer::start(&["--status-always", "401"])?);
    let flag = "--with-streamable-http-extension";
    let run = home.run(&["extension", "status", "--json", flag, &open.url, flag, &closed.url])?;
    assert_eq!(run.code, Some(1));
    let json = run.json()?;
    let [first, second] = [&json["extensions"][0], &json["extensions"][1]];
    assert_eq!(
        json!([first["type"], first["state"], first["tools"]]),
        json!(["streamable_http", "ready", 6])
    );
    assert_eq!(second["state"], json!("degraded"));
    ensure!(second["reason"].as_str().is_some_and(|reason| reason.contains("401")), "{second}");
    ensure!(!home.path().join("data/oauth").exists(), "nothing is kept where nobody logged in");
    Ok(())
}
