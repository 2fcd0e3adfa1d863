//! The floor of an append: a bare insert with the same library and settings.

use std::{path::Path, time::Instant};

use sqlx::{
    ConnectOptions as _, Executor as _, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};

pub(crate) struct Floor {
    connection: SqliteConnection,
    next: i64,
}

impl Floor {
    pub(crate) async fn new(file: &Path) -> anyhow::Result<Self> {
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .pragma("wal_autocheckpoint", "4000")
            .disable_statement_logging();
        let mut connection = options.connect().await?;
        connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT NOT NULL)").await?;
        Ok(Self { connection, next: 1 })
    }

    /// Inserts a row. Returns the time in microseconds.
    pub(crate) async fn insert(&mut self, body: &str) -> anyhow::Result<f64> {
        let begin = Instant::now();
        let query =
            sqlx::query("INSERT INTO rows (id, body) VALUES ($1, $2)").bind(self.next).bind(body.to_owned());
        self.connection.execute(query).await?;
        self.next += 1;
        Ok(super::micros(begin))
    }
}
