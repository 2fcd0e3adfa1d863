//! What goose 1.x has left: `sessions.db`, and before that one `.jsonl` file for each session.

use std::path::{Path, PathBuf};

use goose_extension::{Message, MessageContent, Role};
use jiff::Timestamp;
use serde_json::Value;

use super::{legacy_content, legacy_content::Part, legacy_db, legacy_lines};
use crate::session::{
    NewSession, SessionId, SessionStore, Step, StoreError,
    store::{ImportedSession, StepRow},
};

/// The database's name.
const DATABASE: &str = "sessions.db";

/// What has become of sessions that were to be imported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// Those that are new here.
    pub sessions: Vec<SessionId>,
    /// How many had been imported before.
    pub already_here: usize,
    /// Those that could not be read.
    pub failed: Vec<NotImported>,
}

/// A session or file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotImported {
    /// Which.
    pub what: String,
    /// Why.
    pub reason: String,
}

/// A session of goose 1.x, as it is found.
#[derive(Debug)]
pub(super) struct OldSession {
    pub(super) id: String,
    pub(super) new: NewSession,
    pub(super) created_at: Timestamp,
    pub(super) messages: Vec<OldMessage>,
    /// What it has cost in all.
    pub(super) cost: Option<Step>,
}

/// A message of goose 1.x.
#[derive(Debug)]
pub(super) struct OldMessage {
    pub(super) at: Timestamp,
    pub(super) role: Role,
    pub(super) content: Value,
    /// Who sees it.
    pub(super) metadata: Value,
}

/// Imports all sessions of a `sessions.db`, of a `.jsonl` file, or of a folder that has such files. Sessions without
/// messages are left out; what was imported before is not imported again.
///
/// # Errors
///
/// [`StoreError::NotImportable`] where nothing can be read at all, and where the store cannot be written.
pub async fn legacy(store: &SessionStore, path: &Path) -> Result<Imported, StoreError> {
    let mut imported = Imported::default();
    let files = files(path).map_err(|error| StoreError::not_importable(path.display().to_string(), error))?;
    for file in files {
        if file.extension().is_some_and(|extension| extension == "jsonl") {
            match legacy_lines::read(&file) {
                Ok(session) => keep(store, session, &mut imported).await?,
                Err(reason) => imported.failed.push(NotImported { what: file.display().to_string(), reason }),
            }
        } else {
            import_database(store, &file, &mut imported).await?;
        }
    }
    Ok(imported)
}

/// The files to read, the database first: a session that is in both comes from there.
fn files(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        path.metadata()?;
        return Ok(vec![path.to_owned()]);
    }
    let database = path.join(DATABASE);
    let mut files: Vec<PathBuf> = database.is_file().then_some(database).into_iter().collect();
    let entries = std::fs::read_dir(path)?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut lines: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")).collect();
    lines.sort();
    files.append(&mut lines);
    Ok(files)
}

async fn import_database(
    store: &SessionStore,
    file: &Path,
    imported: &mut Imported,
) -> Result<(), StoreError> {
    let failed = |error: sqlx::Error| StoreError::not_importable(file.display().to_string(), error);
    let mut database = legacy_db::OldDatabase::open(file).await.map_err(failed)?;
    for found in database.sessions().await.map_err(failed)? {
        let id = found.id.clone();
        match database.with_messages(found).await {
            Ok(session) => keep(store, session, imported).await?,
            Err(error) => imported.failed.push(NotImported { what: id, reason: error.to_string() }),
        }
    }
    Ok(())
}

async fn keep(store: &SessionStore, session: OldSession, imported: &mut Imported) -> Result<(), StoreError> {
    let origin = format!("legacy:{}", session.id);
    if store.has_origin(&origin).await? {
        imported.already_here += 1;
        return Ok(());
    }
    let steps = steps(&session);
    if steps.is_empty() {
        return Ok(());
    }
    let rows = steps.iter().map(|(at, step)| StepRow::new(step, *at)).collect::<Result<_, _>>();
    let imported_session = match rows {
        Ok(steps) => ImportedSession {
            id: session.id.parse().ok(),
            new: session.new,
            created_at: session.created_at,
            origin,
            steps,
        },
        Err(error) => {
            imported.failed.push(NotImported { what: session.id, reason: error.to_string() });
            return Ok(());
        }
    };
    imported.sessions.push(store.insert_imported(imported_session).await?);
    Ok(())
}

/// The log that the messages would have made.
fn steps(session: &OldSession) -> Vec<(Timestamp, Step)> {
    let mut steps = Vec::new();
    let mut seen_by_model = Vec::new();
    let mut is_the_same = true;
    let flag = |message: &OldMessage, name: &str| message.metadata[name].as_bool();
    for message in session.messages.iter().filter(|message| flag(message, "turnContext") != Some(true)) {
        let for_person = flag(message, "userVisible").unwrap_or(true);
        let for_model = flag(message, "agentVisible").unwrap_or(true);
        is_the_same &= for_person == for_model;
        let parts = legacy_content::parts(&message.content);
        if for_model && !parts.is_empty() {
            seen_by_model.push(whole_message(message, &parts));
        }
        if for_person {
            steps.extend(message_steps(message, parts).map(|step| (message.at, step)));
        }
    }
    let Some(end) = steps.last().map(|(at, _)| *at) else { return steps };
    if !is_the_same {
        steps.push((end, Step::Compacted { messages: seen_by_model }));
    }
    steps.extend(session.cost.clone().map(|cost| (end, cost)));
    steps.push((end, Step::ReplyEnded { outcome: "imported".to_owned() }));
    steps
}

fn whole_message(message: &OldMessage, parts: &[Part]) -> Message {
    let content = parts.iter().cloned().map(|part| match part {
        Part::Said(content) => content,
        Part::Result { id, output } => MessageContent::tool_result(id, output),
    });
    Message::new(message.role.clone(), content)
}

/// Results are steps of their own; what is left is a message.
fn message_steps(message: &OldMessage, parts: Vec<Part>) -> impl Iterator<Item = Step> {
    let mut said = Vec::new();
    let mut results = Vec::new();
    for part in parts {
        match part {
            Part::Said(content) => said.push(content),
            Part::Result { id, output } => results.push(Step::ToolResult { id, output }),
        }
    }
    let message =
        (!said.is_empty()).then(|| Step::Message { message: Message::new(message.role.clone(), said) });
    results.into_iter().chain(message)
}
