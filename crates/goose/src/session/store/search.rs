//! Full-text search over what was said and what tools gave back, with SQLite's FTS5.
//!
//! Appending does not touch the index, which would cost several times as much as the append itself. Each session knows
//! up to which step it is indexed; [`SessionStore::index`] goes on from there, at the end of a reply and before a search.

use goose_extension::{Message, MessageContent, ToolOutput};
use jiff::Timestamp;
use sqlx::{Row as _, sqlite::SqliteRow};

use super::{
    SessionStore, StoreError,
    connection::Lease,
    row::{count, moment},
};
use crate::session::{SessionId, Step};

/// How much of a step can be found.
const MAX_TEXT_BYTES: usize = 16 * 1024;

/// How many steps are indexed in one write, so that others get their turn.
const BATCH: usize = 200;

/// How many words of a question count.
const MAX_WORDS: usize = 16;

/// How long a word of a question may be.
const MAX_WORD_CHARS: usize = 64;

const UNINDEXED_SESSIONS: &str = "SELECT id FROM sessions WHERE indexed_seq < last_seq ORDER BY updated_at";

const NEXT_UNINDEXED: &str = "SELECT steps.seq, steps.body FROM sessions \
     JOIN steps ON steps.session_id = sessions.id AND steps.seq > MAX(sessions.indexed_seq, $2) \
     WHERE sessions.id = $1 ORDER BY steps.seq LIMIT 1";

const INDEX_STEP: &str = "INSERT INTO searchable (session_id, seq, text) VALUES ($1, $2, $3); \
     INSERT INTO search (rowid, text) VALUES (last_insert_rowid(), $3)";

const IS_INDEXED: &str = "UPDATE sessions SET indexed_seq = $2 WHERE id = $1";

/// What is taken out of the index is not only marked as such, but goes.
const FORGET_WHOLLY: &str = "INSERT INTO search (search, rank) VALUES ('secure-delete', 1)";

const FORGET: &str = "INSERT INTO search (search, rowid, text) \
     SELECT 'delete', id, text FROM searchable WHERE session_id = $1";

const SEARCH: &str = "SELECT searchable.session_id, searchable.seq, steps.at, steps.kind, \
     COALESCE(sessions.given_name, sessions.title, sessions.id) AS name, \
     snippet(search, 0, '', '', '…', 24) AS snippet \
     FROM search \
     JOIN searchable ON searchable.id = search.rowid \
     JOIN steps ON steps.session_id = searchable.session_id AND steps.seq = searchable.seq \
     JOIN sessions ON sessions.id = searchable.session_id \
     WHERE search MATCH $1 AND sessions.kind = 'user' ORDER BY search.rank LIMIT $2";

/// A step that has the words.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// The session.
    pub session: SessionId,
    /// What it is called.
    pub name: String,
    /// The step in it.
    pub seq: u64,
    /// When it was stored.
    pub at: Timestamp,
    /// Its kind, as [`Step::kind`] has it.
    pub kind: String,
    /// The text around the words.
    pub snippet: String,
}

impl SessionStore {
    /// Returns the steps of the user's sessions that have all these words, or words that begin with them; the best first.
    ///
    /// # Errors
    ///
    /// Where the store cannot be read or the index not brought up to date.
    pub async fn search(&self, text: &str, limit: u32) -> Result<Vec<Found>, StoreError> {
        let Some(question) = question(text) else { return Ok(Vec::new()) };
        for id in self.unindexed().await? {
            self.index(&id).await?;
        }
        let mut lease = self.database().lease().await?;
        let found = lease.rows(sqlx::query(SEARCH).bind(question).bind(i64::from(limit)), found).await?;
        lease.give_back();
        Ok(found)
    }

    async fn unindexed(&self) -> Result<Vec<SessionId>, StoreError> {
        let mut lease = self.database().lease().await?;
        let ids = lease.rows(sqlx::query(UNINDEXED_SESSIONS), |row| row.try_get::<String, _>(0)).await?;
        lease.give_back();
        Ok(ids.into_iter().filter_map(|id| SessionId::try_from(id).ok()).collect())
    }

    /// Makes the newest steps of a session searchable.
    ///
    /// # Errors
    ///
    /// Where the store cannot be written.
    pub async fn index(&self, id: &SessionId) -> Result<(), StoreError> {
        while self.index_some(id).await? == BATCH {}
        Ok(())
    }

    /// Indexes some steps and tells how many. Each is read on its own: one with pictures takes many megabytes.
    async fn index_some(&self, id: &SessionId) -> Result<usize, StoreError> {
        let mut lease = self.database().begin().await?;
        let mut last = 0;
        let mut done = 0;
        while done < BATCH {
            let next = sqlx::query(NEXT_UNINDEXED).bind(id.to_string()).bind(last);
            let Some((seq, text)) = lease.rows(next, numbered_text).await?.pop() else { break };
            if let Some(text) = text {
                lease.change(sqlx::query(INDEX_STEP).bind(id.to_string()).bind(seq).bind(text)).await?;
            }
            last = seq;
            done += 1;
        }
        if done > 0 {
            lease.change(sqlx::query(IS_INDEXED).bind(id.to_string()).bind(last)).await?;
        }
        lease.commit().await?;
        Ok(done)
    }
}

/// Takes a session out of the index, within the write that removes it.
pub(super) async fn forget(lease: &mut Lease, id: &str) -> Result<(), StoreError> {
    lease.run(FORGET_WHOLLY).await?;
    lease.change(sqlx::query(FORGET).bind(id.to_owned())).await.map(drop)
}

/// A step's number, and what of it can be found; nothing of one that cannot be read.
fn numbered_text(row: &SqliteRow) -> Result<(i64, Option<String>), sqlx::Error> {
    let body = row.try_get_unchecked::<String, _>("body").unwrap_or_default();
    let text = serde_json::from_str(&body).ok().and_then(|step| searchable_text(&step));
    Ok((row.try_get("seq")?, text))
}

fn found(row: &SqliteRow) -> Result<Found, sqlx::Error> {
    let id: String = row.try_get("session_id")?;
    Ok(Found {
        session: SessionId::try_from(id).map_err(|error| sqlx::Error::Decode(error.into()))?,
        name: row.try_get("name")?,
        seq: row.try_get("seq").map(count)?,
        at: row.try_get("at").map(moment)?,
        kind: row.try_get("kind")?,
        snippet: row.try_get("snippet")?,
    })
}

/// Words as a question to FTS5: all of them, each a beginning. Nothing in them has a meaning of its own.
fn question(text: &str) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric();
    let words = text.split(|c| !is_part(c)).filter(|word| !word.is_empty()).take(MAX_WORDS);
    let words: Vec<String> =
        words.map(|word| format!("\"{}\"*", word.chars().take(MAX_WORD_CHARS).collect::<String>())).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// What of a step can be found.
fn searchable_text(step: &Step) -> Option<String> {
    let text = match step {
        Step::Message { message } => message_text(message),
        Step::ToolResult { output, .. } | Step::NestedResult { output, .. } => output.as_text(),
        Step::NestedCall { name, arguments, .. } => format!("{name} {arguments}"),
        Step::Log { content, .. } => content.plain(),
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
    fn a_question_has_no_syntax() {
        assert_eq!(
            question("fix NOT (a-b) \"c*\""),
            Some("\"fix\"* \"NOT\"* \"a\"* \"b\"* \"c\"*".to_owned())
        );
        assert_eq!(question(" \"'* "), None);
    }
}
