//! The seam between the store and the database it is in: statements, rows, connections, and the SQL that databases do not
//! share. All other SQL in this folder is understood by SQLite and PostgreSQL alike. SQLite is [`sqlite`](super::sqlite);
//! another database is another file like it.

use std::{fmt, io, path::Path};

use futures::{future::BoxFuture, stream::BoxStream};

use super::StoreError;
use crate::SessionId;

/// A database that can hold the store.
pub(super) trait Dialect: fmt::Debug + Send + Sync {
    /// The file that errors name.
    fn path(&self) -> &Path;

    /// Opens a connection to a database whose tables are up to date; creates and migrates them if needed.
    fn connect(&self) -> BoxFuture<'_, Result<Box<dyn Connection>, StoreError>>;

    /// Translates an error of the database.
    fn explain(&self, error: &sqlx::Error) -> StoreError;

    /// Returns the statements that databases do not share.
    fn sql(&self) -> &'static Sql;

    /// Returns the search condition for texts that have all these terms.
    fn search_condition(&self, terms: &[SearchTerm<'_>]) -> String;

    /// Keeps the database's log from growing. Called at the end of a reply.
    fn checkpoint<'a>(&'a self, connection: &'a mut dyn Connection)
    -> BoxFuture<'a, Result<(), sqlx::Error>>;

    /// Waits until all commits survive a power cut.
    fn flush(&self) -> BoxFuture<'_, io::Result<()>>;
}

/// A word of letters and digits to search for.
#[derive(Debug, Clone, Copy)]
pub(super) struct SearchTerm<'a> {
    pub(super) word: &'a str,
    /// Longer words that begin with it match, too.
    pub(super) is_prefix: bool,
}

/// The statements that databases do not share.
pub(super) struct Sql {
    /// Begins a transaction that only reads, as of one moment.
    pub(super) begin_read: &'static str,
    /// Begins a transaction that writes. It waits for others that do.
    pub(super) begin_write: &'static str,
    /// Makes a step searchable. Parameters: session, seq, text, the id that all texts of its day are above.
    pub(super) index_step: &'static str,
    /// Finds the newest texts that match. Parameters: condition, first id, last id, a session to leave out, limit.
    /// Column: `ids`, a JSON array, the newest first.
    pub(super) matching: &'static str,
    /// Describes those texts of the user's sessions that are from a span of time, and from a folder unless that is NULL.
    /// Parameters: ids as a JSON array, from, until, folder.
    /// Columns: `id`, `session_id`, `seq`, `at`, `kind`, `name`, `bytes`.
    pub(super) matches: &'static str,
    /// Reads texts. Parameter: ids as a JSON array. Columns: `id`, `text`.
    pub(super) texts: &'static str,
    /// First statement of a removal, within its transaction: deleted content must not stay in the file.
    pub(super) begin_removal: &'static str,
    /// Removes a session from the search index. Parameter: session.
    pub(super) unindex: &'static str,
    /// Last statement of a removal, within its transaction.
    pub(super) end_removal: &'static str,
    /// Erases what was removed from the database's log.
    pub(super) purge_log: &'static str,
    /// Looks for damage. Column: `problem`.
    pub(super) check: &'static str,
}

/// A connection to the database.
pub(super) trait Connection: fmt::Debug + Send {
    /// Runs a statement and returns the number of rows that it changed.
    fn run(&mut self, statement: Statement) -> BoxFuture<'_, Result<u64, sqlx::Error>>;

    /// Runs statements one after the other, up to the first that fails.
    fn run_all(&mut self, statements: Vec<Statement>) -> BoxFuture<'_, Result<(), sqlx::Error>>;

    /// Returns the rows of a query as they come.
    fn rows(&mut self, query: Statement) -> BoxStream<'_, Result<Box<dyn Row>, sqlx::Error>>;

    /// Closes the connection in good order.
    fn shut_down(self: Box<Self>) -> BoxFuture<'static, Result<(), sqlx::Error>>;
}

/// A row of a result.
pub(super) trait Row: Send {
    /// Returns a text, or nothing where the column is empty.
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

    /// Returns a session's id.
    fn session_id(&self, column: &str) -> Result<SessionId, sqlx::Error> {
        SessionId::try_from(self.text(column)?).map_err(|error| sqlx::Error::Decode(error.into()))
    }
}

/// A statement and the values of its parameters.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) sql: &'static str,
    pub(super) values: Vec<Value>,
}

/// The value of a parameter.
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
