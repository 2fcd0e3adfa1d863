//! Reads lists, which need only the table of sessions, and the steps of a session.

use std::path::{Path, PathBuf};

use futures::TryStreamExt as _;
use goose_providers::Usage;

use super::{
    Session, SessionStore, StoreError,
    database::Lease,
    dialect::{Row, Statement},
    row::{count, moment, stored_count},
};
use crate::{ListOptions, SessionId, SessionSummary, SkippedStep, Step, Steps, StoredStep};

macro_rules! summary_where {
    ($rest:literal) => {
        concat!(
            "SELECT id, given_name, title, working_dir, origin, created_at, updated_at, last_seq, messages, \
             input_tokens, output_tokens, cached_tokens, cache_write_tokens, dollars, kind, parent, agent \
             FROM sessions WHERE ",
            $rest
        )
    };
}

const LIST: &str = summary_where!(
    "(CAST($1 AS TEXT) IS NULL OR working_dir = $1) AND ($3 = 1 OR kind = 'user') \
     AND (CAST($4 AS TEXT) IS NULL OR parent = $4) \
     ORDER BY updated_at DESC, created_at DESC, id DESC LIMIT $2"
);

const LIST_ASCENDING: &str = summary_where!(
    "(CAST($1 AS TEXT) IS NULL OR working_dir = $1) AND ($3 = 1 OR kind = 'user') \
     AND (CAST($4 AS TEXT) IS NULL OR parent = $4) \
     ORDER BY updated_at, created_at, id LIMIT $2"
);

const BY_ID: &str = summary_where!("id = $1");

const BY_NAME: &str = summary_where!(
    "kind = 'user' AND (given_name = $1 OR (given_name IS NULL AND title = $1)) \
     ORDER BY updated_at DESC, created_at DESC, id DESC LIMIT $2"
);

const STEPS: &str = "SELECT seq, at, body FROM steps WHERE session_id = $1 ORDER BY seq";

const ONE_STEP: &str = "SELECT seq, at, body FROM steps WHERE session_id = $1 AND seq = $2";

const LAST_STEP: &str = "SELECT COALESCE(MAX(seq), 0) AS number FROM steps WHERE session_id = $1";

/// Maximum number of steps that are looked up in a damaged session: its counter may be damaged, too.
const MAX_LOOKED_UP: u64 = 200_000;

/// Maximum number of sessions with the same name that an error lists.
const MAX_NAMESAKES: i64 = 20;

/// Session that was read from the store, ready to be resumed.
#[derive(Debug)]
#[non_exhaustive]
pub struct LoadedSession {
    /// Handle to append to it.
    pub session: Session,
    /// Summary.
    pub summary: SessionSummary,
    /// Log.
    pub steps: Vec<StoredStep>,
    /// Steps that could not be read. The user should be told.
    pub skipped: Vec<SkippedStep>,
    /// True if the goose process ended during the last reply. The log does not say so yet.
    pub unfinished: bool,
}

impl SessionStore {
    /// Returns sessions, newest first; only the user's own unless the options say otherwise.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    pub async fn list(&self, options: ListOptions) -> Result<Vec<SessionSummary>, StoreError> {
        let folder = options.working_dir.map(|folder| folder.to_string_lossy().into_owned());
        let limit = options.limit.map_or(i64::MAX, i64::from);
        let sql = if options.is_ascending { LIST_ASCENDING } else { LIST };
        let parent = options.parent.map(|parent| parent.to_string());
        let query =
            Statement::new(sql).bind(folder).bind(limit).bind(i64::from(options.all_kinds)).bind(parent);
        self.database().rows(query, summary_of).await
    }

    /// Returns the user's most recent session, in a folder or anywhere.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    pub async fn latest(&self, working_dir: Option<&Path>) -> Result<Option<SessionSummary>, StoreError> {
        let working_dir = working_dir.map(Path::to_owned);
        let options = ListOptions { working_dir, ..ListOptions::newest(1) };
        Ok(self.list(options).await?.pop())
    }

    /// Returns the session with this id.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NoSuchSession`], and with errors of the store.
    pub async fn summary(&self, id: &SessionId) -> Result<SessionSummary, StoreError> {
        let mut found = self.database().rows(Statement::new(BY_ID).bind(id), summary_of).await?;
        found.pop().ok_or_else(|| StoreError::missing(id))
    }

    /// Returns the session with this id, or else the user's session with this name.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NoSuchSession`], with [`StoreError::Ambiguous`] if several have the name, and
    /// with errors of the store.
    pub async fn find(&self, name_or_id: &str) -> Result<SessionSummary, StoreError> {
        let mut lease = self.database().read().await?;
        if let Ok(id) = name_or_id.parse()
            && let Some(found) = summary(&mut lease, &id).await?
        {
            lease.give_back();
            return Ok(found);
        }
        let query = Statement::new(BY_NAME).bind(name_or_id).bind(MAX_NAMESAKES);
        let mut found = lease.rows(query, summary_of).await?;
        lease.give_back();
        let only = found.pop().ok_or_else(|| StoreError::NoSuchSession(name_or_id.to_owned()))?;
        if found.is_empty() {
            return Ok(only);
        }
        let ids = found.into_iter().chain([only]).map(|session| session.id).collect();
        Err(StoreError::Ambiguous { name: name_or_id.to_owned(), ids })
    }

    /// Returns the log of a session. Steps that cannot be read are listed separately.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NoSuchSession`], and with errors of the store.
    pub async fn steps(&self, id: &SessionId) -> Result<Steps, StoreError> {
        Ok(self.summary_and_steps(id).await?.1)
    }

    /// Loads a session to resume it.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NoSuchSession`], and with errors of the store.
    pub async fn open_session(&self, id: &SessionId) -> Result<LoadedSession, StoreError> {
        let (summary, steps) = self.summary_and_steps(id).await?;
        let session = Session::existing(self.clone(), id.clone(), summary.steps);
        let unfinished = steps.is_unfinished();
        Ok(LoadedSession { session, summary, steps: steps.steps, skipped: steps.skipped, unfinished })
    }

    /// Returns the summary and the steps of the same moment.
    pub(crate) async fn summary_and_steps(
        &self,
        id: &SessionId,
    ) -> Result<(SessionSummary, Steps), StoreError> {
        let mut lease = self.database().read().await?;
        lease.run(lease.sql().begin_read).await?;
        let summary = summary(&mut lease, id).await?.ok_or_else(|| StoreError::missing(id))?;
        let mut steps = Steps::default();
        match read_steps(&mut lease, id, &mut steps).await {
            // The connection is closed: the transaction is still open, and its cache may be damaged.
            Err(StoreError::Damaged { .. }) => {
                let saved = one_by_one(&mut lease, id, summary.steps).await?;
                return Ok((summary, saved));
            }
            done => done?,
        }
        lease.commit().await?;
        Ok((summary, steps))
    }
}

async fn summary(lease: &mut Lease, id: &SessionId) -> Result<Option<SessionSummary>, StoreError> {
    Ok(lease.rows(Statement::new(BY_ID).bind(id), summary_of).await?.pop())
}

fn summary_of(row: &dyn Row) -> Result<SessionSummary, sqlx::Error> {
    let number = |column: &str| row.integer(column).map(count);
    Ok(SessionSummary {
        id: row.session_id("id")?,
        given_name: row.optional_text("given_name")?,
        title: row.optional_text("title")?,
        working_dir: PathBuf::from(row.text("working_dir")?),
        created_at: row.integer("created_at").map(moment)?,
        updated_at: row.integer("updated_at").map(moment)?,
        steps: number("last_seq")?,
        messages: number("messages")?,
        usage: Usage {
            input: number("input_tokens")?,
            output: number("output_tokens")?,
            cached_input: number("cached_tokens")?,
            cache_write: number("cache_write_tokens")?,
        },
        dollars: row.real("dollars")?,
        origin: row.optional_text("origin")?,
        kind: row.text("kind")?.into(),
        parent: row.session_id("parent").ok(),
        agent: row.optional_text("agent")?,
    })
}

async fn read_steps(lease: &mut Lease, id: &SessionId, into: &mut Steps) -> Result<(), StoreError> {
    let mut rows = lease.stream(Statement::new(STEPS).bind(id));
    loop {
        match rows.try_next().await {
            Ok(Some(row)) => into.add(row.as_ref()),
            Ok(None) => return Ok(()),
            Err(error) => {
                drop(rows);
                return Err(lease.explain(&error));
            }
        }
    }
}

/// Reads a damaged session. Each step is looked up separately, so that only damaged ones are lost.
async fn one_by_one(lease: &mut Lease, id: &SessionId, last: u64) -> Result<Steps, StoreError> {
    let mut steps = Steps::default();
    let known = lease.number(Statement::new(LAST_STEP).bind(id)).await.map_or(u64::MAX, count);
    let end = last.min(known).min(MAX_LOOKED_UP);
    for seq in 1..=end {
        let query = Statement::new(ONE_STEP).bind(id).bind(stored_count(seq));
        let found = lease.stream(query).try_next().await;
        match found.map_err(|error| lease.explain(&error)) {
            Ok(Some(row)) => steps.add(row.as_ref()),
            Ok(None) => steps.skip(seq, "it is missing"),
            Err(StoreError::Damaged { reason, .. }) => steps.skip(seq, reason),
            Err(other) => return Err(other),
        }
    }
    if end < last {
        steps.skip(end + 1, "this and all later steps are missing");
    }
    Ok(steps)
}

impl Steps {
    fn add(&mut self, row: &dyn Row) {
        let seq = row.integer("seq").map(count).unwrap_or_default();
        let at = row.integer("at").map(moment).unwrap_or_default();
        let body = row.text("body").map_err(|error| error.to_string());
        match body.and_then(|body| serde_json::from_str::<Step>(&body).map_err(|error| error.to_string())) {
            Ok(step) => self.steps.push(StoredStep { seq, at, step }),
            Err(reason) => self.skip(seq, reason),
        }
    }

    fn skip(&mut self, seq: u64, reason: impl Into<String>) {
        self.skipped.push(SkippedStep { seq, reason: reason.into() });
    }
}
