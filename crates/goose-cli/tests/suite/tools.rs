//! `goose extension tools`.

use anyhow::{Context as _, ensure};
use serde_json::json;

use crate::support::Home;

const CONFIG: &str = "\
extensions:
  m:
    enabled: true
    type: stdio
    name: m
    cmd: '{faulty_server}'
    args: [--starts, '{home}/starts']
    available_tools: [echo, sleep]
  developer: {enabled: false, type: builtin}
  memory: {enabled: false, type: builtin}
";

fn starts(home: &Home) -> usize {
    std::fs::read_to_string(home.path().join("starts")).map_or(0, |starts| starts.lines().count())
}

#[test]
fn tools_have_their_full_names() -> anyhow::Result<()> {
    let home = Home::with_config(CONFIG)?;
    let run = home.run(&["extension", "tools", "m", "tutorial"])?;
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(
        run.stdout.lines().take(2).collect::<Vec<_>>(),
        [
            "m__echo                  Gives back a text.",
            "m__sleep                 Waits, unless it is cancelled."
        ]
    );
    ensure!(run.stdout.contains("\ntutorial__load_tutorial  "), "{}", run.stdout);
    Ok(())
}

#[test]
fn the_same_as_json() -> anyhow::Result<()> {
    let home = Home::with_config(CONFIG)?;
    let json = home.run(&["extension", "tools", "--json"])?.json()?;
    assert_eq!(json["problems"], json!([]));
    let tool = &json["tools"][0];
    assert_eq!(json!([tool["name"], tool["extension"]]), json!(["m__echo", "m"]));
    assert_eq!(tool["inputSchema"]["required"], json!(["text"]));
    assert_eq!(json["tools"].as_array().context("a list")?.len(), 2);
    Ok(())
}

#[test]
fn a_known_service_is_listed_without_a_start() -> anyhow::Result<()> {
    let home = Home::with_config(CONFIG)?;
    let first = home.run(&["extension", "tools"])?.stdout;
    assert_eq!(starts(&home), 1);
    assert_eq!(home.run(&["extension", "tools"])?.stdout, first);
    assert_eq!(starts(&home), 1);
    assert_eq!(home.run(&["extension", "tools", "--fresh"])?.stdout, first);
    assert_eq!(starts(&home), 2);
    Ok(())
}

#[test]
fn one_that_fails_does_not_hide_the_others() -> anyhow::Result<()> {
    let home = Home::with_config(
        "extensions:\n  dying: {enabled: true, type: stdio, name: dying, cmd: '{faulty_server}', args: [--die-on-start]}\n  \
         developer: {enabled: false, type: builtin}\n  memory: {enabled: false, type: builtin}\n",
    )?;
    let arguments = ["extension", "tools", "--with-builtin", "tutorial"];
    let run = home.run(&arguments)?;
    assert_eq!(run.code, Some(1));
    ensure!(run.stdout.starts_with("tutorial__load_tutorial  "), "{}", run.stdout);
    ensure!(run.stderr.starts_with("error: cannot list the tools of `dying`: "), "{}", run.stderr);
    let json = home.run(&[&arguments[..], &["--json"]].concat())?.json()?;
    assert_eq!(json["problems"][0]["extension"], json!("dying"));
    Ok(())
}

const WITH_RESOURCES: &str = "\
extensions:
  notes: {enabled: true, type: stdio, name: notes, cmd: '{kitchen_sink}', args: []}
  gone: {enabled: true, type: stdio, name: gone, cmd: '/nowhere/server', args: []}
  developer: {enabled: false, type: builtin}
  memory: {enabled: false, type: builtin}
";

#[test]
fn resources_are_listed_and_read() -> anyhow::Result<()> {
    let home = Home::with_config(WITH_RESOURCES)?;
    let run = home.run(&["extension", "resources", "notes"])?;
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    ensure!(run.stdout.lines().any(|line| line.starts_with("notes  note://2  ")), "{}", run.stdout);
    let json = home.run(&["extension", "resources", "notes", "--json"])?.json()?;
    assert_eq!(json["resources"][0]["extension"], json!("notes"));

    let read = home.run(&["extension", "resources", "notes", "--read", "note://2"])?;
    assert_eq!((read.code, read.stdout.as_str()), (Some(0), "Text 2\n"));
    let unknown = home.run(&["extension", "resources", "notes", "--read", "note://missing"])?;
    ensure!(unknown.code == Some(1) && unknown.stderr.contains("note://missing"), "{unknown:?}");
    Ok(())
}

#[test]
fn a_server_that_fails_is_named_beside_the_resources_of_others() -> anyhow::Result<()> {
    let home = Home::with_config(WITH_RESOURCES)?;
    let run = home.run(&["extension", "resources"])?;
    assert_eq!(run.code, Some(1), "{run:?}");
    ensure!(run.stdout.contains("note://2") && run.stderr.contains("`gone`"), "{run:?}");
    Ok(())
}
