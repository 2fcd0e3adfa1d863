//! [`SessionStore`]: sessions in an SQLite file that several processes share.
//!
//! ```text
//! session    append one session's steps          read      list, find, open
//! append     the statements of that              manage    create, fork, rename, remove
//! finishing  a write nobody waits for is whole
//! row        steps as rows, counters             search    full-text search, in SQLite's dialect
//! connection the one connection, lazily opened   sync      onto the disk
//! schema     tables, migrations                  error     what can go wrong
//! ```
//!
//! The file has a write-ahead log with `synchronous=NORMAL`: a commit survives the end of the process, and a power cut
//! once [`SessionStore::sync`] has returned. Writes begin with `BEGIN IMMEDIATE`, so they wait for each other and never
//! fail half-way. The statements are static and, but for `search` and `sync`, as PostgreSQL has them.

mod append;
mod connection;
mod error;
mod finishing;
mod manage;
mod read;
mod row;
mod schema;
mod search;
mod session;
mod sync;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use connection::Database;
pub use error::StoreError;
pub(super) use manage::Whole;
pub(super) use row::StepRow;
pub use search::Found;
pub use session::Session;

use crate::config::Paths;

/// The file's name in the folder of sessions.
pub const FILE_NAME: &str = "goose.db";

/// All sessions of a person. Clones share one connection.
#[derive(Debug, Clone)]
pub struct SessionStore {
    database: Arc<Database>,
}

impl SessionStore {
    /// Where the store is, among the person's folders.
    pub fn file(paths: &Paths) -> PathBuf {
        paths.data.join("sessions").join(FILE_NAME)
    }

    /// The store in this file, which is opened (and made, where there is none) when it is first needed.
    pub fn at(path: impl AsRef<Path>) -> Self {
        Self { database: Arc::new(Database::at(path.as_ref())) }
    }

    /// The store in this file, opened now.
    ///
    /// # Errors
    ///
    /// Where the file cannot be opened or made, is no store of goose's, or is a newer goose's. It is then left as it is.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let store = Self::at(path);
        store.database.lease().await?.give_back();
        Ok(store)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.database.path()
    }

    /// Closes the file in good order. Needed by nobody, since all that was appended is committed; used again, the store
    /// opens again.
    ///
    /// # Errors
    ///
    /// Where the disk fails.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.database.close().await
    }

    fn database(&self) -> &Database {
        &self.database
    }
}
