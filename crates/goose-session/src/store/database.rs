//! [`Database`]: the connections of a store. Each is opened when it is first needed, and reused.
//!
//! One [`Lease`] at a time may write; readers and the writer do not wait for each other. A caller that does
//! one thing after another uses one connection. A lease that is dropped early, because of an error or because
//! its future was dropped, closes its connection: the database then rolls back the transaction.

use std::{path::Path, sync::Arc};

use futures::{TryStreamExt as _, future, stream::BoxStream};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    StoreError,
    dialect::{Connection, Dialect, Row, Sql, Statement},
};
use crate::SessionId;

/// Maximum number of concurrent readers.
const MAX_READERS: u32 = 4;

/// Maximum number of idle connections: one to write, one to read meanwhile.
const MAX_IDLE: usize = 2;

/// Database with its connections.
#[derive(Debug)]
pub(super) struct Database {
    dialect: Arc<dyn Dialect>,
    idle: Arc<Mutex<Vec<Box<dyn Connection>>>>,
    writer: Arc<Semaphore>,
    readers: Arc<Semaphore>,
}

impl Database {
    pub(super) fn new(dialect: impl Dialect + 'static) -> Self {
        Self {
            dialect: Arc::new(dialect),
            idle: Arc::default(),
            writer: Arc::new(Semaphore::new(1)),
            readers: Arc::new(Semaphore::new(MAX_READERS as usize)),
        }
    }

    pub(super) fn dialect(&self) -> &dyn Dialect {
        self.dialect.as_ref()
    }

    pub(super) fn path(&self) -> &Path {
        self.dialect.path()
    }

    /// Returns a connection to read with.
    pub(super) async fn read(&self) -> Result<Lease, StoreError> {
        self.lease(turn(&self.readers, 1).await?).await
    }

    /// Returns a connection to write with, after the writers before it.
    pub(super) async fn write(&self) -> Result<Lease, StoreError> {
        self.lease(turn(&self.writer, 1).await?).await
    }

    /// Returns a connection in a write transaction. Other processes wait until it is committed or dropped.
    pub(super) async fn begin(&self) -> Result<Lease, StoreError> {
        let mut lease = self.write().await?;
        lease.run(lease.sql().begin_write).await?;
        Ok(lease)
    }

    /// Returns the rows of a query, each converted to a value, on a separate connection.
    pub(super) async fn rows<T>(
        &self,
        query: Statement,
        read: fn(&dyn Row) -> Result<T, sqlx::Error>,
    ) -> Result<Vec<T>, StoreError> {
        let mut lease = self.read().await?;
        let rows = lease.rows(query, read).await?;
        lease.give_back();
        Ok(rows)
    }

    async fn lease(&self, turn: OwnedSemaphorePermit) -> Result<Lease, StoreError> {
        let kept = self.idle.lock().pop();
        let connection = match kept {
            Some(connection) => connection,
            None => self.dialect.connect().await?,
        };
        let (dialect, idle) = (Arc::clone(&self.dialect), Arc::clone(&self.idle));
        Ok(Lease { connection, dialect, idle, _turn: turn })
    }

    /// Closes all connections after their work is done.
    pub(super) async fn close(&self) -> Result<(), StoreError> {
        let _writer = turn(&self.writer, 1).await?;
        let _readers = turn(&self.readers, MAX_READERS).await?;
        let idle = std::mem::take(&mut *self.idle.lock());
        for connection in idle {
            connection.shut_down().await.map_err(|error| self.dialect.explain(&error))?;
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn idle_connections(&self) -> usize {
        self.idle.lock().len()
    }
}

async fn turn(queue: &Arc<Semaphore>, count: u32) -> Result<OwnedSemaphorePermit, StoreError> {
    let turn = Arc::clone(queue).acquire_many_owned(count).await;
    turn.map_err(|error| StoreError::Other(error.to_string()))
}

/// Connection that one task uses.
pub(super) struct Lease {
    connection: Box<dyn Connection>,
    dialect: Arc<dyn Dialect>,
    idle: Arc<Mutex<Vec<Box<dyn Connection>>>>,
    _turn: OwnedSemaphorePermit,
}

impl Lease {
    /// Returns the statements that databases do not share.
    pub(super) fn sql(&self) -> &'static Sql {
        self.dialect.sql()
    }

    /// Runs statements in order, up to the first that fails.
    pub(super) async fn change_all(&mut self, statements: Vec<Statement>) -> Result<(), StoreError> {
        self.connection.run_all(statements).await.map_err(|error| self.dialect.explain(&error))
    }

    /// Runs statements that write to a session. A taken number means another writer; a missing session was
    /// removed.
    pub(super) async fn change_session(
        &mut self,
        id: &SessionId,
        statements: Vec<Statement>,
    ) -> Result<(), StoreError> {
        let Err(error) = self.connection.run_all(statements).await else { return Ok(()) };
        Err(match error.as_database_error() {
            Some(database) if database.is_unique_violation() => StoreError::SessionBusy(id.clone()),
            Some(database) if database.is_foreign_key_violation() => StoreError::missing(id),
            _ => self.explain(&error),
        })
    }

    /// Runs a statement. Returns the number of changed rows.
    pub(super) async fn change(&mut self, statement: Statement) -> Result<u64, StoreError> {
        self.connection.run(statement).await.map_err(|error| self.dialect.explain(&error))
    }

    /// Runs statements without parameters.
    pub(super) async fn run(&mut self, sql: &'static str) -> Result<(), StoreError> {
        self.change(Statement::new(sql)).await.map(drop)
    }

    /// Returns the rows of a query as a stream.
    pub(super) fn stream(&mut self, query: Statement) -> BoxStream<'_, Result<Box<dyn Row>, sqlx::Error>> {
        self.connection.rows(query)
    }

    /// Returns the rows of a query, each converted to a value.
    pub(super) async fn rows<T>(
        &mut self,
        query: Statement,
        read: fn(&dyn Row) -> Result<T, sqlx::Error>,
    ) -> Result<Vec<T>, StoreError> {
        let rows = self.connection.rows(query).and_then(|row| future::ready(read(row.as_ref())));
        rows.try_collect().await.map_err(|error| self.dialect.explain(&error))
    }

    /// Returns the column `number` of the first row, or 0.
    pub(super) async fn number(&mut self, query: Statement) -> Result<i64, StoreError> {
        let numbers = self.rows(query, |row| row.integer("number")).await?;
        Ok(numbers.first().copied().unwrap_or(0))
    }

    /// Copies a long log into the database.
    pub(super) async fn checkpoint(&mut self) -> Result<(), StoreError> {
        let done = self.dialect.checkpoint(self.connection.as_mut()).await;
        done.map_err(|error| self.explain(&error))
    }

    /// Translates an error of the database.
    pub(super) fn explain(&self, error: &sqlx::Error) -> StoreError {
        self.dialect.explain(error)
    }

    /// Commits the transaction, and returns the connection.
    pub(super) async fn commit(mut self) -> Result<(), StoreError> {
        self.run("COMMIT").await?;
        self.give_back();
        Ok(())
    }

    /// Returns the connection for reuse. A transaction must have been committed.
    pub(super) fn give_back(self) {
        let mut idle = self.idle.lock();
        if idle.len() < MAX_IDLE {
            idle.push(self.connection);
        }
    }
}

#[cfg(test)]
#[path = "database_tests.rs"]
mod tests;
