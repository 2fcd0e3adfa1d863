//! Writing steps. One step of a session that exists is one trip to the database's thread.

use super::{
    StoreError,
    connection::{Database, Lease, Statement},
    row::{StepRow, Tally, stored_count},
};
use crate::session::{NewSession, SessionId};

const INSERT_SESSION: &str = "INSERT INTO sessions \
     (id, given_name, working_dir, origin, created_at, updated_at, last_seq, indexed_seq, messages, input_tokens, \
      output_tokens, cached_tokens, cache_write_tokens, dollars, kind, parent, agent) \
     VALUES ($1, $2, $3, $4, $5, $5, 0, 0, 0, 0, 0, 0, 0, 0, $6, $7, $8)";

macro_rules! insert_step {
    () => {
        "INSERT INTO steps (session_id, seq, at, kind, body) VALUES ($1, $2, $3, $4, $5)"
    };
}

macro_rules! update_counters {
    () => {
        "UPDATE sessions SET last_seq = $2, updated_at = $3, messages = messages + $6, \
         input_tokens = input_tokens + $7, output_tokens = output_tokens + $8, \
         cached_tokens = cached_tokens + $9, cache_write_tokens = cache_write_tokens + $10, \
         dollars = dollars + $11, title = COALESCE(title, $12) WHERE id = $1"
    };
}

/// A whole write at once.
const APPEND: &str = concat!("BEGIN IMMEDIATE; ", insert_step!(), "; ", update_counters!(), "; COMMIT");

/// A session that the first write makes.
#[derive(Debug, Clone)]
pub(super) struct ToMake {
    pub(super) new: NewSession,
    pub(super) origin: Option<String>,
    pub(super) created_at: i64,
}

/// Appends rows, the first of them under the number `first`. All or nothing.
pub(super) async fn append(
    database: &Database,
    id: &SessionId,
    make: Option<&ToMake>,
    first: u64,
    rows: Vec<StepRow>,
) -> Result<(), StoreError> {
    if make.is_none() && rows.len() == 1 {
        return append_one(database, id, first, rows).await;
    }
    let mut lease = database.begin().await?;
    if let Some(make) = make {
        insert_session(&mut lease, id, make).await?;
    }
    insert_steps(&mut lease, id, first, rows).await?;
    lease.commit().await
}

async fn append_one(
    database: &Database,
    id: &SessionId,
    seq: u64,
    rows: Vec<StepRow>,
) -> Result<(), StoreError> {
    let mut lease = database.lease().await?;
    for row in rows {
        let tally = row.tally.clone();
        execute(&mut lease, APPEND, id, Numbered { seq, row }, &tally).await?;
    }
    lease.give_back();
    Ok(())
}

pub(super) async fn insert_session(
    lease: &mut Lease,
    id: &SessionId,
    make: &ToMake,
) -> Result<(), StoreError> {
    let done = lease.try_change(session_statement(id, make)).await;
    done.map(drop).map_err(|error| conflict(lease, id, &error))
}

fn session_statement(id: &SessionId, make: &ToMake) -> Statement {
    sqlx::query(INSERT_SESSION)
        .bind(id.to_string())
        .bind(make.new.name.clone())
        .bind(make.new.working_dir.to_string_lossy().into_owned())
        .bind(make.origin.clone())
        .bind(make.created_at)
        .bind(make.new.kind.as_str().to_owned())
        .bind(make.new.parent.as_ref().map(SessionId::to_string))
        .bind(make.new.agent.clone())
}

/// Within a write.
pub(super) async fn insert_steps(
    lease: &mut Lease,
    id: &SessionId,
    first: u64,
    rows: Vec<StepRow>,
) -> Result<(), StoreError> {
    let mut sum = Tally::default();
    let mut last = None;
    for (seq, row) in (first..).zip(rows) {
        sum.add(&row.tally);
        let at = row.at;
        execute(lease, insert_step!(), id, Numbered { seq, row }, &Tally::default()).await?;
        last = Some((seq, at));
    }
    let Some((seq, at)) = last else { return Ok(()) };
    let row = StepRow { at, kind: "", body: String::new(), tally: Tally::default() };
    execute(lease, update_counters!(), id, Numbered { seq, row }, &sum).await
}

struct Numbered {
    seq: u64,
    row: StepRow,
}

/// Runs one of the statements about steps.
async fn execute(
    lease: &mut Lease,
    sql: &'static str,
    id: &SessionId,
    step: Numbered,
    tally: &Tally,
) -> Result<(), StoreError> {
    let done = lease.try_change(step_statement(sql, id, step, tally)).await;
    done.map(drop).map_err(|error| conflict(lease, id, &error))
}

/// One of the statements about steps, which share their parameters.
fn step_statement(sql: &'static str, id: &SessionId, step: Numbered, tally: &Tally) -> Statement {
    sqlx::query(sql)
        .bind(id.to_string())
        .bind(stored_count(step.seq))
        .bind(step.row.at)
        .bind(step.row.kind)
        .bind(step.row.body)
        .bind(tally.messages)
        .bind(stored_count(tally.usage.input))
        .bind(stored_count(tally.usage.output))
        .bind(stored_count(tally.usage.cached_input))
        .bind(stored_count(tally.usage.cache_write))
        .bind(tally.dollars)
        .bind(tally.title.clone())
}

/// A number that is taken means another writer; a session that is not there was removed.
fn conflict(lease: &Lease, id: &SessionId, error: &sqlx::Error) -> StoreError {
    match error.as_database_error() {
        Some(database) if database.is_unique_violation() => StoreError::SessionBusy { id: id.clone() },
        Some(database) if database.is_foreign_key_violation() => StoreError::missing(id),
        _ => lease.explain(error),
    }
}
