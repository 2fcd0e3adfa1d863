//! [`OldDatabase`]: `sessions.db` of goose 1.x. Anyone may have written it, so only stored rows of limited size are
//! read, and SQLite stops when it has worked for too long.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use goose_extension::Role;
use goose_providers::Usage;
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use serde_json::Value;
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Executor as _, Row as _, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteRow},
};

use super::{
    foreign::{ForeignMessage, ForeignSession, GOOSE},
    legacy::parts,
    limits::{JsonLimits, LimitError, MAX_SESSION_BYTES, MAX_STEPS, MAX_STRING_BYTES},
};
use crate::{NewSession, Step, clock};

/// Types of sessions that are not the user's own.
const OTHERS: [&str; 2] = ["hidden", "sub_agent"];

const SESSIONS: Table = Table {
    name: "sessions",
    columns: &[
        "id",
        "name",
        "description",
        "user_set_name",
        "session_type",
        "working_dir",
        "created_at",
        "provider_name",
        "model_config_json",
        "accumulated_input_tokens",
        "accumulated_output_tokens",
        "accumulated_cache_read_tokens",
        "accumulated_cache_write_tokens",
        "accumulated_cost",
    ],
    order: "created_at, id",
};

const MESSAGES: Table = Table {
    name: "messages",
    columns: &["session_id", "role", "created_timestamp", "content_json", "metadata_json"],
    order: "created_timestamp, id",
};

/// Files of a database: the database itself, and those that SQLite opens beside it.
const FILE_ENDINGS: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// Operations of SQLite between two checks.
const OPERATIONS_PER_CHECK: i32 = 1000;

/// Maximum number of checks for one database. A million messages take about 50,000; this many take half a minute.
const MAX_CHECKS: u32 = 500_000;

/// Table of the database.
#[derive(Clone, Copy)]
struct Table {
    name: &'static str,
    /// Columns to read, as far as they exist: they were added over time.
    columns: &'static [&'static str],
    order: &'static str,
}

/// Reason why a database, or a session in it, is not imported.
#[derive(Debug, thiserror::Error)]
pub(super) enum DatabaseError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("reading it takes too long")]
    TooLong,
    #[error("it has no table '{0}'")]
    NoTable(&'static str),
    #[error("columns of its table '{0}' are computed")]
    Computed(&'static str),
    #[error(transparent)]
    Limit(#[from] LimitError),
    #[error(transparent)]
    Sqlite(sqlx::Error),
}

impl From<sqlx::Error> for DatabaseError {
    fn from(error: sqlx::Error) -> Self {
        /// `SQLITE_INTERRUPT`: the progress handler stopped it.
        const INTERRUPTED: &str = "9";
        let code = error.as_database_error().and_then(|error| error.code());
        if code.as_deref() == Some(INTERRUPTED) { Self::TooLong } else { Self::Sqlite(error) }
    }
}

/// Read-only connection to `sessions.db`.
pub(super) struct OldDatabase(SqliteConnection);

impl OldDatabase {
    pub(super) async fn open(file: &Path) -> Result<Self, DatabaseError> {
        check_files(file)?;
        let options = SqliteConnectOptions::new()
            .filename(file)
            .read_only(true)
            .pragma("trusted_schema", "OFF")
            .disable_statement_logging();
        let mut connection = options.connect().await?;
        let mut checks = 0;
        connection.lock_handle().await?.set_progress_handler(OPERATIONS_PER_CHECK, move || {
            checks += 1;
            checks <= MAX_CHECKS
        });
        Ok(Self(connection))
    }

    /// Returns all sessions of the user, without their messages.
    pub(super) async fn sessions(&mut self) -> Result<Vec<ForeignSession>, DatabaseError> {
        let rows = self.rows(SESSIONS, None).await?;
        let is_wanted =
            |row: &&SqliteRow| !OTHERS.contains(&text(row, "session_type").unwrap_or_default().as_str());
        Ok(rows.iter().filter(is_wanted).map(row_session).collect::<Result<_, _>>()?)
    }

    /// Adds the messages of a session.
    pub(super) async fn with_messages(
        &mut self,
        mut session: ForeignSession,
    ) -> Result<ForeignSession, DatabaseError> {
        let rows = self.rows(MESSAGES, Some(session.id.clone())).await?;
        let mut limits = JsonLimits::default();
        session.messages =
            rows.iter().map(|row| row_message(row, &mut limits)).collect::<Result<_, DatabaseError>>()?;
        Ok(session)
    }

    /// Returns the rows of a table, or those of a session in it, if they are within the limits.
    async fn rows(&mut self, table: Table, session: Option<String>) -> Result<Vec<SqliteRow>, DatabaseError> {
        let columns = self.stored_columns(table).await?;
        let Table { name, order, .. } = table;
        let filter = if session.is_some() { "WHERE session_id = $1" } else { "" };
        // Unlike length(), octet_length() does not load the value.
        let sizes: Vec<String> =
            columns.iter().map(|column| format!("coalesce(octet_length({column}), 0)")).collect();
        let sizes = sizes.join(" + ");
        let counts = format!(
            "SELECT count(*) AS row_count, coalesce(max(size), 0) AS largest, coalesce(sum(size), 0) AS total \
             FROM (SELECT {sizes} AS size FROM {name} {filter})"
        );
        let found = self.0.fetch_one(sqlx::query(AssertSqlSafe(counts)).bind(session.clone())).await?;
        let exceeds = |column: &str, limit: u64| {
            number(&found, column).is_none_or(|count| u64::try_from(count).is_ok_and(|count| count > limit))
        };
        if exceeds("row_count", MAX_STEPS as u64) {
            return Err(LimitError::Steps.into());
        }
        if exceeds("largest", MAX_STRING_BYTES as u64) {
            return Err(LimitError::String.into());
        }
        if exceeds("total", MAX_SESSION_BYTES) {
            return Err(LimitError::Size.into());
        }
        // Another program may write meanwhile, so the limits hold here too.
        let rows = format!(
            "SELECT {} FROM {name} {filter} {} {sizes} <= {MAX_STRING_BYTES} ORDER BY {order} LIMIT {MAX_STEPS}",
            columns.join(", "),
            if session.is_some() { "AND" } else { "WHERE" }
        );
        Ok(self.0.fetch_all(sqlx::query(AssertSqlSafe(rows)).bind(session)).await?)
    }

    /// Returns the wanted columns that the table has. A view, a virtual table and computed columns are refused: reading
    /// them runs what their author wrote.
    async fn stored_columns(&mut self, table: Table) -> Result<Vec<&'static str>, DatabaseError> {
        const IS_TABLE: &str =
            "SELECT 1 FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND lower(name) = $1";
        const COLUMNS: &str = "SELECT lower(name) AS name, hidden FROM pragma_table_xinfo($1)";
        if self.0.fetch_optional(sqlx::query(IS_TABLE).bind(table.name)).await?.is_none() {
            return Err(DatabaseError::NoTable(table.name));
        }
        let found = self.0.fetch_all(sqlx::query(COLUMNS).bind(table.name)).await?;
        if found.iter().any(|column| number(column, "hidden") != Some(0)) {
            return Err(DatabaseError::Computed(table.name));
        }
        let names: Vec<String> = found.iter().filter_map(|column| text(column, "name")).collect();
        let is_there = |wanted: &&&str| names.iter().any(|name| name == **wanted);
        Ok(table.columns.iter().filter(is_there).copied().collect())
    }
}

/// Fails unless the files of a database are regular files: SQLite would wait for the other end of a pipe.
fn check_files(file: &Path) -> io::Result<()> {
    for ending in FILE_ENDINGS {
        let mut path = OsString::from(file);
        path.push(ending);
        match goose_fs::open_regular(&PathBuf::from(path)) {
            Err(error) if ending.is_empty() || error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn row_session(row: &SqliteRow) -> Result<ForeignSession, sqlx::Error> {
    let is_named = number(row, "user_set_name").is_some_and(|set| set != 0);
    // A name from a model is better than the first words.
    let name = text(row, "name").or_else(|| text(row, "description"));
    let name = name.filter(|name| is_named || name != "CLI Session");
    Ok(ForeignSession {
        program: GOOSE,
        id: row.try_get("id")?,
        new: NewSession { name, ..NewSession::in_folder(text(row, "working_dir").unwrap_or_default()) },
        created_at: text(row, "created_at").and_then(|at| moment(&at)).unwrap_or_else(clock::now),
        messages: Vec::new(),
        cost: cost(row),
    })
}

fn row_message(row: &SqliteRow, limits: &mut JsonLimits) -> Result<ForeignMessage, DatabaseError> {
    let role: String = row.try_get("role")?;
    let seconds = number(row, "created_timestamp").unwrap_or(0);
    let mut json = |column: &str| -> Result<Value, LimitError> {
        let Some(text) = text(row, column) else { return Ok(Value::Null) };
        limits.check(text.as_bytes())?;
        limits.check(b"\n")?;
        Ok(serde_json::from_str(&text).unwrap_or(Value::Null))
    };
    Ok(ForeignMessage {
        at: Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH),
        role: if role == "assistant" { Role::Assistant } else { Role::User },
        parts: parts(&json("content_json")?),
        metadata: json("metadata_json")?,
    })
}

/// Returns the cost of a session as one step.
fn cost(row: &SqliteRow) -> Option<Step> {
    let tokens = |name: &str| number(row, name).and_then(|count| u64::try_from(count).ok()).unwrap_or(0);
    let usage = Usage {
        input: tokens("accumulated_input_tokens"),
        output: tokens("accumulated_output_tokens"),
        cached_input: tokens("accumulated_cache_read_tokens"),
        cache_write: tokens("accumulated_cache_write_tokens"),
    };
    let config: Value =
        text(row, "model_config_json").and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    (usage != Usage::default()).then(|| Step::Cost {
        provider: text(row, "provider_name").unwrap_or_default(),
        model: config["model_name"].as_str().unwrap_or_default().to_owned(),
        usage,
        dollars: row.try_get_unchecked("accumulated_cost").ok().flatten(),
    })
}

/// Reads a column that may be missing or empty.
fn text(row: &SqliteRow, column: &str) -> Option<String> {
    let text: Option<String> = row.try_get_unchecked(column).ok()?;
    text.filter(|text| !text.is_empty())
}

fn number(row: &SqliteRow, column: &str) -> Option<i64> {
    row.try_get_unchecked::<Option<i64>, _>(column).ok()?
}

/// Parses a UTC time such as `2026-11-15 08:49:47`.
fn moment(text: &str) -> Option<Timestamp> {
    let at: DateTime = text.parse().ok()?;
    Some(at.to_zoned(TimeZone::UTC).ok()?.timestamp())
}
