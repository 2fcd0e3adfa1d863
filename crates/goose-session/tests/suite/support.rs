//! Support for tests of sessions: a store in a temporary folder.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use goose_extension::Message;
use goose_session::{Found, NewSession, SearchQuery, Session, SessionStore, Step, StoreError};
use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};
use tempfile::TempDir;

/// Opens a separate connection to a database file.
pub(crate) async fn raw(file: &Path) -> anyhow::Result<SqliteConnection> {
    Ok(SqliteConnection::connect_with(&SqliteConnectOptions::new().filename(file).create_if_missing(true))
        .await?)
}

/// Indexes everything, then returns the steps with all these words, best first.
pub(crate) async fn search_all(
    store: &SessionStore,
    text: &str,
    limit: u32,
) -> Result<Vec<Found>, StoreError> {
    while store.index_newest(Duration::from_secs(1)).await? > 0 {}
    Ok(store.search(&SearchQuery::new(text, limit)).await?.found)
}

/// Store in a temporary folder.
pub(crate) struct TestStore {
    folder: TempDir,
    pub(crate) store: SessionStore,
}

impl TestStore {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let store = SessionStore::at(file(folder.path()));
        Ok(Self { folder, store })
    }

    pub(crate) fn file(&self) -> PathBuf {
        file(self.folder.path())
    }

    /// Returns a second store in the same file, as another process would open it.
    pub(crate) fn another_store(&self) -> SessionStore {
        SessionStore::at(self.file())
    }

    /// Creates a session with these messages of the user.
    pub(crate) async fn session(&self, messages: &[&str]) -> anyhow::Result<Session> {
        let session = self.store.create(NewSession::in_folder("/work")).await?;
        for message in messages {
            session.append(&user(message)).await?;
        }
        Ok(session)
    }
}

pub(crate) fn file(folder: &Path) -> PathBuf {
    folder.join("data/sessions/goose.db")
}

pub(crate) fn user(text: &str) -> Step {
    Step::Message { message: Message::user(text) }
}
