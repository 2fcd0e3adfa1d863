//! Stored conversations, inspected from outside: everything that was shown is stored, and everything that is sent is
//! valid.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use goose_test_support::model_server::Asked;
use serde_json::{Value, json};
use sqlx::{Connection as _, Executor as _, Row as _, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::support::Home;

/// The file with all sessions.
pub(crate) fn store(home: &Home) -> PathBuf {
    home.path().join("data/sessions/goose.db")
}

/// Returns the problems that SQLite finds in the store.
pub(crate) fn integrity(file: &Path) -> anyhow::Result<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let options = SqliteConnectOptions::new().filename(file);
        let mut connection = SqliteConnection::connect_with(&options).await?;
        let row = connection.fetch_one("PRAGMA integrity_check").await?;
        let found = row.try_get(0)?;
        connection.close().await?;
        Ok(found)
    })
}

/// The last session, or nothing where there is none.
pub(crate) fn exported(home: &Home) -> anyhow::Result<Option<Vec<Value>>> {
    let listed = home.run(&["session", "list", "--json"])?;
    ensure!(listed.code == Some(0), "{listed:?}");
    if listed.json()?["sessions"].as_array().is_none_or(Vec::is_empty) {
        return Ok(None);
    }
    let exported = home.run(&["session", "export", "--format", "json"])?;
    ensure!(exported.code == Some(0), "{exported:?}");
    let document = exported.json()?;
    ensure!(document["skipped"] == json!([]), "{document}");
    let steps = document["steps"].as_array().context("steps")?;
    Ok(Some(steps.iter().map(|stored| stored["step"].clone()).collect()))
}

/// Parts of messages of a kind.
pub(crate) fn parts<'a>(steps: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    let messages = steps.iter().filter(|step| step["step"] == "message");
    let parts = messages.filter_map(|step| step["message"]["content"].as_array()).flatten();
    parts.filter(move |part| part["type"] == kind)
}

/// The results of calls.
pub(crate) fn results(steps: &[Value]) -> impl Iterator<Item = &Value> {
    steps.iter().filter(|step| step["step"] == "tool_result")
}

/// Everything that was shown is stored.
pub(crate) fn is_kept(lines: &[Value], steps: &[Value]) -> anyhow::Result<()> {
    let messages = lines.iter().filter(|line| line["type"] == "message");
    let shown = messages.filter_map(|line| line["message"]["content"].as_array()).flatten();
    for part in shown {
        let found = match part["type"].as_str().context("a type")? {
            "text" => parts(steps, "text").any(|stored| stored == part),
            "toolRequest" => parts(steps, "tool_call").any(|stored| {
                let call = &part["toolCall"]["value"];
                stored["id"] == part["id"]
                    && stored["name"] == call["name"]
                    && stored["arguments"] == call["arguments"]
            }),
            "toolResponse" => results(steps).any(|stored| {
                let result = &part["toolResult"]["value"];
                stored["id"] == part["id"] && stored["output"]["content"] == result["content"]
            }),
            _ => false,
        };
        ensure!(found, "shown, and not stored: {part}\n{steps:#?}");
    }
    let is_complete = lines.iter().any(|line| line["type"] == "complete");
    let is_ended = steps.last().is_some_and(|step| step["step"] == "reply_ended");
    ensure!(is_ended || !is_complete, "shown as complete, and not stored as ended: {steps:#?}");
    Ok(())
}

/// Each call in a request has exactly one result, right after it.
pub(crate) fn is_valid(asked: &Asked) -> anyhow::Result<()> {
    let messages = asked.body["messages"].as_array().context("messages")?;
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().context("an id")?;
            let at = open.iter().position(|call| *call == id).context("a result that nobody waits for")?;
            open.remove(at);
            continue;
        }
        ensure!(open.is_empty(), "no result of {open:?}: {messages:#?}");
        let calls = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
        open.extend(calls.iter().filter_map(|call| call["id"].as_str()));
    }
    ensure!(open.is_empty(), "no result of {open:?}: {messages:#?}");
    Ok(())
}

/// Keeps every other program from writing to the store until it is dropped.
pub(crate) struct Locked {
    runtime: tokio::runtime::Runtime,
    connection: Option<SqliteConnection>,
}

pub(crate) fn lock(store: &Path) -> anyhow::Result<Locked> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let connection = runtime.block_on(async {
        let options = SqliteConnectOptions::new().filename(store);
        let mut connection = SqliteConnection::connect_with(&options).await?;
        connection.execute("BEGIN IMMEDIATE").await?;
        anyhow::Ok(connection)
    })?;
    Ok(Locked { runtime, connection: Some(connection) })
}

impl Drop for Locked {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            let _ = self.runtime.block_on(connection.close());
        }
    }
}
