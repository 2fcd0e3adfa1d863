//! The tables, and how an older store gets the newer ones. The version is SQLite's `user_version`.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use sqlx::{Executor as _, Row as _, SqlSafeStr, SqliteConnection, sqlite::SqliteRow};

use super::{StoreError, error::explain};

/// Each brings a store from the version before (its place in this list) to the next. Only ever appended to.
const MIGRATIONS: &[&[&str]] = &[
    &[include_str!("migrations/0001_sessions.sql"), include_str!("migrations/0001_search_sqlite.sql")],
    &[include_str!("migrations/0002_session_kinds.sql")],
];

/// The version after all migrations.
const KNOWN: i64 = MIGRATIONS.len() as i64;

/// How often another process that sets up the same file is looked at again.
const PAUSE: Duration = Duration::from_millis(5);

/// Looks at the version and, where needed, migrates. Several processes may do so at once.
pub(super) async fn bring_up_to_date(
    connection: &mut SqliteConnection,
    path: &Path,
    patience: Duration,
) -> Result<(), StoreError> {
    let deadline = Instant::now() + patience;
    loop {
        let done = try_once(connection, path).await;
        // The change to a write-ahead log does not always wait for others; it asks to be tried again.
        if !matches!(done, Err(StoreError::Locked { .. })) || Instant::now() > deadline {
            return done;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn try_once(connection: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    let state = State::read(connection).await.map_err(|error| explain(path, &error))?;
    if state.version > KNOWN {
        return Err(StoreError::Newer { path: path.to_owned(), found: state.version, known: KNOWN });
    }
    if state.version == KNOWN && state.has_log {
        return Ok(());
    }
    set_up(connection, state, path).await
}

async fn set_up(connection: &mut SqliteConnection, state: State, path: &Path) -> Result<(), StoreError> {
    let explained = |error: sqlx::Error| explain(path, &error);
    if state.version == 0 && state.has_tables(connection).await.map_err(explained)? {
        return Err(StoreError::NotOurs { path: path.to_owned() });
    }
    if !state.has_log {
        run(connection, "PRAGMA journal_mode = WAL").await.map_err(explained)?;
    }
    if state.version < KNOWN {
        migrate(connection).await.map_err(explained)?;
    }
    Ok(())
}

struct State {
    version: i64,
    has_log: bool,
}

impl State {
    async fn read(connection: &mut SqliteConnection) -> Result<Self, sqlx::Error> {
        let rows = fetch(connection, "PRAGMA user_version; PRAGMA journal_mode").await?;
        let [version, journal] = rows.as_slice() else {
            return Err(sqlx::Error::RowNotFound);
        };
        Ok(Self { version: version.try_get(0)?, has_log: journal.try_get::<&str, _>(0)? == "wal" })
    }

    /// Whether there is something in the file that no version of goose has made.
    async fn has_tables(&self, connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
        // In one statement: another process may be setting up the file.
        let foreign = "SELECT COUNT(*) FROM sqlite_master, pragma_user_version() WHERE user_version = 0";
        let rows = fetch(connection, foreign).await?;
        Ok(rows.first().map_or(Ok(0), |row| row.try_get::<i64, _>(0))? > 0)
    }
}

/// All or nothing: a process that dies in the middle leaves the old version.
async fn migrate(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    run(connection, "BEGIN IMMEDIATE").await?;
    let done = migrate_in_transaction(connection).await;
    let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
    run(connection, end).await?;
    done
}

async fn migrate_in_transaction(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    // Another process may have been faster.
    let version = State::read(connection).await?.version;
    let missing = MIGRATIONS.get(usize::try_from(version).unwrap_or(0)..).unwrap_or_default();
    for &scripts in missing {
        for &script in scripts {
            run(connection, script).await?;
        }
    }
    let set_version = format!("PRAGMA user_version = {}", version.max(KNOWN));
    run(connection, sqlx::AssertSqlSafe(set_version)).await
}

async fn run(connection: &mut SqliteConnection, sql: impl SqlSafeStr) -> Result<(), sqlx::Error> {
    connection.execute(sqlx::raw_sql(sql)).await.map(drop)
}

async fn fetch(connection: &mut SqliteConnection, sql: &'static str) -> Result<Vec<SqliteRow>, sqlx::Error> {
    connection.fetch_all(sqlx::raw_sql(sql)).await
}
