//! [`Session`]: appends to the log of one session. An append is one trip to the database.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;
use tokio::sync::Mutex;

use super::{
    SessionStore, StoreError,
    detach_on_drop::DetachOnDrop,
    dialect::Statement,
    manage::clean_name,
    row::{CounterDelta, StepRow, stored_count},
};
use crate::{NewSession, SessionId, Step, StoredStep, clock};

const INSERT_SESSION: &str = "INSERT INTO sessions \
          (id, given_name, working_dir, origin, created_at, updated_at, last_seq, indexed_seq, messages, \
           input_tokens, output_tokens, cached_tokens, cache_write_tokens, dollars, kind, parent, agent) \
     VALUES ($1, $2, $3, $4, $5, $5, 0, 0, 0, 0, 0, 0, 0, 0, $6, $7, $8)";

const INSERT_STEP: &str = "INSERT INTO steps (session_id, seq, at, kind, body) VALUES ($1, $2, $3, $4, $5)";

const UPDATE_COUNTERS: &str = "UPDATE sessions SET last_seq = $2, \
     messages = messages + $3, input_tokens = input_tokens + $4, output_tokens = output_tokens + $5, \
     cached_tokens = cached_tokens + $6, cache_write_tokens = cache_write_tokens + $7, \
     dollars = dollars + $8, title = COALESCE(title, $9), agent = COALESCE($10, agent) WHERE id = $1";

const SET_TITLE: &str = "UPDATE sessions SET title = $2 WHERE id = $1";

const UPDATE_TIME: &str = "UPDATE sessions SET updated_at = $2 WHERE id = $1";

/// Time within which further writes of a session keep its `updated_at`, in milliseconds. The time is in two indexes:
/// four of the six pages that a write would change.
const TIME_STEP: i64 = 1_000;

/// Handle to append to a session. Clones append to the same log, one after the other.
#[derive(Debug, Clone)]
pub struct Session {
    id: SessionId,
    log: Log,
}

#[derive(Debug, Clone)]
enum Log {
    Stored {
        store: SessionStore,
        position: Arc<Mutex<Position>>,
    },
    /// Steps are only counted.
    Unsaved(Arc<AtomicU64>),
}

#[derive(Debug)]
struct Position {
    /// Session that the first write has to insert.
    new: Option<SessionRow>,
    next: u64,
    /// Time that is stored in the session's row; 0 if it is not known.
    updated_at: i64,
}

/// Session to be inserted.
#[derive(Debug, Clone)]
pub(super) struct SessionRow {
    pub(super) new: NewSession,
    pub(super) origin: Option<String>,
    pub(super) created_at: Timestamp,
}

impl Session {
    pub(super) fn new(store: SessionStore, id: SessionId, new: SessionRow) -> Self {
        Self::at(store, id, Position { new: Some(new), next: 1, updated_at: 0 })
    }

    pub(super) fn existing(store: SessionStore, id: SessionId, last_seq: u64) -> Self {
        Self::at(store, id, Position { new: None, next: last_seq + 1, updated_at: 0 })
    }

    fn at(store: SessionStore, id: SessionId, position: Position) -> Self {
        Self { id, log: Log::Stored { store, position: Arc::new(Mutex::new(position)) } }
    }

    /// Returns a session that is not stored: its steps are numbered and dropped.
    pub fn unsaved() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        let id = SessionId::numbered("unsaved", i64::try_from(number).unwrap_or(i64::MAX));
        Self { id, log: Log::Unsaved(Arc::default()) }
    }

    /// Returns the id.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Sets the name that the user gives; an empty one removes it. A session without steps gets it with the
    /// first one.
    ///
    /// # Errors
    ///
    /// Fails with errors of the store.
    pub async fn rename(&self, name: &str) -> Result<(), StoreError> {
        let Log::Stored { store, position } = &self.log else { return Ok(()) };
        let mut position = position.lock().await;
        match &mut position.new {
            Some(row) => row.new.name = clean_name(name),
            None => store.rename(&self.id, name).await?,
        }
        Ok(())
    }

    /// Replaces the title, which is made of the first words of the user. A name that the user has given stays.
    ///
    /// # Errors
    ///
    /// Fails with errors of the store.
    pub async fn set_title(&self, title: &str) -> Result<(), StoreError> {
        let (Log::Stored { store, .. }, Some(title)) = (&self.log, clean_name(title)) else { return Ok(()) };
        let mut lease = store.database().begin().await?;
        lease.change(Statement::new(SET_TITLE).bind(&self.id).bind(title)).await?;
        lease.commit().await
    }

    /// Returns true if its steps are stored.
    pub fn is_saved(&self) -> bool {
        matches!(self.log, Log::Stored { .. })
    }

    /// Returns the stored steps that can be read. A new session has none, and an unsaved one never has.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    pub async fn steps(&self) -> Result<Vec<StoredStep>, StoreError> {
        let Log::Stored { store, .. } = &self.log else { return Ok(Vec::new()) };
        match store.steps(&self.id).await {
            Ok(steps) => Ok(steps.steps),
            Err(StoreError::NoSuchSession(_)) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Appends a step and returns its number. When this returns, the step is committed: it survives the end
    /// of the process. If the future is dropped before, the step is either stored completely or not at all,
    /// and later steps come after it.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::SessionBusy`] if another writer has appended since this session was opened,
    /// and with errors of the disk. The step is then not stored, and may be appended again.
    pub async fn append(&self, step: &Step) -> Result<u64, StoreError> {
        self.append_all(std::slice::from_ref(step)).await
    }

    /// Appends several steps, all or none, and returns the number of the last.
    ///
    /// # Errors
    ///
    /// Fails as [`append`](Self::append) does.
    pub async fn append_all(&self, steps: &[Step]) -> Result<u64, StoreError> {
        let (store, position) = match &self.log {
            Log::Stored { store, position } => (store.clone(), Arc::clone(position)),
            Log::Unsaved(last) => {
                let more = steps.len() as u64;
                return Ok(last.fetch_add(more, Ordering::Relaxed) + more);
            }
        };
        let now = clock::now();
        let rows: Vec<StepRow> =
            steps.iter().map(|step| StepRow::new(step, now)).collect::<Result<_, _>>()?;
        let id = self.id.clone();
        DetachOnDrop::new(write(position, store, id, rows)).await
    }

    /// Flushes everything that was appended to the disk, which may take long, and makes it searchable. For
    /// the end of a reply; the next reply need not wait for it.
    ///
    /// # Errors
    ///
    /// Fails if the disk does.
    pub async fn sync(&self) -> Result<(), StoreError> {
        let Log::Stored { store, .. } = &self.log else { return Ok(()) };
        store.sync().await?;
        store.index(&self.id).await?;
        // Sessions that were imported, or not indexed because the process ended, are indexed little by
        // little.
        if let Err(error) = store.index_newest(Duration::ZERO).await {
            tracing::debug!(%error, "earlier sessions could not be indexed");
        }
        Ok(())
    }
}

/// Appends rows, all or none, with the time of the session if it is new.
async fn write(
    position: Arc<Mutex<Position>>,
    store: SessionStore,
    id: SessionId,
    rows: Vec<StepRow>,
) -> Result<u64, StoreError> {
    let mut position = position.lock().await;
    let Some(at) = rows.last().map(|row| row.at) else { return Ok(position.next - 1) };
    let more = rows.len() as u64;
    // A clock that was set back counts as a new time.
    let is_new_time = !(0..TIME_STEP).contains(&(at - position.updated_at));
    let mut lease = store.database().write().await?;
    let mut statements = vec![Statement::new(lease.sql().begin_write)];
    statements.extend(position.new.as_ref().map(|new| insert_session(&id, new)));
    statements.extend(insert_steps(&id, position.next, rows));
    statements.extend(is_new_time.then(|| update_time(&id, at)));
    statements.push(Statement::new("COMMIT"));
    lease.change_session(&id, statements).await?;
    lease.give_back();
    position.new = None;
    position.next += more;
    if is_new_time {
        position.updated_at = at;
    }
    Ok(position.next - 1)
}

/// Returns the statement that inserts a session without steps.
pub(super) fn insert_session(id: &SessionId, row: &SessionRow) -> Statement {
    Statement::new(INSERT_SESSION)
        .bind(id)
        .bind(row.new.name.clone())
        .bind(row.new.working_dir.to_string_lossy().into_owned())
        .bind(row.origin.clone())
        .bind(row.created_at.as_millisecond())
        .bind(row.new.kind.as_str())
        .bind(row.new.parent.as_ref().map(SessionId::to_string))
        .bind(row.new.agent.clone())
}

/// Returns the statement that stores the time of the last step.
pub(super) fn update_time(id: &SessionId, at: i64) -> Statement {
    Statement::new(UPDATE_TIME).bind(id).bind(at)
}

/// Returns the statements that insert steps and update the counters.
pub(super) fn insert_steps(id: &SessionId, first: u64, rows: Vec<StepRow>) -> Vec<Statement> {
    let mut sum = CounterDelta::default();
    let mut last = None;
    let mut statements = Vec::with_capacity(rows.len() + 1);
    for (seq, row) in (first..).zip(rows) {
        last = Some(seq);
        let (insert, delta) = row.bind(Statement::new(INSERT_STEP), id, seq);
        sum.add(&delta);
        statements.push(insert);
    }
    if let Some(seq) = last {
        let update = Statement::new(UPDATE_COUNTERS).bind(id).bind(stored_count(seq));
        statements.push(sum.bind(update));
    }
    statements
}
