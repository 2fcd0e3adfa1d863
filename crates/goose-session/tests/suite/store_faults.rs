//! Stores that are damaged, foreign or newer: readable content is read, and nothing is overwritten.

use std::{
    io::{Seek as _, SeekFrom, Write as _},
    path::Path,
};

use anyhow::{Context as _, ensure};
use goose_extension::ToolOutput;
use goose_session::{NewSession, SessionStore, StoreError, ToolEnd};
use sqlx::{Connection as _, Executor as _, Row as _};

use super::support::{TestStore, raw, search_all, user};

/// Returns the result of SQLite's integrity check.
pub(crate) async fn integrity(file: &Path) -> anyhow::Result<String> {
    let row = raw(file).await?.fetch_one("PRAGMA integrity_check").await?;
    Ok(row.try_get(0)?)
}

async fn refusal(file: &Path) -> anyhow::Result<StoreError> {
    SessionStore::open(file).await.err().context("opened")
}

fn texts(steps: &[goose_session::StoredStep]) -> Vec<String> {
    let texts = steps.iter().filter_map(|stored| match &stored.step {
        goose_session::Step::Message { message } => Some(message.text()),
        _ => None,
    });
    texts.collect()
}

/// A file of another program is reported and not changed.
#[tokio::test]
async fn foreign_file_is_refused_and_unchanged() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("goose.db");
    let garbage = b"This text is not a database. ".repeat(200);
    std::fs::write(&file, &garbage)?;
    let error = refusal(&file).await?;
    assert_eq!(error, StoreError::NotADatabase(file.clone()));
    assert!(error.hint().unwrap_or_default().contains("move"), "{error:?}");
    assert_eq!(std::fs::read(&file)?, garbage);

    let foreign = folder.path().join("foreign.db");
    raw(&foreign).await?.execute("CREATE TABLE recipes (name TEXT)").await?;
    assert_eq!(refusal(&foreign).await?, StoreError::NotOurs(foreign.clone()));
    let tables = raw(&foreign).await?.fetch_all("SELECT name FROM sqlite_master").await?;
    assert_eq!(tables.len(), 1);
    Ok(())
}

/// The error names both versions.
#[tokio::test]
async fn newer_store_is_refused() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let session = test.session(&["hello"]).await?;
    test.store.close().await?;
    raw(&test.file()).await?.execute("PRAGMA user_version = 999").await?;
    let error = refusal(&test.file()).await?;
    assert!(error.to_string().contains("version 999") && error.to_string().contains("up to 4"), "{error}");
    assert!(error.hint().is_some());
    raw(&test.file()).await?.execute("PRAGMA user_version = 4").await?;
    assert_eq!(test.store.steps(session.id()).await?.steps.len(), 1);
    Ok(())
}

#[tokio::test]
async fn empty_file_becomes_a_store() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("goose.db");
    std::fs::write(&file, "")?;
    let store = SessionStore::open(&file).await?;
    store.create(NewSession::in_folder("/work")).await?.append(&user("hi")).await?;
    assert_eq!(integrity(&file).await?, "ok");
    Ok(())
}

/// Unreadable steps are skipped and reported; the others are read, and the session can be resumed.
#[tokio::test]
async fn invalid_step_does_not_affect_the_others() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let session = test.session(&["one", "two", "three", "four", "five", "six"]).await?;
    let mut raw = raw(&test.file()).await?;
    for broken in [
        "UPDATE steps SET body = 'no json' WHERE seq = 2",
        "UPDATE steps SET body = x'ff00fe' WHERE seq = 3",
        "UPDATE steps SET body = '{\"step\":\"from_the_future\",\"x\":1}' WHERE seq = 4",
        "UPDATE steps SET body = '' WHERE seq = 5",
    ] {
        ensure!(raw.execute(broken).await?.rows_affected() == 1, "{broken}");
    }
    let opened = test.another_store().open_session(session.id()).await?;
    assert_eq!(texts(&opened.steps), ["one", "six"]);
    let skipped: Vec<u64> = opened.skipped.iter().map(|skipped| skipped.seq).collect();
    assert_eq!(skipped, [2, 3, 4, 5]);
    assert!(opened.skipped.iter().all(|skipped| !skipped.reason.is_empty()), "{:?}", opened.skipped);
    assert_eq!(opened.session.append(&user("seven")).await?, 7);
    assert_eq!(search_all(&test.store, "six", 5).await?.len(), 1);
    Ok(())
}

/// A log that was cut anywhere gives the steps before the cut.
#[tokio::test]
async fn torn_log_gives_the_steps_before_the_cut() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let said: Vec<String> = (1..=20).map(|number| format!("step {number}")).collect();
    let session = test.session(&said.iter().map(String::as_str).collect::<Vec<_>>()).await?;
    let (database, log) = (std::fs::read(test.file())?, std::fs::read(test.file().with_extension("db-wal"))?);
    let mut seen = std::collections::BTreeSet::new();
    for cut in (0..log.len()).step_by(log.len() / 40) {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("goose.db");
        std::fs::write(&file, &database)?;
        let mut torn = log[..cut].to_vec();
        torn.extend(b"garbage".repeat(300));
        std::fs::write(file.with_extension("db-wal"), torn)?;
        let store = SessionStore::open(&file).await?;
        let kept = match store.open_session(session.id()).await {
            Ok(opened) => {
                assert_eq!(texts(&opened.steps), said[..opened.steps.len()]);
                opened.session.append(&user("next")).await?;
                opened.steps.len()
            }
            Err(StoreError::NoSuchSession(_)) => 0,
            Err(error) => return Err(error.into()),
        };
        store.close().await?;
        assert_eq!(integrity(&file).await?, "ok");
        seen.insert(kept);
    }
    ensure!(seen.len() > 5, "the cuts were not at different steps: {seen:?}");
    Ok(())
}

/// Overwrites a page of steps in the middle of the file.
async fn damage_a_leaf(test: &TestStore) -> anyhow::Result<()> {
    let query = "SELECT pageno FROM dbstat WHERE name = 'steps' AND pagetype = 'leaf' ORDER BY pageno";
    let pages = raw(&test.file()).await?.fetch_all(query).await?;
    let page: i64 = pages.get(pages.len() / 2).context("no leaf page")?.try_get(0)?;
    let mut file = std::fs::OpenOptions::new().write(true).open(test.file())?;
    file.seek(SeekFrom::Start((u64::try_from(page)? - 1) * 4096))?;
    file.write_all(&[0x55; 4096])?;
    Ok(())
}

/// In a damaged file, everything outside of the damage is read.
#[tokio::test]
async fn damaged_page_loses_only_its_steps() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let session = test.store.create(NewSession::in_folder("/work")).await?;
    let steps: Vec<_> = (0..100).map(|number| user(&format!("{number} {}", "x".repeat(400)))).collect();
    session.append_all(&steps).await?;
    test.store.close().await?;
    damage_a_leaf(&test).await?;

    let found = test.another_store().check().await;
    assert!(matches!(found, Err(StoreError::Damaged { .. })), "{found:?}");
    let opened = test.store.open_session(session.id()).await?;
    ensure!(opened.steps.len() > 80 && opened.steps.len() < 100, "{} steps", opened.steps.len());
    assert_eq!(opened.steps.len() + opened.skipped.len(), 100);
    let last = opened.steps.last().context("no steps")?;
    assert_eq!((last.seq, &last.step), (100, &steps[99]));

    let head = test.file();
    let mut file = std::fs::OpenOptions::new().write(true).open(&head)?;
    file.seek(SeekFrom::Start(100))?;
    file.write_all(&[0x55; 8000])?;
    let error = test.another_store().list(Default::default()).await.err().context("read")?;
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(error.hint().unwrap_or_default().contains(".recover"), "{error:?}");
    Ok(())
}

/// The stored number of steps can be damaged, too: only existing steps are read.
#[tokio::test]
async fn damaged_number_of_steps_is_not_trusted() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let session = test.store.create(NewSession::in_folder("/work")).await?;
    let steps: Vec<_> = (0..100).map(|number| user(&format!("{number} {}", "x".repeat(400)))).collect();
    session.append_all(&steps).await?;
    test.store.close().await?;
    let mut connection = raw(&test.file()).await?;
    connection.execute("UPDATE sessions SET last_seq = 4611686018427387904").await?;
    connection.close().await?;
    damage_a_leaf(&test).await?;

    let opened = test.store.open_session(session.id()).await?;
    ensure!(opened.steps.len() > 80, "{} steps", opened.steps.len());
    assert_eq!(opened.steps.len() + opened.skipped.len(), 101);
    let rest = opened.skipped.last().context("nothing was skipped")?;
    assert!(rest.seq == 101 && rest.reason.contains("all later steps"), "{rest:?}");
    Ok(())
}

#[tokio::test]
async fn oversized_step_is_refused() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let session = test.session(&["hello"]).await?;
    let output = ToolOutput::text("x".repeat(65 * 1024 * 1024));
    let large = goose_session::Step::ToolResult { id: "1".into(), output, end: ToolEnd::Ran };
    let error = session.append(&large).await.err().context("stored")?;
    assert!(matches!(error, StoreError::StepTooLarge { .. }), "{error}");
    assert_eq!(session.append(&user("next")).await?, 2);
    Ok(())
}

/// The folder of the store is a file.
#[tokio::test]
async fn store_that_cannot_be_created_says_why() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let blocked = folder.path().join("sessions");
    std::fs::write(&blocked, "a file")?;
    let error = refusal(&blocked.join("goose.db")).await?;
    assert!(matches!(error, StoreError::CannotOpen { .. }), "{error}");
    assert!(error.hint().unwrap_or_default().contains("--no-session"), "{error:?}");
    Ok(())
}

/// The second of two writers gets an error, and neither loses a step.
#[tokio::test]
async fn second_writer_of_a_session_is_refused() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let mine = test.session(&["hello"]).await?;
    let theirs = test.another_store().open_session(mine.id()).await?.session;
    theirs.append(&user("theirs")).await?;
    for _ in 0..2 {
        let error = mine.append(&user("mine")).await.err().context("appended")?;
        assert_eq!(error, StoreError::SessionBusy(mine.id().clone()));
        assert!(error.hint().unwrap_or_default().contains("--fork"));
    }
    theirs.append(&user("theirs again")).await?;
    assert_eq!(texts(&test.store.steps(mine.id()).await?.steps), ["hello", "theirs", "theirs again"]);
    Ok(())
}

/// Rows of the index that are ahead of `indexed_seq`, as after a restored copy or a manual edit.
#[tokio::test]
async fn search_index_that_is_ahead_is_repaired() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let session = test.session(&["the first walrus", "the second walrus"]).await?;
    assert_eq!(search_all(&test.store, "walrus", 10).await?.len(), 2);
    let mut raw = raw(&test.file()).await?;
    raw.execute("UPDATE sessions SET indexed_seq = 0").await?;
    for _ in 0..2 {
        assert_eq!(search_all(&test.store, "walrus", 10).await?.len(), 2);
    }
    // Rows that the index itself does not have.
    raw.execute("DELETE FROM searchable; INSERT INTO search (search) VALUES ('rebuild')").await?;
    let left =
        "INSERT INTO searchable (session_id, seq, text) SELECT session_id, seq, 'left over' FROM steps";
    raw.execute(left).await?;
    raw.execute("UPDATE sessions SET indexed_seq = 0").await?;
    assert_eq!(search_all(&test.store, "walrus", 10).await?.len(), 2);
    assert!(search_all(&test.store, "left", 10).await?.is_empty());
    test.store.remove(session.id()).await?;
    assert!(search_all(&test.store, "walrus", 10).await?.is_empty());
    Ok(())
}
