//! The `sessions.db` of goose 1.x, through a connection that cannot write. Its columns have come over time, so each is
//! looked for and none but the first few is needed.

use std::path::Path;

use goose_extension::Role;
use goose_providers::Usage;
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use serde_json::Value;
use sqlx::{
    ConnectOptions as _, Executor as _, Row as _, SqliteConnection, sqlite::SqliteConnectOptions,
    sqlite::SqliteRow,
};

use super::legacy::{OldMessage, OldSession};
use crate::session::{NewSession, Step};

/// Kinds of sessions that no person has had.
const OTHERS: [&str; 2] = ["hidden", "sub_agent"];

const SESSIONS: &str = "SELECT * FROM sessions ORDER BY created_at, id";

const MESSAGES: &str = "SELECT * FROM messages WHERE session_id = $1 ORDER BY created_timestamp, id";

pub(super) struct OldDatabase(SqliteConnection);

impl OldDatabase {
    pub(super) async fn open(file: &Path) -> Result<Self, sqlx::Error> {
        let options = SqliteConnectOptions::new().filename(file).read_only(true).disable_statement_logging();
        Ok(Self(options.connect().await?))
    }

    /// All sessions of persons, without their messages.
    pub(super) async fn sessions(&mut self) -> Result<Vec<OldSession>, sqlx::Error> {
        let rows = self.0.fetch_all(sqlx::query(SESSIONS)).await?;
        let is_wanted =
            |row: &&SqliteRow| !OTHERS.contains(&text(row, "session_type").unwrap_or_default().as_str());
        rows.iter().filter(is_wanted).map(session).collect()
    }

    /// The session with its messages.
    pub(super) async fn with_messages(&mut self, mut session: OldSession) -> Result<OldSession, sqlx::Error> {
        let query = sqlx::query(MESSAGES).bind(session.id.clone());
        let rows = self.0.fetch_all(query).await?;
        session.messages = rows.iter().map(message).collect::<Result<_, _>>()?;
        Ok(session)
    }
}

fn session(row: &SqliteRow) -> Result<OldSession, sqlx::Error> {
    let is_named = number(row, "user_set_name").is_some_and(|set| set != 0);
    // Names that a model gave are better than first words.
    let name = text(row, "name").or_else(|| text(row, "description"));
    let name = name.filter(|name| is_named || name != "CLI Session");
    Ok(OldSession {
        id: row.try_get("id")?,
        new: NewSession { name, ..NewSession::in_folder(text(row, "working_dir").unwrap_or_default()) },
        created_at: text(row, "created_at").and_then(|at| moment(&at)).unwrap_or_else(Timestamp::now),
        messages: Vec::new(),
        cost: cost(row),
    })
}

fn message(row: &SqliteRow) -> Result<OldMessage, sqlx::Error> {
    let role: String = row.try_get("role")?;
    let seconds = number(row, "created_timestamp").unwrap_or(0);
    let json = |column: &str| {
        text(row, column).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Value::Null)
    };
    Ok(OldMessage {
        at: Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH),
        role: if role == "assistant" { Role::Assistant } else { Role::User },
        content: json("content_json"),
        metadata: json("metadata_json"),
    })
}

/// All that was spent, as one step.
fn cost(row: &SqliteRow) -> Option<Step> {
    let tokens = |name: &str| number(row, name).and_then(|count| u64::try_from(count).ok()).unwrap_or(0);
    let usage = Usage {
        input: tokens("accumulated_input_tokens"),
        output: tokens("accumulated_output_tokens"),
        cached_input: tokens("accumulated_cache_read_tokens"),
        cache_write: tokens("accumulated_cache_write_tokens"),
    };
    let config: Value =
        text(row, "model_config_json").and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    (usage != Usage::default()).then(|| Step::Cost {
        provider: text(row, "provider_name").unwrap_or_default(),
        model: config["model_name"].as_str().unwrap_or_default().to_owned(),
        usage,
        dollars: row.try_get_unchecked("accumulated_cost").ok().flatten(),
    })
}

/// A column that may be missing or empty.
fn text(row: &SqliteRow, column: &str) -> Option<String> {
    let text: Option<String> = row.try_get_unchecked(column).ok()?;
    text.filter(|text| !text.is_empty())
}

fn number(row: &SqliteRow, column: &str) -> Option<i64> {
    row.try_get_unchecked::<Option<i64>, _>(column).ok()?
}

/// `2026-11-15 08:49:47`, which is UTC.
fn moment(text: &str) -> Option<Timestamp> {
    let at: DateTime = text.parse().ok()?;
    Some(at.to_zoned(TimeZone::UTC).ok()?.timestamp())
}
