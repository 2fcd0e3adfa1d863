//! `goose session list` and the others: conversations that are kept.

use anyhow::{Context as _, ensure};
use goose_test_support::{ModelServer, Turn};
use serde_json::{Value, json};

use crate::{
    run::goose,
    support::{Home, Run},
};

/// A conversation as it is exported.
fn exported(id: &str, name: Option<&str>, question: &str) -> Value {
    let at = "2026-11-15T08:00:00Z";
    let step = |seq: u64, step: Value| json!({ "seq": seq, "at": at, "step": step });
    let text = |role: &str, text: &str| json!({"step": "message", "message": {"role": role, "content": [{"type": "text", "text": text}]}});
    json!({
        "format": "goose-session",
        "version": 1,
        "session": {
            "id": id, "given_name": name, "title": question, "working_dir": "/work", "created_at": at,
            "updated_at": at, "steps": 3, "messages": 2, "usage": {"input": 5, "output": 7}, "dollars": 0.0,
        },
        "steps": [
            step(1, text("user", question)),
            step(2, text("assistant", "It is the **goose**.\u{1b}[2J")),
            step(3, json!({"step": "reply_ended", "outcome": "done"})),
        ],
        "skipped": [],
    })
}

/// A home with two conversations.
pub(crate) fn with_two() -> anyhow::Result<Home> {
    let home = Home::new()?;
    for (id, name, question) in
        [("20261101_1", None, "Which bird is it?"), ("20261102_1", Some("ports"), "Which ports are open?")]
    {
        let file = home.path().join(format!("{id}.json"));
        std::fs::write(&file, exported(id, name, question).to_string())?;
        let run = home.run(&["session", "import", &file.display().to_string()])?;
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
        ensure!(run.stdout.contains(id), "{}", run.stdout);
    }
    Ok(home)
}

pub(crate) fn ids(home: &Home, arguments: &[&str]) -> anyhow::Result<Vec<String>> {
    let listed = home.run(&[&["session", "list", "--json"], arguments].concat())?.json()?;
    let sessions = listed["sessions"].as_array().context("a list")?;
    sessions.iter().map(|session| Ok(session["id"].as_str().context("an id")?.to_owned())).collect()
}

#[test]
fn an_empty_list_creates_nothing() -> anyhow::Result<()> {
    let home = Home::new()?;
    let run = home.run(&["session", "list"])?;
    ensure!(run.code == Some(0) && run.stdout.starts_with("No sessions found."), "{run:?}");
    ensure!(!home.path().join("data").exists());
    Ok(())
}

#[test]
fn conversations_are_listed_and_found() -> anyhow::Result<()> {
    let home = with_two()?;
    let listed = ids(&home, &[])?;
    assert_eq!(listed.len(), 2);
    assert_eq!(ids(&home, &["--limit", "1"])?.len(), 1);
    assert_eq!(ids(&home, &["--search", "bird"])?, ["20261101_1"]);
    assert_eq!(ids(&home, &["--search", "bird", "--here"])?, Vec::<String>::new());
    let shown = home.run(&["session", "list"])?.stdout;
    ensure!(shown.contains("20261102_1  ports") && shown.contains("2 messages  /work"), "{shown}");
    ensure!(!shown.contains("--limit"), "{shown}");
    let one = home.run(&["session", "list", "--limit", "1"])?.stdout;
    ensure!(one.lines().count() == 3 && one.contains("there are more. Use --limit N"), "{one}");

    let found = home.run(&["session", "search", "goose", "--json"])?.json()?;
    assert_eq!((found["found"].as_array().map(Vec::len), &found["unindexed"]), (Some(2), &json!(0)));
    let shown = home.run(&["session", "search", "nothing-like-it"])?;
    assert_eq!((shown.code, shown.stdout.as_str()), (Some(0), "No matches found.\n"));
    Ok(())
}

#[test]
fn delegated_sessions_are_listed_only_on_request() -> anyhow::Result<()> {
    let home = with_two()?;
    let mut child = exported("20261103_1", None, "Which bird is delegated?");
    child["session"]["kind"] = "delegate".into();
    child["session"]["parent"] = "20261101_1".into();
    std::fs::write(home.path().join("child.json"), child.to_string())?;
    assert_eq!(home.run(&["session", "import", "child.json"])?.code, Some(0));
    assert_eq!(ids(&home, &[])?.len(), 2);
    assert_eq!(ids(&home, &["--search", "bird"])?, ["20261101_1"]);
    assert_eq!(ids(&home, &["--all"])?[0], "20261103_1");
    let exported = home.run(&["session", "export", "--format", "json", "20261103_1"])?.json()?;
    assert_eq!(exported["session"]["parent"], "20261101_1");
    let latest = home.run(&["session", "export", "--format", "json"])?.json()?;
    assert_eq!(latest["session"]["kind"], "user");
    Ok(())
}

#[test]
fn a_conversation_can_be_exported_and_nothing_in_it_moves_the_cursor() -> anyhow::Result<()> {
    let home = with_two()?;
    let document = home.run(&["session", "export", "--format", "json", "ports"])?.json()?;
    assert_eq!(document["steps"].as_array().map(Vec::len), Some(3));
    let markdown = home.run(&["session", "export", "--session-id", "20261101_1", "--format", "markdown"])?;
    ensure!(markdown.stdout.contains("Which bird is it?"), "{}", markdown.stdout);
    ensure!(!markdown.stdout.contains('\u{1b}'), "{}", markdown.stdout);

    let file = home.path().join("out.json");
    let run = home.run(&["session", "export", "-n", "ports", "-o", &file.display().to_string()])?;
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(serde_json::from_str::<Value>(&std::fs::read_to_string(file)?)?, document);
    Ok(())
}

#[test]
fn a_conversation_can_be_renamed_copied_and_removed() -> anyhow::Result<()> {
    let home = with_two()?;
    let renamed = home.run(&["session", "rename", "20261101_1", "birds"])?;
    assert_eq!((renamed.code, renamed.stdout.as_str()), (Some(0), "Renamed 20261101_1 to 'birds'.\n"));
    assert_eq!(home.run(&["session", "fork", "birds"])?.code, Some(0));
    assert_eq!(ids(&home, &[])?.len(), 3);

    let refused = home.run(&["session", "remove", "ports"])?;
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
    ensure!(refused.stderr.contains("--yes"), "{}", refused.stderr);
    assert_eq!(home.run(&["session", "remove", "ports", "--yes"])?.code, Some(0));
    ensure!(!ids(&home, &[])?.contains(&"20261102_1".to_owned()));

    let unnamed = home.run(&["session", "remove", "--yes"])?;
    assert_eq!(unnamed.code, Some(1), "a script whose variable is empty removes nothing");
    assert_eq!(ids(&home, &[])?.len(), 2);

    let gone = home.run(&["session", "export", "--format", "json", "ports"])?;
    assert_eq!(gone.code, Some(1));
    ensure!(gone.stderr.contains("there is no session 'ports'"), "{}", gone.stderr);
    Ok(())
}

#[test]
fn what_helps_to_find_a_fault_is_written_to_a_folder() -> anyhow::Result<()> {
    let home = with_two()?;
    let run = home.run(&["session", "diagnostics", "ports", "-o", "report"])?;
    assert_eq!(run.code, Some(0), "{run:?}");
    let report = std::fs::read_to_string(home.path().join("report/report.txt"))?;
    ensure!(report.starts_with("goose ") && report.contains("config folder: "), "{report}");
    ensure!(home.path().join("report/session.json").exists());
    Ok(())
}

#[test]
fn what_is_no_conversation_is_not_imported() -> anyhow::Result<()> {
    let home = Home::new()?;
    std::fs::write(home.path().join("x.json"), "{\"format\": \"other\"}")?;
    for (file, expected) in [("x.json", "cannot be imported"), ("missing.json", "cannot be read")] {
        let run = home.run(&["session", "import", file])?;
        assert_eq!(run.code, Some(1), "{run:?}");
        ensure!(run.stderr.contains(expected), "{}", run.stderr);
    }
    Ok(())
}

/// The sessions of goose 1.x lie beside ours. That is said until there is a store, and not again.
#[test]
fn sessions_that_can_be_imported_are_named_once() -> anyhow::Result<()> {
    let home = Home::new()?;
    let folder = home.path().join("data/sessions");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("sessions.db"), "")?;
    let expected = format!("`goose session import {}`", folder.join("sessions.db").display());
    let listed = home.run(&["session", "list"])?;
    ensure!(listed.stdout.contains(&expected), "{listed:?}");
    let server = ModelServer::scripted(["One.", "Two."].map(Turn::text))?;
    for is_told in [true, false] {
        let run: Run = goose(&home, &server, &["run", "-t", "Hi"]).output()?.try_into()?;
        assert_eq!((run.code, run.stderr.contains(&expected)), (Some(0), is_told), "{run:?}");
    }
    ensure!(!home.run(&["session", "list"])?.stdout.contains("import"));
    Ok(())
}
