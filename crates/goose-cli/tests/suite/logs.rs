//! Log files, and the folder for a bug report.

use std::{fs, path::PathBuf};

use anyhow::{Context as _, ensure};
use goose_test_support::{ModelServer, Turn};

use crate::{
    run::goose,
    support::{Home, Run},
};

/// A key as providers give them out.
const KEY: &str = "sk-proj-abcdefghij0123456789ABCDEFGHIJ";

fn logs(home: &Home) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.path().join("state/logs")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn run(home: &Home, server: &ModelServer, text: &str) -> anyhow::Result<Run> {
    goose(home, server, &["run", "-t", text]).env("OPENAI_API_KEY", KEY).output()?.try_into()
}

#[test]
fn reports_are_logged_and_nothing_else_touches_the_disk() -> anyhow::Result<()> {
    let home = Home::new()?;
    for arguments in [&["--version"][..], &["--help"], &["session", "list"]] {
        assert_eq!(home.run(arguments)?.code, Some(0));
    }
    assert!(logs(&home).is_empty());
    fs::create_dir_all(home.path().join("config/custom_providers"))?;
    fs::write(home.path().join("config/custom_providers/mine.json"), format!("{{\"name\": \"{KEY}"))?;
    let server = ModelServer::scripted([Turn::text("Hello.")])?;
    assert_eq!(run(&home, &server, "hi")?.code, Some(0));
    let files = logs(&home);
    let [file] = files.as_slice() else { anyhow::bail!("not one file: {files:?}") };
    let mode = std::os::unix::fs::MetadataExt::mode(&file.metadata()?);
    assert_eq!(mode & 0o777, 0o600);
    let text = fs::read_to_string(file)?;
    ensure!(text.contains("WARN") && text.contains("mine.json"), "{text}");
    ensure!(!text.contains(KEY) && !text.contains("\u{1b}"), "{text}");
    Ok(())
}

#[test]
fn a_report_says_what_is_in_it_and_has_no_secrets() -> anyhow::Result<()> {
    let home = Home::with_config(&format!("GOOSE_MODE: auto\nOPENAI_API_KEY: {KEY}\nMY_SETTING: {KEY}\n"))?;
    let server = ModelServer::scripted([Turn::text(format!("I will not repeat token={KEY} here."))])?;
    assert_eq!(run(&home, &server, &format!("My key is {KEY}"))?.code, Some(0));
    let report = home.run(&["session", "diagnostics", "-o", "report"])?;
    assert_eq!(report.code, Some(0), "{report:?}");
    for name in ["report.txt", "log.txt", "session.json"] {
        ensure!(report.stdout.contains(name), "{report:?}");
        let text = fs::read_to_string(home.path().join("report").join(name)).context(name)?;
        ensure!(!text.contains("abcdefghij0123456789"), "{name}: {text}");
    }
    let text = fs::read_to_string(home.path().join("report/report.txt"))?;
    ensure!(text.contains("GOOSE_MODE: auto") && text.contains("OPENAI_API_KEY: (hidden)"), "{text}");
    let session = fs::read_to_string(home.path().join("report/session.json"))?;
    ensure!(session.contains("My key is") && session.contains("I will not repeat"), "{session}");
    Ok(())
}
