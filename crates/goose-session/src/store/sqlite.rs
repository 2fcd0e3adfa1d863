//! SQLite: the file, its settings and tables, its SQL, and the meaning of its result codes.
//!
//! The file has a write-ahead log with `synchronous=NORMAL`: a commit survives the end of the process, and a
//! power cut once the log is [flushed](Dialect::flush). Writes begin with `BEGIN IMMEDIATE`, so that they
//! wait for each other at the start and do not fail halfway.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io,
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use futures::{StreamExt as _, TryStreamExt as _, future::BoxFuture, stream::BoxStream};
use goose_fs::create_private_dir;
use sqlx::{
    ConnectOptions as _, Connection as _, Executor as _, Row as _, SqlSafeStr, Sqlite, SqliteConnection,
    query::Query,
    sqlite::{SqliteArguments, SqliteConnectOptions, SqliteRow, SqliteSynchronous},
};

use super::{
    StoreError,
    dialect::{Connection, Dialect, Row, SearchTerm, Sql, Statement, Value},
};

/// Maximum wait for other processes that write.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// Length of the log, in pages, at which a write copies it into the file, if no [`Dialect::checkpoint`] did
/// before.
const AUTO_CHECKPOINT_PAGES: &str = "4000";

/// Number of pages that are only in the log at which a checkpoint copies them into the file.
const CHECKPOINT_PAGES: i64 = 500;

/// Migrations. Each entry brings a store from the version of its index to the next. Entries are only
/// appended.
const MIGRATIONS: &[&[&str]] = &[
    &[include_str!("migrations/0001_sessions.sql"), include_str!("migrations/0001_search_sqlite.sql")],
    &[include_str!("migrations/0002_session_kinds.sql")],
    &[include_str!("migrations/0003_search_by_day_sqlite.sql")],
    &[include_str!("migrations/0004_jobs.sql")],
];

/// Version after all migrations, stored as `user_version` of the file.
const KNOWN: i64 = MIGRATIONS.len() as i64;

/// Maximum number of statements that are joined. Each joined text is prepared once and cached; longer texts
/// would recur less often, and cost more than the trips that they save.
const MAX_JOINED: usize = 8;

/// Initial capacity of joined statements; those of an append need less.
const USUAL_SQL_BYTES: usize = 1_024;

/// Pause before trying again while another process sets up the same file.
const SET_UP_PAUSE: Duration = Duration::from_millis(5);

static SQL: Sql = Sql {
    begin_read: "BEGIN",
    begin_write: "BEGIN IMMEDIATE",
    // A step that is indexed already is replaced: otherwise one leftover row would make every search fail.
    // Its entry in the index is deleted first, but only if it exists: deleting a missing entry would damage
    // the index.
    index_step: "INSERT INTO search (search, rowid, text) SELECT 'delete', id, text FROM searchable \
         WHERE session_id = $1 AND seq = $2 AND id IN (SELECT id FROM search_docsize); \
         INSERT OR REPLACE INTO searchable (id, session_id, seq, text) VALUES (1 + COALESCE( \
         (SELECT id FROM searchable WHERE id BETWEEN $4 AND $4 + 4294967295 ORDER BY id DESC LIMIT 1), \
         $4), $1, $2, $3); \
         INSERT INTO search (rowid, text) VALUES (last_insert_rowid(), $3)",
    // Reads from the end of the word's list, without ranking: ranking the 200,000 texts with a frequent word
    // takes 250 ms. All ids come in one row, because each row takes longer to transfer than all the rest.
    matching: "SELECT json_group_array(rowid) AS ids FROM (SELECT rowid FROM search \
         WHERE search MATCH $1 AND rowid BETWEEN $2 AND $3 \
         AND rowid NOT IN (SELECT id FROM searchable WHERE session_id = $4) ORDER BY rowid DESC LIMIT $5)",
    matches: "SELECT searchable.id, searchable.session_id, searchable.seq, steps.at, steps.kind, \
         COALESCE(sessions.given_name, sessions.title, sessions.id) AS name, \
         octet_length(searchable.text) AS bytes \
         FROM json_each($1) AS wanted \
         JOIN searchable ON searchable.id = wanted.value \
         JOIN steps ON steps.session_id = searchable.session_id AND steps.seq = searchable.seq \
         JOIN sessions ON sessions.id = searchable.session_id \
         WHERE sessions.kind = 'user' AND steps.at >= $2 AND steps.at < $3 \
         AND (CAST($4 AS TEXT) IS NULL OR sessions.working_dir = $4)",
    texts: "SELECT searchable.id, searchable.text FROM json_each($1) AS wanted \
         JOIN searchable ON searchable.id = wanted.value",
    // Without it, FTS5 only marks rows as deleted.
    begin_removal: "PRAGMA secure_delete = ON; INSERT INTO search (search, rank) VALUES ('secure-delete', 1)",
    unindex: "INSERT INTO search (search, rowid, text) \
         SELECT 'delete', id, text FROM searchable WHERE session_id = $1",
    end_removal: "PRAGMA secure_delete = FAST",
    purge_log: "PRAGMA wal_checkpoint(TRUNCATE)",
    check: "SELECT quick_check AS problem FROM pragma_quick_check WHERE quick_check <> 'ok' LIMIT 1",
};

/// Store in a file.
#[derive(Debug)]
pub(super) struct SqliteFile {
    path: PathBuf,
    /// True if this process created the file, and its entry in the folder is not synced yet.
    is_new: AtomicBool,
}

impl SqliteFile {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), is_new: AtomicBool::new(false) }
    }

    async fn open(&self) -> Result<SqliteConnection, StoreError> {
        if create_private_file(&self.path).map_err(|error| self.cannot_open(&error))? {
            self.is_new.store(true, Ordering::Relaxed);
        }
        let options = SqliteConnectOptions::new()
            .filename(&self.path)
            .busy_timeout(BUSY_TIMEOUT)
            .synchronous(SqliteSynchronous::Normal)
            .pragma("wal_autocheckpoint", AUTO_CHECKPOINT_PAGES)
            // Overwrites old content in pages that are written anyway.
            .pragma("secure_delete", "FAST")
            .disable_statement_logging();
        let mut connection = options.connect().await.map_err(|error| self.explain(&error))?;
        self.bring_up_to_date(&mut connection).await?;
        Ok(connection)
    }

    fn cannot_open(&self, error: &io::Error) -> StoreError {
        let path = self.path.clone();
        match error.kind() {
            io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly(path),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full(path),
            _ => StoreError::CannotOpen { path, reason: error.to_string() },
        }
    }

    /// Creates or migrates the tables if needed. Several processes may do so at once.
    async fn bring_up_to_date(&self, connection: &mut SqliteConnection) -> Result<(), StoreError> {
        let deadline = Instant::now() + BUSY_TIMEOUT;
        loop {
            let done = self.try_set_up(connection).await;
            // Switching to a write-ahead log does not always wait for others; it fails as locked and must be
            // retried.
            if !matches!(done, Err(StoreError::Locked(_))) || Instant::now() > deadline {
                return done;
            }
            tokio::time::sleep(SET_UP_PAUSE).await;
        }
    }

    async fn try_set_up(&self, connection: &mut SqliteConnection) -> Result<(), StoreError> {
        let explained = |error: sqlx::Error| self.explain(&error);
        let state = FileState::read(connection).await.map_err(explained)?;
        if state.version > KNOWN {
            return Err(StoreError::Newer { path: self.path.clone(), found: state.version, known: KNOWN });
        }
        if state.version == 0 && has_foreign_tables(connection).await.map_err(explained)? {
            return Err(StoreError::NotOurs(self.path.clone()));
        }
        if !state.has_log {
            run(connection, "PRAGMA journal_mode = WAL").await.map_err(explained)?;
        }
        if state.version < KNOWN {
            migrate(connection).await.map_err(explained)?;
        }
        Ok(())
    }
}

impl Dialect for SqliteFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn connect(&self) -> BoxFuture<'_, Result<Box<dyn Connection>, StoreError>> {
        Box::pin(async { Ok(Box::new(self.open().await?) as Box<dyn Connection>) })
    }

    fn explain(&self, error: &sqlx::Error) -> StoreError {
        let path = self.path.clone();
        let reason = error.to_string();
        let code = error.as_database_error().and_then(|error| error.code()?.parse::<i32>().ok());
        if code == Some(code::IOERR_SHMSIZE) {
            return StoreError::Full(path);
        }
        match code.map(|code| code & code::PRIMARY) {
            Some(code::BUSY | code::LOCKED) => StoreError::Locked(path),
            Some(code::READONLY) => StoreError::ReadOnly(path),
            Some(code::FULL) => StoreError::Full(path),
            Some(code::IOERR) => StoreError::Disk { path, reason },
            Some(code::CORRUPT) => StoreError::Damaged { path, reason },
            Some(code::CANTOPEN) => StoreError::CannotOpen { path, reason },
            Some(code::NOTADB) => StoreError::NotADatabase(path),
            _ => StoreError::Other(reason),
        }
    }

    fn sql(&self) -> &'static Sql {
        &SQL
    }

    /// Quotes each word, so that nothing in it is syntax of FTS5.
    fn search_condition(&self, terms: &[SearchTerm<'_>]) -> String {
        let term =
            |term: &SearchTerm<'_>| format!("\"{}\"{}", term.word, if term.is_prefix { "*" } else { "" });
        terms.iter().map(term).collect::<Vec<_>>().join(" ")
    }

    fn checkpoint<'a>(
        &'a self,
        connection: &'a mut dyn Connection,
    ) -> BoxFuture<'a, Result<(), sqlx::Error>> {
        Box::pin(async move {
            let state = connection.rows(Statement::new("PRAGMA wal_checkpoint(NOOP)")).try_next().await?;
            let Some(state) = state else { return Ok(()) };
            if state.integer("log")? - state.integer("checkpointed")? >= CHECKPOINT_PAGES {
                // Syncs the log, then the file.
                connection.run(Statement::new("PRAGMA wal_checkpoint(PASSIVE)")).await?;
            }
            Ok(())
        })
    }

    fn flush(&self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async {
            let path = self.path.clone();
            let is_new = self.is_new.swap(false, Ordering::Relaxed);
            let synced = tokio::task::spawn_blocking(move || {
                sync_log(&path)?;
                if is_new { sync_folder(&path) } else { Ok(()) }
            });
            synced.await.map_err(io::Error::other).flatten()
        })
    }
}

impl Connection for SqliteConnection {
    fn run(&mut self, statement: Statement) -> BoxFuture<'_, Result<u64, sqlx::Error>> {
        Box::pin(async { Ok(self.execute(bound(statement)).await?.rows_affected()) })
    }

    fn run_all(&mut self, statements: Vec<Statement>) -> BoxFuture<'_, Result<(), sqlx::Error>> {
        Box::pin(async move {
            let mut statements = statements.into_iter().peekable();
            while statements.peek().is_some() {
                let (sql, values) = join(statements.by_ref().take(MAX_JOINED));
                self.execute(bind(sqlx::query(sqlx::AssertSqlSafe(sql)), values)).await?;
            }
            Ok(())
        })
    }

    fn rows(&mut self, query: Statement) -> BoxStream<'_, Result<Box<dyn Row>, sqlx::Error>> {
        self.fetch(bound(query)).map_ok(|row| Box::new(row) as Box<dyn Row>).boxed()
    }

    fn shut_down(self: Box<Self>) -> BoxFuture<'static, Result<(), sqlx::Error>> {
        Box::pin((*self).close())
    }
}

fn bound(statement: Statement) -> Query<'static, Sqlite, SqliteArguments> {
    bind(sqlx::query(statement.sql), statement.values)
}

/// Joins statements into one text with renumbered parameters, for one trip to the connection's thread: a trip
/// costs more than most statements.
fn join(statements: impl Iterator<Item = Statement>) -> (String, Vec<Value>) {
    let (mut sql, mut values) = (String::with_capacity(USUAL_SQL_BYTES), Vec::new());
    for statement in statements {
        let mut parts = statement.sql.split('$');
        sql.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            let number = part[..digits].parse::<usize>().unwrap_or_default() + values.len();
            sql.push('$');
            push_number(&mut sql, number);
            sql.push_str(&part[digits..]);
        }
        sql.push(';');
        values.extend(statement.values);
    }
    (sql, values)
}

/// Appends a number. `write!` would take half of the time of a join.
fn push_number(text: &mut String, number: usize) {
    if number >= 10 {
        push_number(text, number / 10);
    }
    let digit = number % 10;
    text.push_str(&"0123456789"[digit..=digit]);
}

fn bind(
    query: Query<'static, Sqlite, SqliteArguments>,
    values: Vec<Value>,
) -> Query<'static, Sqlite, SqliteArguments> {
    values.into_iter().fold(query, |query, value| match value {
        Value::Text(text) => query.bind(text),
        Value::Integer(number) => query.bind(number),
        Value::Real(number) => query.bind(number),
    })
}

impl Row for SqliteRow {
    /// Accepts a value of any type, because any program may have written the row.
    fn optional_text(&self, column: &str) -> Result<Option<String>, sqlx::Error> {
        self.try_get_unchecked(column)
    }

    fn integer(&self, column: &str) -> Result<i64, sqlx::Error> {
        self.try_get(column)
    }

    fn real(&self, column: &str) -> Result<f64, sqlx::Error> {
        self.try_get(column)
    }
}

/// Result codes that users are told about.
mod code {
    /// Mask for the primary part of a code.
    pub(super) const PRIMARY: i32 = 0xff;
    pub(super) const BUSY: i32 = 5;
    pub(super) const LOCKED: i32 = 6;
    pub(super) const READONLY: i32 = 8;
    pub(super) const IOERR: i32 = 10;
    pub(super) const CORRUPT: i32 = 11;
    pub(super) const FULL: i32 = 13;
    pub(super) const CANTOPEN: i32 = 14;
    pub(super) const NOTADB: i32 = 26;
    /// `IOERR_SHMSIZE`: no space for the shared-memory file beside the log.
    pub(super) const IOERR_SHMSIZE: i32 = 4874;
}

/// State of a file before it is set up.
struct FileState {
    version: i64,
    has_log: bool,
}

impl FileState {
    async fn read(connection: &mut SqliteConnection) -> Result<Self, sqlx::Error> {
        let rows = fetch(connection, "PRAGMA user_version; PRAGMA journal_mode").await?;
        let [version, journal] = rows.as_slice() else { return Err(sqlx::Error::RowNotFound) };
        Ok(Self { version: version.try_get(0)?, has_log: journal.try_get::<&str, _>(0)? == "wal" })
    }
}

/// Returns true if the file has tables of another program.
async fn has_foreign_tables(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    // One statement, because another process may be setting up the file.
    let foreign = "SELECT COUNT(*) FROM sqlite_master, pragma_user_version() WHERE user_version = 0";
    let rows = fetch(connection, foreign).await?;
    Ok(rows.first().map_or(Ok(0), |row| row.try_get::<i64, _>(0))? > 0)
}

/// Migrates completely or not at all: a process that dies halfway leaves the old version.
async fn migrate(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    run(connection, "BEGIN IMMEDIATE").await?;
    let done = migrate_in_transaction(connection).await;
    let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
    run(connection, end).await?;
    done
}

async fn migrate_in_transaction(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    // Another process may have migrated the file meanwhile.
    let version = FileState::read(connection).await?.version;
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

/// Creates the folder and the file, readable only by the user. Returns true if the file is new.
fn create_private_file(path: &Path) -> io::Result<bool> {
    let create = || OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let created = match create() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_private_dir(path.parent().unwrap_or(path))?;
            create()
        }
        created => created,
    };
    match created {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            make_private(path)?;
            Ok(false)
        }
        // A file that cannot be created may still be readable.
        Err(_) if path.exists() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes the permissions of other users. A file of another user is left alone.
fn make_private(path: &Path) -> io::Result<()> {
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & 0o077 != 0
        && let Err(error) = fs::set_permissions(path, Permissions::from_mode(mode & !0o077))
    {
        tracing::warn!(path = %path.display(), %error, "other users can read the session store");
    }
    Ok(())
}

/// Syncs the write-ahead log. SQLite's locks are on its other files, so closing this handle does not release
/// one.
fn sync_log(path: &Path) -> io::Result<()> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    match goose_fs::open_regular(Path::new(&log)) {
        Ok(log) => log.sync_data(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent().map(File::open) {
        Some(Ok(folder)) => folder.sync_all(),
        // Not every system allows opening a folder.
        _ => Ok(()),
    }
}
