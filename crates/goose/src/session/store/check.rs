//! Whether the store is whole.

use sqlx::Row as _;

use super::{SessionStore, StoreError};

/// What SQLite answers where it finds nothing.
const WHOLE: &str = "ok";

impl SessionStore {
    /// Looks through the whole file for damage. It takes the longer the larger the file is; whoever stops waiting drops
    /// the future, and nothing was changed.
    ///
    /// # Errors
    ///
    /// Where the file is damaged, or cannot be read.
    pub async fn check(&self) -> Result<(), StoreError> {
        let mut lease = self.database().lease().await?;
        let found =
            lease.rows(sqlx::query("PRAGMA quick_check(1)"), |row| row.try_get::<String, _>(0)).await?;
        lease.give_back();
        match found.into_iter().find(|line| line != WHOLE) {
            None => Ok(()),
            Some(reason) => Err(StoreError::Damaged { path: self.path().to_owned(), reason }),
        }
    }
}
