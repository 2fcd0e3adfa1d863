//! The search index over the user's own sessions, updated in short transactions.
//!
//! Appending does not update the index, which would take several times as long as the append itself. Each
//! session stores the step up to which it is indexed. [`SessionStore::index`] continues from there at the end
//! of a reply; [`SessionStore::index_newest`] does so for all sessions, newest first, within a time limit.
//!
//! The id of a text begins with the day of its step. So the newest matches of a word are at the end of its
//! list, and a range of days is a range of ids: neither requires reading the others.

use std::time::{Duration, Instant};

use goose_extension::{Message, MessageContent, ToolOutput};

use super::{
    SessionStore, StoreError,
    database::Lease,
    dialect::{Row, Statement},
    row::count,
};
use crate::{SessionId, Step};

/// Maximum size of the searchable part of a step.
const MAX_TEXT_BYTES: usize = 16 * 1024;

/// Maximum number of steps in one transaction, so that other writers get their turn.
const MAX_BATCH_STEPS: usize = 400;

/// Size of texts at which a transaction ends, too.
const MAX_BATCH_BYTES: usize = 512 * 1024;

/// Number of steps that one query reads.
const STEPS_PER_TRIP: i64 = 40;

/// Maximum number of sessions in one transaction.
const MAX_BATCH_SESSIONS: i64 = 32;

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// Bits of an id that number the texts of a day.
const NUMBER_BITS: u32 = 32;

/// Last day that an id can have.
const MAX_DAY: i64 = i64::MAX >> (NUMBER_BITS + 1);

const UNINDEXED: &str = "SELECT id FROM sessions WHERE indexed_seq < last_seq AND kind = 'user' \
     ORDER BY updated_at DESC, id DESC LIMIT $1";

const STATE: &str = "SELECT COALESCE(SUM(indexed_seq), 0) AS steps, \
     COALESCE(SUM(CASE WHEN indexed_seq < last_seq THEN 1 ELSE 0 END), 0) AS unindexed \
     FROM sessions WHERE kind = 'user'";

/// Step up to which a session is indexed. Sessions that are not the user's own count as indexed.
const INDEXED_UP_TO: &str =
    "SELECT CASE WHEN kind = 'user' THEN indexed_seq ELSE last_seq END AS number FROM sessions WHERE id = $1";

/// Next steps. A large one, which may contain images, comes without its body: several at once would take much
/// memory.
const NEXT_STEPS: &str = "SELECT seq, at, CASE WHEN octet_length(body) <= 65536 THEN body END AS body \
     FROM steps WHERE session_id = $1 AND seq > $2 ORDER BY seq LIMIT $3";

const BODY: &str = "SELECT body FROM steps WHERE session_id = $1 AND seq = $2";

const SET_INDEXED: &str = "UPDATE sessions SET indexed_seq = $2 WHERE id = $1";

/// State of the index.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct IndexState {
    /// Number of indexed steps of all sessions.
    pub(super) steps: u64,
    /// Number of sessions that are not completely indexed.
    pub(super) unindexed: u64,
}

/// Steps to be indexed in one transaction.
#[derive(Default)]
struct Batch {
    texts: Vec<IndexedText>,
    /// Last step that was read of each session.
    positions: Vec<(SessionId, i64)>,
    steps: usize,
    bytes: usize,
}

struct IndexedText {
    session: SessionId,
    seq: i64,
    day: i64,
    text: String,
}

impl SessionStore {
    /// Makes the newest steps of a session searchable. Sessions that are not the user's own are skipped.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written.
    pub async fn index(&self, id: &SessionId) -> Result<(), StoreError> {
        while self.index_batch(std::slice::from_ref(id)).await? {}
        Ok(())
    }

    /// Makes the newest sessions searchable, and continues with older ones for about the time of `budget`.
    /// Returns the number of sessions that remain. The future may be dropped at any time.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written.
    pub async fn index_newest(&self, budget: Duration) -> Result<u64, StoreError> {
        let deadline = Instant::now() + budget;
        loop {
            let newest = self.unindexed().await?;
            if newest.is_empty() {
                return Ok(0);
            }
            self.index_batch(&newest).await?;
            if Instant::now() >= deadline {
                return Ok(self.index_state().await?.unindexed);
            }
        }
    }

    /// Returns the state of the index.
    pub(super) async fn index_state(&self) -> Result<IndexState, StoreError> {
        let state = |row: &dyn Row| {
            let number = |column| row.integer(column).map(count);
            Ok(IndexState { steps: number("steps")?, unindexed: number("unindexed")? })
        };
        Ok(self.database().rows(Statement::new(STATE), state).await?.pop().unwrap_or_default())
    }

    async fn unindexed(&self) -> Result<Vec<SessionId>, StoreError> {
        let query = Statement::new(UNINDEXED).bind(MAX_BATCH_SESSIONS);
        self.database().rows(query, |row| row.session_id("id")).await
    }

    /// Indexes some steps of these sessions in one transaction. Returns false if there were none.
    async fn index_batch(&self, sessions: &[SessionId]) -> Result<bool, StoreError> {
        let mut lease = self.database().begin().await?;
        let mut batch = Batch::default();
        for id in sessions {
            batch.read(&mut lease, id).await?;
        }
        let any = batch.steps > 0;
        let statements = batch.into_statements(lease.sql().index_step);
        lease.change_all(statements).await?;
        lease.commit().await?;
        Ok(any)
    }
}

impl Batch {
    fn is_full(&self) -> bool {
        self.steps >= MAX_BATCH_STEPS || self.bytes >= MAX_BATCH_BYTES
    }

    /// Reads the next steps of a session.
    async fn read(&mut self, lease: &mut Lease, id: &SessionId) -> Result<(), StoreError> {
        if self.is_full() {
            return Ok(());
        }
        let start = lease.number(Statement::new(INDEXED_UP_TO).bind(id)).await?;
        let mut last = start;
        while !self.is_full() {
            let next = Statement::new(NEXT_STEPS).bind(id).bind(last).bind(STEPS_PER_TRIP);
            let steps = lease.rows(next, step_text).await?;
            let Some(end) = steps.last() else { break };
            last = end.seq;
            self.steps += steps.len();
            for step in steps {
                let text = match step.text {
                    StepText::Text(text) => text,
                    StepText::Large => large_text(lease, id, step.seq).await?,
                };
                let Some(text) = text else { continue };
                self.bytes += text.len();
                self.texts.push(IndexedText { session: id.clone(), seq: step.seq, day: step.day, text });
            }
        }
        if last > start {
            self.positions.push((id.clone(), last));
        }
        Ok(())
    }

    fn into_statements(mut self, index_step: &'static str) -> Vec<Statement> {
        // FTS5 flushes its pending entries whenever an id is lower than the one before.
        self.texts.sort_by_key(|text| text.day);
        let texts = self.texts.into_iter().map(|text| {
            let statement = Statement::new(index_step).bind(&text.session).bind(text.seq);
            statement.bind(text.text).bind(first_id(text.day))
        });
        let positions =
            self.positions.iter().map(|(id, seq)| Statement::new(SET_INDEXED).bind(id).bind(*seq));
        texts.chain(positions).collect()
    }
}

/// Returns the day of a time in milliseconds, both since 1970.
pub(super) fn day(at: i64) -> i64 {
    at.div_euclid(DAY_MS).clamp(0, MAX_DAY)
}

/// Returns the id below all texts of a day.
pub(super) fn first_id(day: i64) -> i64 {
    day << NUMBER_BITS
}

/// Step to be indexed.
struct ReadStep {
    seq: i64,
    day: i64,
    text: StepText,
}

enum StepText {
    /// Text; `None` if the step has none or cannot be read.
    Text(Option<String>),
    /// Large step, which is read separately.
    Large,
}

fn step_text(row: &dyn Row) -> Result<ReadStep, sqlx::Error> {
    let text = match row.optional_text("body") {
        Ok(None) => StepText::Large,
        body => StepText::Text(body.ok().flatten().and_then(|body| text_of_body(&body))),
    };
    Ok(ReadStep { seq: row.integer("seq")?, day: row.integer("at").map(day)?, text })
}

async fn large_text(lease: &mut Lease, id: &SessionId, seq: i64) -> Result<Option<String>, StoreError> {
    let query = Statement::new(BODY).bind(id).bind(seq);
    let text =
        lease.rows(query, |row| Ok(row.text("body").ok().and_then(|body| text_of_body(&body)))).await?;
    Ok(text.into_iter().next().flatten())
}

fn text_of_body(body: &str) -> Option<String> {
    searchable_text(&serde_json::from_str(body).ok()?)
}

/// Returns the searchable text of a step.
fn searchable_text(step: &Step) -> Option<String> {
    let text = match step {
        Step::Message { message } => message_text(message),
        Step::ToolResult { output, .. } | Step::NestedResult { output, .. } => output.as_text(),
        Step::NestedCall { name, arguments, .. } => format!("{name} {arguments}"),
        Step::Log { content, .. } => content.plain(),
        Step::TaskFinished(finished) => finished.result.clone(),
        _ => return None,
    };
    let text = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
    (!text.trim().is_empty()).then(|| text.to_owned())
}

fn message_text(message: &Message) -> String {
    let parts = message.content.iter().filter(|part| !part.is_aside()).filter_map(|part| match part {
        MessageContent::ToolResult { output, .. } => Some(ToolOutput::as_text(output)),
        MessageContent::ToolCall { name, arguments, .. } => Some(format!("{name} {arguments}")),
        other => other.as_text().map(str::to_owned),
    });
    parts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_later_days_are_higher() {
        assert_eq!((day(-5), day(0), day(DAY_MS - 1), day(DAY_MS)), (0, 0, 0, 1));
        assert!(first_id(20_000) + i64::from(u32::MAX) < first_id(20_001));
        assert!(first_id(day(i64::MAX)) > first_id(20_000), "a clock that is far off");
    }
}
