//! `goose extension list`.

use std::{io::Read as _, process::Stdio};

use anyhow::{Context as _, ensure};
use serde_json::json;

use crate::support::Home;

const CONFIG: &str = "\
GOOSE_MODEL: some-model
extensions:
  notes:
    enabled: true
    type: stdio
    name: notes
    description: Keeps notes
    cmd: npx
    args: [-y, \"@example/notes\", --title, My notes]
    envs: { NOTES_KEY: very-secret }
  remote:
    enabled: false
    type: streamable_http
    name: remote
    uri: https://example.com/mcp
    headers: { Authorization: Bearer very-secret }
  old:
    enabled: true
    type: sse
    name: old
    uri: https://example.com/sse
  wrong:
    enabled: true
    type: carrier_pigeon
  memory:
    enabled: true
    type: builtin
    name: memory
";

#[test]
fn configured_extensions_and_other_built_ins_are_shown() -> anyhow::Result<()> {
    let home = Home::with_config(CONFIG)?;
    let run = home.run(&["extension", "list"])?;
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(
        home.normal(&run.stdout)?,
        "\
notes      on   stdio            npx -y @example/notes --title 'My notes'
    Keeps notes
remote     off  streamable_http  https://example.com/mcp
old        on   sse              https://example.com/sse
    error: HOME/config/config.yaml:17:3: extension 'old': the type 'sse' is no longer supported; change it to \
'type: streamable_http' and 'uri' to the server's streamable HTTP address (often https://example.com/sse with /mcp in \
place of /sse)
wrong      on   ?
    error: HOME/config/config.yaml:22:3: extension 'wrong': there is no type 'carrier_pigeon'; use one of builtin, \
platform, stdio, streamable_http, frontend, inline_python
memory     on   builtin
    facts and preferences across conversations
developer  on   builtin
    files, commands and a plan, for work on code

Other built-ins (use them by name or with --with-builtin):
computercontroller  web pages, scripts, the screen and office documents
autovisualiser      charts, maps and diagrams as pages
tutorial            guided, step-by-step tutorials

These come with the modes of agents (`goose agents list`):
summon            delegation and knowledge
extensionmanager  enables extensions on demand
chatrecall        recall from earlier sessions
tom               top-of-mind context for each request
apps              small apps with a user interface
todo              a list of tasks for the session
code_execution    tool calls from code
"
    );
    Ok(())
}

/// Entries of other versions say whether this goose has the feature.
#[test]
fn features_are_built_in_or_not_supported() -> anyhow::Result<()> {
    let entry = |name: &str| format!("  {name}: {{enabled: true, type: platform, name: {name}}}\n");
    let names = ["summon", "skills", "scheduler", "apps", "tasks"];
    let home = Home::with_config(&format!("extensions:\n{}", names.map(entry).concat()))?;
    let shown = home.run(&["extension", "list"])?.stdout;
    for line in [
        "summon     on   platform  built in\n",
        "skills     on   platform  built in; see `goose skills`\n",
        "scheduler  on   platform  built in; see `goose schedule`\n",
        "apps       on   platform  built in, for the modes that need it\n",
        "tasks      on   platform  not supported\n",
    ] {
        ensure!(shown.contains(line), "{line}: {shown}");
    }
    Ok(())
}

#[test]
fn the_same_as_json() -> anyhow::Result<()> {
    let home = Home::with_config(CONFIG)?;
    let json = home.run(&["extensions", "list", "--json"])?.json()?;
    assert_eq!(json["config"], json!(home.config()));
    assert_eq!(
        json["extensions"][0],
        json!({
            "key": "notes", "source": "config", "enabled": true, "type": "stdio",
            "target": "npx -y @example/notes --title 'My notes'", "description": "Keeps notes", "error": null,
        })
    );
    let error = json["extensions"][2]["error"].as_str().context("an old entry has an error")?;
    ensure!(error.contains("streamable_http") && error.contains("config.yaml:17"), "{error}");
    assert_eq!(json["extensions"][3]["type"], json!(null));
    assert_eq!(json["extensions"][5]["source"], json!("builtin"));
    ensure!(!json.to_string().contains("very-secret"), "{json}");
    Ok(())
}

#[test]
fn an_empty_home_has_built_ins() -> anyhow::Result<()> {
    let home = Home::new()?;
    let run = home.run(&["extension", "list"])?;
    assert_eq!(run.code, Some(0));
    assert_eq!(
        home.normal(&run.stdout)?,
        "\
developer  on   builtin
    files, commands and a plan, for work on code
memory     on   builtin
    facts and preferences across conversations

Other built-ins (use them by name or with --with-builtin):
computercontroller  web pages, scripts, the screen and office documents
autovisualiser      charts, maps and diagrams as pages
tutorial            guided, step-by-step tutorials

These come with the modes of agents (`goose agents list`):
summon            delegation and knowledge
extensionmanager  enables extensions on demand
chatrecall        recall from earlier sessions
tom               top-of-mind context for each request
apps              small apps with a user interface
todo              a list of tasks for the session
code_execution    tool calls from code
"
    );
    Ok(())
}

#[test]
fn flags_add_extensions_and_win_over_the_file() -> anyhow::Result<()> {
    let home = Home::with_config(CONFIG)?;
    let run = home.run(&[
        "extension",
        "list",
        "--json",
        "--with-extension",
        "KEY=1 notes --fast",
        "--with-extension",
        "uvx other",
        "--with-extension",
        "uvx other --again",
        "--with-streamable-http-extension",
        "https://user:word@mcp.example.com:8080/path",
        "--with-builtin",
        "memory,tutorial",
    ])?;
    let json = run.json()?;
    let flags: Vec<_> = json["extensions"]
        .as_array()
        .context("a list")?
        .iter()
        .filter(|row| row["source"] == "flag")
        .map(|row| (row["key"].clone(), row["type"].clone()))
        .collect();
    assert_eq!(
        json!(flags),
        json!([
            ["notes", "stdio"],
            ["other", "stdio"],
            ["other_2", "stdio"],
            ["mcp_example_com_8080", "streamable_http"],
            ["memory", "builtin"],
            ["tutorial", "builtin"],
        ])
    );
    assert_eq!(json["extensions"].as_array().map(Vec::len), Some(19));
    Ok(())
}

#[test]
fn without_the_profile_only_the_flags_count() -> anyhow::Result<()> {
    let home = Home::with_config("extensions: [this is no mapping")?;
    let run = home.run(&["extension", "list", "--no-profile", "--with-builtin", "memory"])?;
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "memory  on   builtin\n"));
    Ok(())
}

#[test]
fn a_broken_file_is_an_error_with_its_line() -> anyhow::Result<()> {
    let home = Home::with_config("GOOSE_MODEL: x\nextensions:\n  notes: {enabled: true\n  more: {}\n")?;
    let run = home.run(&["extension", "list"])?;
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    ensure!(run.stderr.starts_with("error: "), "{}", run.stderr);
    ensure!(home.normal(&run.stderr)?.contains("HOME/config/config.yaml:"), "{}", run.stderr);
    Ok(())
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() -> anyhow::Result<()> {
    let entries: String = (0..200)
        .map(|n| format!("  entry{n}: {{type: stdio, name: entry{n}, cmd: {}}}\n", "x".repeat(2000)))
        .collect();
    let home = Home::with_config(&format!("extensions:\n{entries}"))?;
    let mut child = home.goose(&["extension", "list"]).stdout(Stdio::piped()).spawn()?;
    let mut first = [0; 10];
    child.stdout.take().context("its output is ours")?.read_exact(&mut first)?;
    let output = child.wait_with_output()?;
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), b"".as_slice()));
    Ok(())
}

#[test]
fn nothing_is_started() -> anyhow::Result<()> {
    let home = Home::with_config(
        "extensions:\n  m: {enabled: true, type: stdio, name: m, cmd: '{faulty_server}', args: [--starts, '{home}/starts']}\n",
    )?;
    assert_eq!(home.run(&["extension", "list"])?.code, Some(0));
    ensure!(!home.path().join("starts").exists());
    Ok(())
}
