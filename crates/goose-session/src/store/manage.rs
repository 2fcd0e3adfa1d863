//! Creates, copies, renames, removes and imports sessions.

use super::{
    Session, SessionStore, StepRow, StoreError,
    database::Lease,
    dialect::Statement,
    row::{CounterDelta, count, stored_count},
    session::{SessionRow, insert_session, insert_steps, update_time},
};
use crate::{NewSession, SessionId, Step, clock, id};
use goose_providers::Usage;
use jiff::Timestamp;
use tokio::{runtime::Handle, task::JoinHandle};

/// Maximum length of a name.
const MAX_NAME_CHARS: usize = 200;

const NEXT_NUMBER: &str = "INSERT INTO session_days (day, last_number) VALUES ($1, 1) \
          ON CONFLICT (day) DO UPDATE SET last_number = session_days.last_number + 1 \
          RETURNING last_number AS number";

const NUMBER_IS_TAKEN: &str = "INSERT INTO session_days (day, last_number) VALUES ($1, $2) \
     ON CONFLICT (day) DO UPDATE SET last_number = $2 WHERE session_days.last_number < $2";

const RENAME: &str = "UPDATE sessions SET given_name = $2 WHERE id = $1";

/// Session with all its delegates. Copies and imports are separate: their parent may be a session of another
/// store with the same id.
const WITH_DELEGATES: &str = "WITH RECURSIVE tree (id) AS (SELECT id FROM sessions WHERE id = $1 \
     UNION SELECT sessions.id FROM sessions JOIN tree ON sessions.parent = tree.id \
     WHERE sessions.kind <> 'user' AND sessions.origin IS NULL) SELECT id FROM tree";

const REMOVE: &str = "DELETE FROM sessions WHERE id = $1";

const COPY_SESSION: &str = "INSERT INTO sessions \
     (id, title, working_dir, origin, created_at, updated_at, last_seq, indexed_seq, messages, input_tokens, \
      output_tokens, cached_tokens, cache_write_tokens, dollars, agent) \
     SELECT $1, title, working_dir, $3, $4, $4, 0, 0, 0, 0, 0, 0, 0, 0, agent FROM sessions WHERE id = $2";

const COPY_STEPS: &str = "INSERT INTO steps (session_id, seq, at, kind, body) \
     SELECT $1, seq, at, kind, body FROM steps WHERE session_id = $2 AND seq <= $3";

const LAST_STEP: &str = "SELECT COALESCE(MAX(seq), 0) AS number FROM steps WHERE session_id = $1";

const COUNT_MESSAGES: &str =
    "SELECT COUNT(*) AS number FROM steps WHERE session_id = $1 AND kind = 'message'";

const COUNT_ID: &str = "SELECT COUNT(*) AS number FROM sessions WHERE id = $1";

const BY_ORIGIN: &str = "SELECT COUNT(*) AS number FROM sessions WHERE origin = $1";

const COSTS: &str = "SELECT body FROM steps WHERE session_id = $1 AND kind = 'cost'";

const SET_COUNTERS: &str = "UPDATE sessions SET last_seq = $2, messages = $3, input_tokens = $4, \
     output_tokens = $5, cached_tokens = $6, cache_write_tokens = $7, dollars = $8 WHERE id = $1";

/// Session to import, with all its steps.
#[derive(Debug)]
pub(crate) struct ImportedSession {
    /// Id, which it keeps if that is free.
    pub(crate) id: Option<SessionId>,
    pub(crate) new: NewSession,
    pub(crate) created_at: Timestamp,
    pub(crate) origin: String,
    pub(crate) steps: Vec<StepRow>,
}

/// Session that is being created on another thread.
#[derive(Debug)]
pub struct PendingSession(JoinHandle<Result<Session, StoreError>>);

impl PendingSession {
    /// Waits for the session.
    ///
    /// # Errors
    ///
    /// Fails as [`SessionStore::create`] does.
    pub async fn created(self) -> Result<Session, StoreError> {
        self.0.await.map_err(|error| StoreError::Other(error.to_string()))?
    }
}

impl SessionStore {
    /// Creates a session. Its id is reserved now; the session is stored with its first step, so an empty
    /// session leaves nothing.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written.
    pub async fn create(&self, mut new: NewSession) -> Result<Session, StoreError> {
        let now = clock::now();
        let id = match new.id.take() {
            Some(id) => id,
            None => {
                let mut lease = self.database().write().await?;
                let id = reserve(&mut lease, now).await?;
                lease.give_back();
                id
            }
        };
        new.name = new.name.as_deref().and_then(clean_name);
        Ok(Session::new(self.clone(), id, SessionRow { new, origin: None, created_at: now }))
    }

    /// Starts to create a session on another thread: opening the file takes about as long as everything else
    /// at the start of a program.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime.
    pub fn start_creating(&self, new: NewSession) -> PendingSession {
        let (store, runtime) = (self.clone(), Handle::current());
        // A blocking thread instead of a task: the thread that runs tasks may be busy, and each statement
        // would wait for it.
        PendingSession(tokio::task::spawn_blocking(move || runtime.block_on(store.create(new))))
    }

    /// Copies a session, completely or up to the step with this number. The copy is a session of the user,
    /// and is named by the first words of the original until it gets a name.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NoSuchSession`], and with errors of the store.
    pub async fn fork(&self, id: &SessionId, upto: Option<u64>) -> Result<Session, StoreError> {
        let mut lease = self.database().begin().await?;
        let now = clock::now();
        let copy = reserve(&mut lease, now).await?;
        let upto = upto.map_or(i64::MAX, stored_count);
        let origin = if upto == i64::MAX { format!("fork:{id}") } else { format!("fork:{id}@{upto}") };
        let session =
            Statement::new(COPY_SESSION).bind(&copy).bind(id).bind(origin).bind(now.as_millisecond());
        if lease.change(session).await? == 0 {
            return Err(StoreError::missing(id));
        }
        let steps = Statement::new(COPY_STEPS).bind(&copy).bind(id).bind(upto);
        lease.change(steps).await?;
        let last = recount(&mut lease, &copy).await?;
        lease.commit().await?;
        Ok(Session::existing(self.clone(), copy, last))
    }

    /// Renames a session; an empty name removes the name.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NoSuchSession`], and with errors of the store.
    pub async fn rename(&self, id: &SessionId, name: &str) -> Result<(), StoreError> {
        let mut lease = self.database().begin().await?;
        let rename = Statement::new(RENAME).bind(id).bind(clean_name(name));
        if lease.change(rename).await? == 0 {
            return Err(StoreError::missing(id));
        }
        lease.commit().await
    }

    /// Removes a session, its delegates, and all their steps permanently: their content in the file is
    /// overwritten with zeros. That takes four times as long as leaving it there (0.2 s for 20 MB), so no
    /// other write does it.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NoSuchSession`], and with errors of the store.
    pub async fn remove(&self, id: &SessionId) -> Result<(), StoreError> {
        let mut lease = self.database().begin().await?;
        lease.run(lease.sql().begin_removal).await?;
        let tree = Statement::new(WITH_DELEGATES).bind(id);
        let tree = lease.rows(tree, |row| row.text("id")).await?;
        if tree.is_empty() {
            return Err(StoreError::missing(id));
        }
        for id in tree {
            lease.change(Statement::new(lease.sql().unindex).bind(id.as_str())).await?;
            lease.change(Statement::new(REMOVE).bind(id)).await?;
        }
        lease.run(lease.sql().end_removal).await?;
        lease.commit().await?;
        let mut lease = self.database().write().await?;
        lease.run(lease.sql().purge_log).await?;
        lease.give_back();
        Ok(())
    }

    /// Stores an imported session, under its id if that is free.
    pub(crate) async fn insert_imported(&self, imported: ImportedSession) -> Result<SessionId, StoreError> {
        let mut lease = self.database().begin().await?;
        let id = match imported.id {
            Some(id) if !is_taken(&mut lease, &id).await? => {
                reserve_number(&mut lease, &id).await?;
                id
            }
            _ => reserve(&mut lease, imported.created_at).await?,
        };
        let new = NewSession { name: imported.new.name.as_deref().and_then(clean_name), ..imported.new };
        let row = SessionRow { new, origin: Some(imported.origin), created_at: imported.created_at };
        let mut statements = vec![insert_session(&id, &row)];
        statements.extend(imported.steps.last().map(|last| update_time(&id, last.at)));
        statements.extend(insert_steps(&id, 1, imported.steps));
        lease.change_session(&id, statements).await?;
        lease.commit().await?;
        Ok(id)
    }

    /// Returns true if the store has a session with this origin.
    pub(crate) async fn has_origin(&self, origin: &str) -> Result<bool, StoreError> {
        let query = Statement::new(BY_ORIGIN).bind(origin);
        let found = self.database().rows(query, |row| row.integer("number")).await?;
        Ok(found.iter().any(|number| *number > 0))
    }
}

/// Reserves an unused id.
async fn reserve(lease: &mut Lease, at: Timestamp) -> Result<SessionId, StoreError> {
    let day = id::day(at);
    loop {
        let number = lease.number(Statement::new(NEXT_NUMBER).bind(day.as_str())).await?;
        let id = SessionId::numbered(&day, number);
        if !is_taken(lease, &id).await? {
            return Ok(id);
        }
    }
}

async fn is_taken(lease: &mut Lease, id: &SessionId) -> Result<bool, StoreError> {
    Ok(lease.number(Statement::new(COUNT_ID).bind(id)).await? > 0)
}

async fn reserve_number(lease: &mut Lease, id: &SessionId) -> Result<(), StoreError> {
    let Some((day, number)) = id.day_and_number() else { return Ok(()) };
    lease.change(Statement::new(NUMBER_IS_TAKEN).bind(day).bind(number)).await.map(drop)
}

/// Sets the counters of a session from its steps. Returns the number of the last step.
async fn recount(lease: &mut Lease, id: &SessionId) -> Result<u64, StoreError> {
    let last = lease.number(Statement::new(LAST_STEP).bind(id)).await?;
    let messages = lease.number(Statement::new(COUNT_MESSAGES).bind(id)).await?;
    let costs = Statement::new(COSTS).bind(id);
    let costs = lease.rows(costs, |row| row.text("body")).await?;
    let mut sum = CounterDelta::default();
    for body in costs {
        if let Ok(step) = serde_json::from_str::<Step>(&body) {
            sum.add(&CounterDelta::from_step(&step));
        }
    }
    let Usage { input, output, cached_input, cache_write } = sum.usage;
    let update = Statement::new(SET_COUNTERS)
        .bind(id)
        .bind(last)
        .bind(messages)
        .bind(stored_count(input))
        .bind(stored_count(output))
        .bind(stored_count(cached_input))
        .bind(stored_count(cache_write))
        .bind(sum.dollars);
    lease.change(update).await?;
    Ok(count(last))
}

/// Returns the name on one line; `None` if it is empty.
pub(super) fn clean_name(name: &str) -> Option<String> {
    let words: Vec<&str> = name.split_whitespace().collect();
    let name: String = words.join(" ").chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect();
    (!name.is_empty()).then_some(name)
}
