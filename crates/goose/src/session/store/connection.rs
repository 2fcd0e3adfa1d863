//! The one connection of a store: opened when it is first needed, and kept.
//!
//! Whoever works with it holds a [`Lease`]. A lease that is dropped half-way, because of an error or because its future
//! was dropped, takes the connection with it: SQLite then undoes what was not committed, and the next lease opens anew.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::stream::BoxStream;
use sqlx::{
    ConnectOptions as _, Connection as _, Executor as _, Row as _, Sqlite, SqliteConnection,
    query::Query,
    sqlite::{SqliteArguments, SqliteConnectOptions, SqliteRow, SqliteSynchronous},
};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::{StoreError, error::explain, schema};

/// How long to wait for other processes that write.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// A write copies the log into the file when the log has so many pages and no [`sync`](super::SessionStore::sync) did.
const AUTO_CHECKPOINT_PAGES: &str = "4000";

/// A statement that owns what it is given.
pub(super) type Statement = Query<'static, Sqlite, SqliteArguments>;

/// A store's file.
#[derive(Debug)]
pub(super) struct Database {
    path: PathBuf,
    slot: Arc<Mutex<Option<SqliteConnection>>>,
    /// Whether the file was made here and its folder does not surely know of it.
    is_new: AtomicBool,
}

impl Database {
    pub(super) fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), slot: Arc::default(), is_new: AtomicBool::new(false) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file was made here; true only once.
    pub(super) fn take_is_new(&self) -> bool {
        self.is_new.swap(false, Ordering::Relaxed)
    }

    /// The connection, when everybody before is done with it.
    pub(super) async fn lease(&self) -> Result<Lease, StoreError> {
        let mut slot = Arc::clone(&self.slot).lock_owned().await;
        let connection = match slot.take() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        Ok(Lease { slot, connection, path: self.path.clone() })
    }

    /// The connection, with the right to write. Other processes wait until the lease is committed or dropped.
    pub(super) async fn begin(&self) -> Result<Lease, StoreError> {
        let mut lease = self.lease().await?;
        lease.run("BEGIN IMMEDIATE").await?;
        Ok(lease)
    }

    async fn connect(&self) -> Result<SqliteConnection, StoreError> {
        if prepare_file(&self.path).map_err(|error| self.cannot_open(&error))? == Prepared::Made {
            self.is_new.store(true, Ordering::Relaxed);
        }
        let options = SqliteConnectOptions::new()
            .filename(&self.path)
            .busy_timeout(BUSY_TIMEOUT)
            .synchronous(SqliteSynchronous::Normal)
            .pragma("wal_autocheckpoint", AUTO_CHECKPOINT_PAGES)
            // What is moved or replaced leaves no copy in pages that are written anyway.
            .pragma("secure_delete", "FAST")
            .disable_statement_logging();
        let mut connection = options.connect().await.map_err(|error| explain(&self.path, &error))?;
        schema::bring_up_to_date(&mut connection, &self.path, BUSY_TIMEOUT).await?;
        Ok(connection)
    }

    fn cannot_open(&self, error: &io::Error) -> StoreError {
        let path = self.path.clone();
        match error.kind() {
            io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly { path },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full { path },
            _ => StoreError::CannotOpen { path, reason: error.to_string() },
        }
    }

    /// Ends the connection in good order, where there is one: SQLite then empties its log.
    pub(super) async fn close(&self) -> Result<(), StoreError> {
        let Some(connection) = self.slot.lock().await.take() else { return Ok(()) };
        connection.close().await.map_err(|error| explain(&self.path, &error))
    }
}

#[derive(PartialEq)]
enum Prepared {
    Made,
    Found,
}

/// Makes the folder and the file, both for the person alone.
fn prepare_file(path: &Path) -> io::Result<Prepared> {
    let made = match new_private_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_private_folder(path.parent().unwrap_or(path))?;
            new_private_file(path)
        }
        made => made,
    };
    match made {
        Ok(()) => Ok(Prepared::Made),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            keep_private(path)?;
            Ok(Prepared::Found)
        }
        // What is there can perhaps be read.
        Err(_) if path.exists() => Ok(Prepared::Found),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn new_private_file(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map(drop)
}

#[cfg(unix)]
fn make_private_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Takes the file from everybody else, where they have been let in. A file of someone else's is left alone.
#[cfg(unix)]
fn keep_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut permissions = std::fs::metadata(path)?.permissions();
    if permissions.mode() & 0o077 != 0 {
        permissions.set_mode(permissions.mode() & !0o077);
        if let Err(error) = std::fs::set_permissions(path, permissions) {
            tracing::warn!(path = %path.display(), %error, "others can read the session store");
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn new_private_file(path: &Path) -> io::Result<()> {
    std::fs::OpenOptions::new().write(true).create_new(true).open(path).map(drop)
}

#[cfg(not(unix))]
fn make_private_folder(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

#[cfg(not(unix))]
fn keep_private(_: &Path) -> io::Result<()> {
    Ok(())
}

/// The connection, in one pair of hands.
pub(super) struct Lease {
    slot: OwnedMutexGuard<Option<SqliteConnection>>,
    connection: SqliteConnection,
    path: PathBuf,
}

impl Lease {
    /// Runs a statement and tells how many rows it changed, or what the database says.
    pub(super) async fn try_change(&mut self, statement: Statement) -> Result<u64, sqlx::Error> {
        Ok(self.connection.execute(statement).await?.rows_affected())
    }

    /// Runs a statement and tells how many rows it changed.
    pub(super) async fn change(&mut self, statement: Statement) -> Result<u64, StoreError> {
        self.try_change(statement).await.map_err(|error| self.explain(&error))
    }

    /// Runs statements that take nothing and give nothing.
    pub(super) async fn run(&mut self, sql: &'static str) -> Result<(), StoreError> {
        self.change(sqlx::query(sql)).await.map(drop)
    }

    /// The rows of a query, as they come.
    pub(super) fn stream(&mut self, query: Statement) -> BoxStream<'_, Result<SqliteRow, sqlx::Error>> {
        self.connection.fetch(query)
    }

    /// The rows of a query, each turned into something.
    pub(super) async fn rows<T>(
        &mut self,
        query: Statement,
        read: fn(&SqliteRow) -> Result<T, sqlx::Error>,
    ) -> Result<Vec<T>, StoreError> {
        let rows = self.connection.fetch_all(query).await;
        let read = rows.and_then(|rows| rows.iter().map(read).collect());
        read.map_err(|error| self.explain(&error))
    }

    /// The number that a query gives; 0 where it gives nothing.
    pub(super) async fn number(&mut self, query: Statement) -> Result<i64, StoreError> {
        let numbers = self.rows(query, |row| row.try_get(0)).await?;
        Ok(numbers.first().copied().unwrap_or(0))
    }

    /// What an error of the database means.
    pub(super) fn explain(&self, error: &sqlx::Error) -> StoreError {
        explain(&self.path, error)
    }

    /// Ends a write.
    pub(super) async fn commit(mut self) -> Result<(), StoreError> {
        self.run("COMMIT").await?;
        self.give_back();
        Ok(())
    }

    /// For the next one. A write must have been committed.
    pub(super) fn give_back(self) {
        let Self { mut slot, connection, .. } = self;
        *slot = Some(connection);
    }
}
