//! Full-text search over messages, tool calls, results and log entries.
//!
//! Appending does not touch the index, which would cost several times as much as the append itself. Each session knows
//! up to which step it is indexed; [`SessionStore::index`] continues there, at the end of a reply and before a search.

use goose_extension::{Message, MessageContent, ToolOutput};
use jiff::Timestamp;

use super::{
    SessionStore, StoreError,
    dialect::{Row, Statement},
    row::{count, moment},
};
use crate::session::{SessionId, Step};

/// The part of a step that is searchable.
const MAX_TEXT_BYTES: usize = 16 * 1024;

/// The number of steps that are indexed in one transaction, so that other writers get their turn.
const BATCH: usize = 200;

/// The maximum number of words in a query.
const MAX_WORDS: usize = 16;

/// The maximum length of a word in a query.
const MAX_WORD_CHARS: usize = 64;

const UNINDEXED_SESSIONS: &str = "SELECT id FROM sessions WHERE indexed_seq < last_seq ORDER BY updated_at";

const INDEXED_UP_TO: &str = "SELECT indexed_seq AS number FROM sessions WHERE id = $1";

const NEXT_STEP: &str = "SELECT seq, body FROM steps WHERE session_id = $1 AND seq > $2 ORDER BY seq LIMIT 1";

const SET_INDEXED: &str = "UPDATE sessions SET indexed_seq = $2 WHERE id = $1";

/// A step that matches a query.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// The session.
    pub session: SessionId,
    /// Its name.
    pub name: String,
    /// The step in it.
    pub seq: u64,
    /// The time at which it was stored.
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
    /// Fails if the store cannot be read or the index not updated.
    pub async fn search(&self, text: &str, limit: u32) -> Result<Vec<Found>, StoreError> {
        let words = words(text);
        if words.is_empty() {
            return Ok(Vec::new());
        }
        for id in self.unindexed().await? {
            self.index(&id).await?;
        }
        let mut lease = self.database().read().await?;
        let condition = self.database().dialect().search_condition(&words);
        let query = Statement::new(lease.sql().search).bind(condition).bind(i64::from(limit));
        let found = lease.rows(query, found).await?;
        lease.give_back();
        Ok(found)
    }

    async fn unindexed(&self) -> Result<Vec<SessionId>, StoreError> {
        let mut lease = self.database().read().await?;
        let ids = lease.rows(Statement::new(UNINDEXED_SESSIONS), |row| row.session_id("id")).await?;
        lease.give_back();
        Ok(ids)
    }

    /// Makes the newest steps of a session searchable.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be written.
    pub async fn index(&self, id: &SessionId) -> Result<(), StoreError> {
        while self.index_some(id).await? == BATCH {}
        Ok(())
    }

    /// Indexes some steps and returns their number. Each is read on its own: one with images takes many megabytes.
    async fn index_some(&self, id: &SessionId) -> Result<usize, StoreError> {
        let mut lease = self.database().begin().await?;
        let mut last = lease.number(Statement::new(INDEXED_UP_TO).bind(id)).await?;
        let mut done = 0;
        while done < BATCH {
            let next = Statement::new(NEXT_STEP).bind(id).bind(last);
            let Some((seq, text)) = lease.rows(next, numbered_text).await?.pop() else { break };
            if let Some(text) = text {
                lease.change(Statement::new(lease.sql().index_step).bind(id).bind(seq).bind(text)).await?;
            }
            last = seq;
            done += 1;
        }
        if done > 0 {
            lease.change(Statement::new(SET_INDEXED).bind(id).bind(last)).await?;
        }
        lease.commit().await?;
        Ok(done)
    }
}

/// Returns a step's number and its searchable text; no text for a step that cannot be read.
fn numbered_text(row: &dyn Row) -> Result<(i64, Option<String>), sqlx::Error> {
    let step = row.text("body").ok().and_then(|body| serde_json::from_str(&body).ok());
    Ok((row.integer("seq")?, step.as_ref().and_then(searchable_text)))
}

fn found(row: &dyn Row) -> Result<Found, sqlx::Error> {
    Ok(Found {
        session: row.session_id("session_id")?,
        name: row.text("name")?,
        seq: row.integer("seq").map(count)?,
        at: row.integer("at").map(moment)?,
        kind: row.text("kind")?,
        snippet: row.text("snippet")?,
    })
}

/// Splits a query into words of letters and digits, so that nothing in it has a meaning to the database.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.take(MAX_WORDS).map(|word| word.chars().take(MAX_WORD_CHARS).collect()).collect()
}

/// Returns the searchable text of a step.
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
    fn a_query_has_no_syntax() {
        assert_eq!(words("fix NOT (a-b) \"c*\""), ["fix", "NOT", "a", "b", "c"]);
        assert_eq!(words(" \"'* "), Vec::<String>::new());
    }
}
