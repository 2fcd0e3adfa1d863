//! The interface between the store and its database: statements, rows, connections, and the SQL that
//! databases do not share. All other SQL in this folder works in SQLite and in PostgreSQL.
//! [`sqlite`](super::sqlite) implements it; another database is another file.

use std::{fmt, io, path::Path};

use futures::{future::BoxFuture, stream::BoxStream};

use super::StoreError;
use crate::SessionId;

/// Database that can hold the store.
pub(super) trait Dialect: fmt::Debug + Send + Sync {
    /// Returns the path for errors.
    fn path(&self) -> &Path;

    /// Opens a connection. Creates and migrates the tables first if needed.
    fn connect(&self) -> BoxFuture<'_, Result<Box<dyn Connection>, StoreError>>;

    /// Translates an error of the database.
    fn explain(&self, error: &sqlx::Error) -> StoreError;

    /// Returns the statements that databases do not share.
    fn sql(&self) -> &'static Sql;

    /// Returns the search condition for texts with all these terms.
    fn search_condition(&self, terms: &[SearchTerm<'_>]) -> String;

    /// Copies a long log into the database. Called at the end of a reply.
    fn checkpoint<'a>(&'a self, connection: &'a mut dyn Connection)
    -> BoxFuture<'a, Result<(), sqlx::Error>>;

    /// Waits until all commits survive a power cut.
    fn flush(&self) -> BoxFuture<'_, io::Result<()>>;
}

/// Word of letters and digits to search for.
#[derive(Debug, Clone, Copy)]
pub(super) struct SearchTerm<'a> {
    pub(super) word: &'a str,
    /// True if longer words that begin with it match, too.
    pub(super) is_prefix: bool,
}

/// Statements that databases do not share.
pub(super) struct Sql {
    /// Begins a read transaction, which sees the state of one moment.
    pub(super) begin_read: &'static str,
    /// Begins a write transaction. It waits for other writers.
    pub(super) begin_write: &'static str,
    /// Makes a step searchable. Parameters: session, seq, text, the id below all texts of its day.
    pub(super) index_step: &'static str,
    /// Finds the newest texts that match. Parameters: condition, first id, last id, a session to leave out,
    /// limit. Column: `ids`, a JSON array, newest first.
    pub(super) matching: &'static str,
    /// Describes texts of the user's sessions within a time span, and within a folder unless that is NULL.
    /// Parameters: ids as a JSON array, from, until, folder. Columns: `id`, `session_id`, `seq`, `at`,
    /// `kind`, `name`, `bytes`.
    pub(super) matches: &'static str,
    /// Reads texts. Parameter: ids as a JSON array. Columns: `id`, `text`.
    pub(super) texts: &'static str,
    /// First statement of a removal, in its transaction: deleted content must not stay in the file.
    pub(super) begin_removal: &'static str,
    /// Removes a session from the search index. Parameter: session.
    pub(super) unindex: &'static str,
    /// Last statement of a removal, in its transaction.
    pub(super) end_removal: &'static str,
    /// Erases removed content from the database's log.
    pub(super) purge_log: &'static str,
    /// Checks for damage. Column: `problem`.
    pub(super) check: &'static str,
}

/// Connection to the database.
pub(super) trait Connection: fmt::Debug + Send {
    /// Runs a statement. Returns the number of changed rows.
    fn run(&mut self, statement: Statement) -> BoxFuture<'_, Result<u64, sqlx::Error>>;

    /// Runs statements in order, up to the first that fails.
    fn run_all(&mut self, statements: Vec<Statement>) -> BoxFuture<'_, Result<(), sqlx::Error>>;

    /// Returns the rows of a query as a stream.
    fn rows(&mut self, query: Statement) -> BoxStream<'_, Result<Box<dyn Row>, sqlx::Error>>;

    /// Closes the connection, and waits for it.
    fn shut_down(self: Box<Self>) -> BoxFuture<'static, Result<(), sqlx::Error>>;
}

/// Row of a result.
pub(super) trait Row: Send {
    /// Returns a text; `None` if the column is NULL.
    fn optional_text(&self, column: &str) -> Result<Option<String>, sqlx::Error>;

    /// Returns a whole number.
    fn integer(&self, column: &str) -> Result<i64, sqlx::Error>;

    /// Returns a floating-point number.
    fn real(&self, column: &str) -> Result<f64, sqlx::Error>;

    /// Returns a text.
    fn text(&self, column: &str) -> Result<String, sqlx::Error> {
        let missing = || sqlx::Error::Decode(format!("the column `{column}` is empty").into());
        self.optional_text(column)?.ok_or_else(missing)
    }

    /// Returns the id of a session.
    fn session_id(&self, column: &str) -> Result<SessionId, sqlx::Error> {
        SessionId::try_from(self.text(column)?).map_err(|error| sqlx::Error::Decode(error.into()))
    }
}

/// Statement with the values of its parameters.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) sql: &'static str,
    pub(super) values: Vec<Value>,
}

/// Value of a parameter.
#[derive(Debug)]
pub(super) enum Value {
    Text(Option<String>),
    Integer(i64),
    Real(f64),
}

impl Statement {
    pub(super) fn new(sql: &'static str) -> Self {
        Self { sql, values: Vec::new() }
    }

    /// Sets the next parameter.
    pub(super) fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }
}

impl From<Option<String>> for Value {
    fn from(text: Option<String>) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(Some(text.to_owned()))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(Some(text))
    }
}

impl From<&SessionId> for Value {
    fn from(id: &SessionId) -> Self {
        id.as_str().into()
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}
