//! [`SessionStore`]: sessions in a database that several processes share.
//!
//! ```text
//! session    appends the steps of one session       manage    creates, forks, renames, removes
//! read       lists, finds, opens                    search    full-text search
//! jobs       scheduled jobs, and claims of their runs
//! index      makes steps searchable                 snippet   the part of a text around a word
//! row        steps as rows, counters                error     errors, and hints for the user
//! database   connections: one writer, some readers
//! dialect    interface to a database                sqlite    the file, its tables, SQL and errors
//! detach_on_drop  completes a write whose future is dropped
//! ```
//!
//! A commit survives the end of the process, and a power cut once [`SessionStore::sync`] has returned. SQL
//! that SQLite and PostgreSQL do not share is in [`dialect::Sql`].

mod database;
mod detach_on_drop;
mod dialect;
mod error;
mod index;
mod jobs;
mod manage;
mod read;
mod row;
mod search;
mod session;
mod snippet;
mod sqlite;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use database::Database;
use dialect::Statement;
pub use error::StoreError;
pub use jobs::{ClaimedRun, JOB_LEASE, NotClaimed};
pub(super) use manage::ImportedSession;
pub use manage::PendingSession;
pub use read::LoadedSession;
pub(super) use row::StepRow;
pub use search::{Found, SearchQuery, SearchResults};
pub use session::Session;

use goose_config::Paths;

/// File name in the folder of sessions.
pub const FILE_NAME: &str = "goose.db";

/// All sessions of a user. Clones share connections.
#[derive(Debug, Clone)]
pub struct SessionStore {
    database: Arc<Database>,
}

impl SessionStore {
    /// Returns the path of the store in the user's folders.
    pub fn file(paths: &Paths) -> PathBuf {
        paths.data.join("sessions").join(FILE_NAME)
    }

    /// Returns the store in this file, which is opened or created at the first use.
    pub fn at(path: impl AsRef<Path>) -> Self {
        Self { database: Arc::new(Database::new(sqlite::SqliteFile::new(path.as_ref()))) }
    }

    /// Opens the store in this file now.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be opened or created, is not a session store, or belongs to a newer goose. It
    /// is not changed then.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let store = Self::at(path);
        store.database.read().await?.give_back();
        Ok(store)
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        self.database.path()
    }

    /// Flushes all commits to the disk. Appends wait only while a long log is copied.
    ///
    /// # Errors
    ///
    /// Fails if the disk does.
    pub async fn sync(&self) -> Result<(), StoreError> {
        let mut lease = self.database.write().await?;
        lease.checkpoint().await?;
        lease.give_back();
        let flushed = self.database.dialect().flush().await;
        flushed.map_err(|error| StoreError::Disk { path: self.path().to_owned(), reason: error.to_string() })
    }

    /// Checks the whole file for damage, which takes longer for a larger file. The future may be dropped at
    /// any time; nothing is changed.
    ///
    /// # Errors
    ///
    /// Fails if the file is damaged or cannot be read.
    pub async fn check(&self) -> Result<(), StoreError> {
        let query = Statement::new(self.database.dialect().sql().check);
        let problems = self.database.rows(query, |row| row.text("problem")).await?;
        match problems.into_iter().next() {
            None => Ok(()),
            Some(reason) => Err(StoreError::Damaged { path: self.path().to_owned(), reason }),
        }
    }

    /// Closes all connections. Not needed for safety, because every append is committed; the next use opens
    /// the store again.
    ///
    /// # Errors
    ///
    /// Fails if the disk does.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.database.close().await
    }

    fn database(&self) -> &Database {
        &self.database
    }
}
