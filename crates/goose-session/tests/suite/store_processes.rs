//! Real processes that write to one store, are killed while writing, or run out of disk space. Linux only,
//! because the program `store_writer` replaces the functions of the C library that SQLite writes with.
#![cfg(target_os = "linux")]

use std::{
    collections::BTreeSet,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use anyhow::{Context as _, ensure};
use futures::{StreamExt as _, TryStreamExt as _};
use goose_extension::Message;
use goose_session::{ListOptions, SessionStore, Step};
use goose_test_support::{copy_program, example};

use super::{store_faults::integrity, support::search_all};

/// Number of concurrent writers.
const WRITERS: usize = 8;

/// Number of steps that each writer appends.
const WRITES: usize = 200;

/// Number of faults that are tried at the same time.
const AT_ONCE: usize = 4;

fn writer() -> anyhow::Result<PathBuf> {
    example("goose-session", "store_writer")
}

async fn run(program: &Path, file: &Path, words: &[&str], fault: Option<&str>) -> anyhow::Result<Output> {
    let mut command = tokio::process::Command::new(program);
    command.arg(file).args(words).stdin(Stdio::null()).kill_on_drop(true);
    if let Some(fault) = fault {
        command.env("FAULT", fault);
    }
    Ok(command.output().await?)
}

fn lines(output: &Output) -> Vec<String> {
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// Returns the last number that follows a word in the lines.
fn last(lines: &[String], word: &str) -> Option<u64> {
    lines.iter().rev().find_map(|line| line.strip_prefix(word)?.trim().parse().ok())
}

/// All processes start without a file.
#[tokio::test]
async fn concurrent_processes_write_to_one_store() -> anyhow::Result<()> {
    let program = writer()?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("sessions/goose.db");
    let start = || {
        let mut command = Command::new(&program);
        command.arg(&file).args(["append", &WRITES.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    };
    let children: Vec<_> = (0..WRITERS).map(|_| start()).collect::<Result<_, _>>()?;
    let mut ids = BTreeSet::new();
    for child in children {
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        ids.insert(lines(&output).first().context("no session id")?.clone());
    }
    assert_eq!(ids.len(), WRITERS);
    let store = SessionStore::open(&file).await?;
    assert_eq!(store.list(ListOptions::default()).await?.len(), WRITERS);
    for id in ids {
        let opened = store.open_session(&id.parse()?).await?;
        let expected = (1..=WRITES).map(|number| Message::user(format!("step {number}")));
        let expected: Vec<Step> = expected.map(|message| Step::Message { message }).collect();
        assert_eq!(opened.steps.into_iter().map(|stored| stored.step).collect::<Vec<_>>(), expected);
        assert_eq!(opened.summary.messages, WRITES as u64);
    }
    assert_eq!(integrity(&file).await?, "ok");
    Ok(())
}

/// The process is killed before and during each write of the database, from the creation of the file on. The
/// store opens again, and all steps that were reported as stored are there.
#[tokio::test]
async fn process_killed_at_any_write_loses_no_committed_step() -> anyhow::Result<()> {
    let program = writer()?;
    let whole = tempfile::tempdir()?;
    let output = run(&program, &whole.path().join("goose.db"), &["script"], None).await?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let writes = last(&lines(&output), "writes").context("no count of writes")?;
    ensure!(writes > 50, "only {writes} writes were counted");
    let faults = ["kill", "torn"]
        .into_iter()
        .flat_map(|kind| (1..=writes).map(move |number| format!("{kind}:{number}")));
    let runs = faults.map(|fault| {
        let program = program.clone();
        async move { killed_once(&program, &fault).await.with_context(|| fault.clone()) }
    });
    futures::stream::iter(runs).buffer_unordered(AT_ONCE).try_collect().await
}

async fn killed_once(program: &Path, fault: &str) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("goose.db");
    let output = run(program, &file, &["script"], Some(fault)).await?;
    ensure!(output.status.signal() == Some(9), "not killed: {output:?}");
    let said = lines(&output);
    let reported = last(&said, "steps").unwrap_or(0);

    let store = SessionStore::open(&file).await?;
    let sessions = store.list(ListOptions::default()).await?;
    let original = sessions.iter().find(|session| session.origin.is_none());
    ensure!(reported == 0 || original.is_some(), "the session is missing");
    if let Some(original) = original {
        let opened = store.open_session(&original.id).await?;
        let numbers: Vec<u64> = opened.steps.iter().map(|stored| stored.seq).collect();
        let stored = opened.steps.len() as u64;
        ensure!(opened.skipped.is_empty() && numbers == (1..=stored).collect::<Vec<_>>(), "{opened:?}");
        // Batches have 1, 1, 1, 3 and 1 steps, and are stored completely or not at all.
        ensure!([1, 2, 3, 6, 7].contains(&stored), "half a batch: {stored}");
        ensure!(stored >= reported && stored <= reported + 3, "{stored} stored, {reported} reported");
        ensure!(opened.unfinished == (stored < 7), "wrong state of the last reply");
        let messages = opened.steps.iter().filter(|stored| stored.step.kind() == "message").count();
        ensure!(original.steps == stored && original.messages == messages as u64, "{original:?}");
        let renamed = original.given_name.as_deref() == Some("renamed");
        ensure!(renamed || !said.contains(&"renamed".to_owned()), "the name is missing");
        opened.session.append(&Step::Interrupted { reason: "killed".into() }).await?;
        ensure!(!search_all(&store, "step", 10).await?.is_empty(), "the search finds nothing");
    }
    ensure!(sessions.len() < 2 || !said.contains(&"removed".to_owned()), "the removed copy is back");
    store.close().await?;
    assert_eq!(integrity(&file).await?, "ok");
    Ok(())
}

/// The disk is full from each write on. The error says so, and the same process continues without a gap when
/// there is space again.
#[tokio::test]
async fn full_disk_is_reported_and_recovered_from() -> anyhow::Result<()> {
    let program = writer()?;
    let whole = tempfile::tempdir()?;
    let output = run(&program, &whole.path().join("goose.db"), &["retry"], None).await?;
    let writes = last(&lines(&output), "writes").context("no count of writes")?;
    let runs = (1..=writes).map(|number| full_once(program.clone(), format!("full:{number}")));
    let errors: Vec<usize> = futures::stream::iter(runs).buffer_unordered(AT_ONCE).try_collect().await?;
    ensure!(errors.iter().sum::<usize>() > errors.len() / 2, "too few errors: {errors:?}");
    Ok(())
}

/// Returns the number of errors that the program has seen.
async fn full_once(program: PathBuf, fault: String) -> anyhow::Result<usize> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("goose.db");
    let output = run(&program, &file, &["retry"], Some(&fault)).await?;
    ensure!(output.status.success(), "{fault}: {}", String::from_utf8_lossy(&output.stderr));
    let said = lines(&output);
    assert_eq!(last(&said, "steps"), Some(7), "{fault}: {said:?}");
    let errors: Vec<&String> = said.iter().filter(|line| line.starts_with("error")).collect();
    ensure!(
        errors.len() <= 1 && errors.iter().all(|error| error.contains("no space left")),
        "{fault}: {errors:?}"
    );
    let store = SessionStore::open(&file).await?;
    let latest = store.latest(None).await?.context("no session")?;
    assert_eq!(store.steps(&latest.id).await?.steps.len(), 7);
    store.close().await?;
    assert_eq!(integrity(&file).await?, "ok");
    Ok(errors.len())
}

/// `ulimit` limits the size of files, like a real full disk.
#[tokio::test]
async fn file_size_limit_is_reported() -> anyhow::Result<()> {
    let program = writer()?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("goose.db");
    let script = r#"trap "" XFSZ; ulimit -f 400; exec "$0" "$1" append 100000"#;
    let output =
        Command::new("sh").args(["-c", script]).arg(&program).arg(&file).stdin(Stdio::null()).output()?;
    ensure!(!output.status.success(), "the limit had no effect");
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(error.contains("cannot be") && error.contains("goose.db"), "{error}");
    let reported: usize = lines(&output).last().context("no output")?.parse()?;
    let store = SessionStore::open(&file).await?;
    let latest = store.latest(None).await?.context("no session")?;
    assert_eq!(store.steps(&latest.id).await?.steps.len(), reported);
    store.open_session(&latest.id).await?.session.append(&Step::ReplyEnded { outcome: "x".into() }).await?;
    store.close().await?;
    assert_eq!(integrity(&file).await?, "ok");
    Ok(())
}

/// The folder and the file are read-only, for a user whom permissions restrict.
#[tokio::test]
async fn read_only_store_is_reported() -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
    // The folder is accessible to all users, so that the program can run as another user.
    let folder = tempfile::tempdir()?;
    mode(folder.path(), 0o755)?;
    let program = folder.path().join("store_writer");
    copy_program(&writer()?, &program)?;
    let sessions = folder.path().join("sessions");
    let file = sessions.join("goose.db");
    ensure!(
        run(&program, &file, &["append", "3"], None).await?.status.success(),
        "the store cannot be created"
    );
    mode(&file, 0o444)?;
    mode(&sessions, 0o555)?;

    let mut command = Command::new(&program);
    command.arg(&file).args(["append", "1"]).stdin(Stdio::null());
    if std::fs::write(sessions.join("probe"), "").is_ok() {
        // Permissions do not restrict the superuser.
        std::fs::remove_file(sessions.join("probe"))?;
        command.uid(65534).gid(65534);
    }
    let output = command.output()?;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    mode(&sessions, 0o755)?;
    ensure!(!output.status.success(), "appended");
    ensure!(error.contains("read-only") || error.contains("cannot be opened"), "{error}");
    let store = SessionStore::open(&file).await?;
    let latest = store.latest(None).await?.context("no session")?;
    assert_eq!(store.steps(&latest.id).await?.steps.len(), 3);
    Ok(())
}
