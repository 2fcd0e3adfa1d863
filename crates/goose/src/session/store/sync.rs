//! Onto the disk: what survives the end of the process becomes what survives a power cut.

use std::{fs::File, io, path::Path};

use sqlx::Row as _;

use super::{SessionStore, StoreError, connection::Lease};

/// When the log has so many pages that are not in the file yet, they are copied there.
const CHECKPOINT_PAGES: i64 = 500;

impl SessionStore {
    /// Brings all commits onto the disk. It waits for the disk, and holds up nobody who appends meanwhile unless the log
    /// has become long.
    ///
    /// # Errors
    ///
    /// Where the disk fails.
    pub async fn sync(&self) -> Result<(), StoreError> {
        let mut lease = self.database().lease().await?;
        if pages_in_log(&mut lease).await? >= CHECKPOINT_PAGES {
            // Syncs the log, then the file.
            lease.run("PRAGMA wal_checkpoint(PASSIVE)").await?;
        }
        lease.give_back();
        let path = self.path().to_owned();
        let is_new = self.database().take_is_new();
        let synced = tokio::task::spawn_blocking(move || {
            sync_log(&path)?;
            if is_new { sync_folder(&path) } else { Ok(()) }
        });
        let synced = synced.await.map_err(io::Error::other).flatten();
        synced.map_err(|error| StoreError::Disk { path: self.path().to_owned(), reason: error.to_string() })
    }
}

/// How many pages of the log are not in the file yet.
async fn pages_in_log(lease: &mut Lease) -> Result<i64, StoreError> {
    let query = sqlx::query("PRAGMA wal_checkpoint(NOOP)");
    let pages = lease.rows(query, |row| Ok(row.try_get::<i64, _>(1)? - row.try_get::<i64, _>(2)?)).await?;
    Ok(pages.first().copied().unwrap_or(0))
}

/// SQLite's locks are on its other files, so this one may be opened and closed beside it.
fn sync_log(path: &Path) -> io::Result<()> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    match File::open(log) {
        Ok(log) => log.sync_data(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent().map(File::open) {
        Some(Ok(folder)) => folder.sync_all(),
        // Not every system lets folders be opened.
        _ => Ok(()),
    }
}
