//! An import reads regular files, real tables and a limited amount of data, whoever wrote the file.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use goose_session::{StoreError, import};
use sqlx::Executor as _;

use super::support::{TestStore, raw};

/// Time within which an import is refused.
const LIMIT: Duration = Duration::from_secs(60);

const TABLES: &str = "CREATE TABLE sessions (id TEXT, created_at TEXT); \
     CREATE TABLE messages (id INTEGER, session_id TEXT, role TEXT, content_json TEXT, created_timestamp INTEGER); \
     INSERT INTO sessions VALUES ('20261115_1', ''), ('20261115_2', ''); \
     INSERT INTO messages VALUES (1, '20261115_2', 'user', '[{\"type\": \"text\", \"text\": \"hi\"}]', 1);";

/// Endless rows of the columns that an import reads.
const ENDLESS: &str = "AS WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) \
     SELECT x AS id, '' AS created_at, '20261115_1' AS session_id, 'user' AS role, '[]' AS content_json, \
     x AS created_timestamp FROM n";

fn make_pipe(path: &Path) -> anyhow::Result<()> {
    ensure!(std::process::Command::new("mkfifo").arg(path).status()?.success());
    Ok(())
}

/// Returns the reason why the file is refused.
async fn refused(path: &Path) -> anyhow::Result<String> {
    let test = TestStore::new()?;
    let begun = Instant::now();
    let error = import::from_path(&test.store, path).await.err().context("imported")?;
    ensure!(begun.elapsed() < LIMIT, "{path:?} took {:?}", begun.elapsed());
    ensure!(matches!(error, StoreError::NotImportable { .. }), "{error}");
    Ok(error.to_string())
}

#[tokio::test]
async fn views_and_computed_columns_are_not_read() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let view = |name: &str| format!("DROP TABLE {name}; CREATE VIEW {name} {ENDLESS};");
    let computed = "DROP TABLE sessions; CREATE TABLE sessions (id TEXT, created_at TEXT, \
                    name TEXT AS (hex(zeroblob(id))));";
    for (name, change, reason) in [
        ("view.db", view("sessions"), "no table 'sessions'"),
        ("computed.db", computed.to_owned(), "'sessions' are computed"),
        ("neither.db", "DROP TABLE sessions".to_owned(), "no table 'sessions'"),
    ] {
        let file = folder.path().join(name);
        raw(&file).await?.execute(sqlx::AssertSqlSafe(format!("{TABLES} {change}"))).await?;
        let error = refused(&file).await?;
        ensure!(error.contains(reason), "{name}: {error}");
    }
    let file = folder.path().join("messages.db");
    let change = view("messages");
    raw(&file).await?.execute(sqlx::AssertSqlSafe(format!("{TABLES} {change}"))).await?;
    let imported = import::from_path(&TestStore::new()?.store, &file).await?;
    assert_eq!((imported.sessions.len(), imported.failed.len()), (0, 2), "{imported:?}");
    Ok(())
}

/// A session over a limit is left out with a reason. The others are imported.
#[tokio::test]
async fn sessions_over_a_limit_are_left_out() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let row = "INSERT INTO messages SELECT 2, '20261115_1', 'user',";
    let rows = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x <= 100000) \
                INSERT INTO messages SELECT x + 2, '20261115_1', 'user', '[]', x FROM n";
    for (name, change, reason) in [
        ("text.db", format!("{row} hex(zeroblob(20000000)), 1"), "larger than 33554432 bytes"),
        (
            "values.db",
            format!("{row} '[' || replace(hex(zeroblob(1100000)), '0', '0,') || '0]', 1"),
            "JSON values",
        ),
        ("steps.db", rows.to_owned(), "more than 100000 steps"),
    ] {
        let file = folder.path().join(name);
        raw(&file).await?.execute(sqlx::AssertSqlSafe(format!("{TABLES} {change}"))).await?;
        let imported = import::from_path(&TestStore::new()?.store, &file).await?;
        assert_eq!(imported.sessions.len(), 1, "{name}: {imported:?}");
        let failed = imported.failed.first().context("everything was imported")?;
        ensure!(failed.reason.contains(reason), "{name}: {}", failed.reason);
    }
    Ok(())
}

#[tokio::test]
async fn pipes_and_devices_are_not_read() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    make_pipe(&at("sessions.db"))?;
    std::os::unix::fs::symlink("/dev/zero", at("zero.db"))?;
    raw(&at("beside.db")).await?.execute(TABLES).await?;
    make_pipe(&at("beside.db-wal"))?;
    for name in ["sessions.db", "zero.db", "beside.db"] {
        let error = refused(&at(name)).await?;
        ensure!(error.contains("not a regular file"), "{name}: {error}");
    }
    let logs = tempfile::tempdir()?;
    make_pipe(&logs.path().join("pipe.jsonl"))?;
    std::os::unix::fs::symlink("/dev/zero", logs.path().join("zero.jsonl"))?;
    std::fs::File::create(logs.path().join("large.jsonl"))?.set_len(import::MAX_SESSION_BYTES + 1)?;
    let imported = import::from_path(&TestStore::new()?.store, logs.path()).await?;
    assert_eq!(imported.failed.len(), 3, "{imported:?}");
    Ok(())
}

#[tokio::test]
async fn exports_over_a_limit_are_refused() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let start = r#"{"format": "goose-session", "version": 1, "steps": ["#;
    for (rest, reason) in [
        (format!("\"{}", "x".repeat(33_554_433)), "a text in it is larger than 33554432 bytes"),
        (format!("[{}", "0,".repeat(2_000_001)), "more than 2000000 JSON values"),
        ("0,".repeat(100_001), "more than 100000 steps"),
    ] {
        let export = format!("{start}{rest}");
        let error = import::json(&test.store, export.as_bytes()).await.err().context("imported")?;
        ensure!(error.to_string().contains(reason), "{error}");
    }
    Ok(())
}
