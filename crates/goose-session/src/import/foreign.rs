//! Sessions of other programs: goose 1.x, Claude Code and Codex. The files are only read.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _},
    path::{Path, PathBuf},
};

use goose_extension::{Message, MessageContent, Role, ToolOutput};
use jiff::Timestamp;
use serde_json::Value;

use super::{
    claude, codex, json, legacy,
    limits::{LimitError, LimitedReader, MAX_SESSION_BYTES, MAX_STEPS},
    old_database::{DatabaseError, OldDatabase},
};
use crate::{
    NewSession, SessionId, SessionStore, Step, StoreError, ToolEnd,
    export::FORMAT,
    store::{ImportedSession, StepRow},
};

/// Name of the database of goose 1.x.
pub const DATABASE: &str = "sessions.db";

/// Program that sessions of goose 1.x are from.
pub(super) const GOOSE: &str = "legacy";

/// The first bytes of an SQLite database.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// Length of the beginning of a file in which its format is looked for.
const BEGINNING: u64 = 256;

/// Result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// Sessions that were added.
    pub sessions: Vec<SessionId>,
    /// Number of sessions that had been imported before.
    pub already_here: usize,
    /// Sessions and files that could not be read.
    pub failed: Vec<NotImported>,
    /// Number of lines that could not be read, in sessions that were added.
    pub skipped_lines: usize,
}

/// Session or file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotImported {
    /// Id of the session, or path of the file.
    pub what: String,
    /// Reason.
    pub reason: String,
}

/// Session of another program.
#[derive(Debug)]
pub(super) struct ForeignSession {
    /// Program that wrote it, for the session's origin.
    pub(super) program: &'static str,
    pub(super) id: String,
    pub(super) new: NewSession,
    pub(super) created_at: Timestamp,
    pub(super) messages: Vec<ForeignMessage>,
    /// Cost of the whole session, as one step.
    pub(super) cost: Option<Step>,
}

/// Message of another program.
#[derive(Debug)]
pub(super) struct ForeignMessage {
    pub(super) at: Timestamp,
    pub(super) role: Role,
    pub(super) parts: Vec<Part>,
    /// Flags of goose 1.x for the visibility to the user and to the model.
    pub(super) metadata: Value,
}

/// Part of a message. Results of tools become separate steps.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Said(MessageContent),
    Result { id: String, output: ToolOutput },
}

/// Imports the sessions in a file, or in all files of a folder: an export, the database of goose 1.x, or the
/// lines that goose 1.x, Claude Code and Codex write. Sessions without messages are left out, and no session of
/// another program is imported twice.
///
/// # Errors
///
/// Fails with [`StoreError::NotImportable`] if nothing can be read, and with errors of the store.
pub async fn from_path(store: &SessionStore, path: &Path) -> Result<Imported, StoreError> {
    let mut imported = Imported::default();
    let files = files(path).map_err(|error| StoreError::not_importable(path.display().to_string(), error))?;
    for file in files {
        match import_file(store, &file, &mut imported).await {
            // The other files of a folder are still read.
            Err(StoreError::NotImportable { what, reason }) if file != path => {
                imported.failed.push(NotImported { what, reason });
            }
            done => done?,
        }
    }
    Ok(imported)
}

async fn import_file(store: &SessionStore, file: &Path, imported: &mut Imported) -> Result<(), StoreError> {
    let failed = |error: TextError| StoreError::not_importable(file.display().to_string(), error);
    let opened = goose_fs::open_regular(file).map_err(|error| failed(error.into()))?;
    match format(&opened).map_err(|error| failed(error.into()))? {
        Format::Database => import_database(store, file, imported).await,
        Format::Export => {
            imported.sessions.push(json(store, opened).await?);
            Ok(())
        }
        Format::Text => {
            let (session, skipped) = read_text(file, opened).map_err(failed)?;
            let before = imported.sessions.len();
            insert(store, session, imported).await?;
            imported.skipped_lines += if imported.sessions.len() > before { skipped } else { 0 };
            Ok(())
        }
    }
}

/// Returns the files to read. The database comes first, so that a session that is in both is read from there.
fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
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

/// Format of a file.
enum Format {
    /// Database of goose 1.x.
    Database,
    /// JSON export of this goose.
    Export,
    /// One JSON document, or one on each line.
    Text,
}

fn format(mut file: &File) -> io::Result<Format> {
    let mut beginning = Vec::new();
    file.take(BEGINNING).read_to_end(&mut beginning)?;
    file.rewind()?;
    let is_export = || String::from_utf8_lossy(&beginning).contains(&format!("\"{FORMAT}\""));
    Ok(match beginning.starts_with(SQLITE) {
        true => Format::Database,
        false if is_export() => Format::Export,
        false => Format::Text,
    })
}

/// Reason why a file is not imported.
#[derive(Debug, thiserror::Error)]
pub(super) enum TextError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Limit(#[from] LimitError),
    #[error("it contains no messages")]
    NoMessages,
    #[error("it is not a session of goose, Claude Code or Codex")]
    Unknown,
}

/// Reads a session from JSON. Returns it with the number of lines that are not JSON, such as an incomplete last
/// one.
fn read_text(file: &Path, mut opened: File) -> Result<(ForeignSession, usize), TextError> {
    if opened.metadata()?.len() > MAX_SESSION_BYTES {
        return Err(LimitError::Size.into());
    }
    let mut text = Vec::new();
    LimitedReader::new(&mut opened).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    if let Ok(document) = serde_json::from_str::<Value>(&text)
        && document.get("conversation").is_some()
    {
        return Ok((legacy::document(document)?, 0));
    }
    let (mut lines, mut skipped) = (Vec::new(), 0);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match serde_json::from_str::<Value>(line) {
            Ok(line) if line.is_object() => lines.push(line),
            _ => skipped += 1,
        }
    }
    let id = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let session = if lines.iter().any(codex::is_line) {
        codex::session(lines, id)?
    } else if lines.iter().any(claude::is_line) {
        claude::session(lines, id)?
    } else if lines.iter().any(legacy::is_line) {
        legacy::lines(lines, id)?
    } else {
        return Err(TextError::Unknown);
    };
    Ok((session, skipped))
}

/// Checks the number of messages of a session, and returns the time of the first one.
pub(super) fn check_messages(messages: &[ForeignMessage]) -> Result<Timestamp, TextError> {
    match messages.first() {
        None => Err(TextError::NoMessages),
        Some(_) if messages.len() > MAX_STEPS => Err(LimitError::Steps.into()),
        Some(first) => Ok(first.at),
    }
}

async fn import_database(
    store: &SessionStore,
    file: &Path,
    imported: &mut Imported,
) -> Result<(), StoreError> {
    let failed = |error: DatabaseError| StoreError::not_importable(file.display().to_string(), error);
    let mut database = OldDatabase::open(file).await.map_err(failed)?;
    for found in database.sessions().await.map_err(failed)? {
        let id = found.id.clone();
        match database.with_messages(found).await {
            Ok(session) => insert(store, session, imported).await?,
            Err(DatabaseError::TooLong) => {
                let (what, reason) = (file.display().to_string(), DatabaseError::TooLong.to_string());
                imported.failed.push(NotImported { what, reason });
                break;
            }
            Err(error) => imported.failed.push(NotImported { what: id, reason: error.to_string() }),
        }
    }
    Ok(())
}

async fn insert(
    store: &SessionStore,
    session: ForeignSession,
    imported: &mut Imported,
) -> Result<(), StoreError> {
    let origin = format!("{}:{}", session.program, session.id);
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
            id: if session.program == GOOSE { session.id.parse().ok() } else { None },
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

/// Returns the log that the messages would have produced.
fn steps(session: &ForeignSession) -> Vec<(Timestamp, Step)> {
    let mut steps = Vec::new();
    let mut seen_by_model = Vec::new();
    let mut is_uncompacted = true;
    let flag = |message: &ForeignMessage, name: &str| message.metadata[name].as_bool();
    for message in session.messages.iter().filter(|message| flag(message, "turnContext") != Some(true)) {
        let for_user = flag(message, "userVisible").unwrap_or(true);
        let for_model = flag(message, "agentVisible").unwrap_or(true);
        is_uncompacted &= for_user == for_model;
        if for_model && !message.parts.is_empty() {
            seen_by_model.push(whole_message(message));
        }
        if for_user {
            steps.extend(message_steps(message).map(|step| (message.at, step)));
        }
    }
    let Some(end) = steps.last().map(|(at, _)| *at) else { return steps };
    if !is_uncompacted {
        steps.push((end, Step::compacted(seen_by_model)));
    }
    steps.extend(session.cost.clone().map(|cost| (end, cost)));
    steps.push((end, Step::ReplyEnded { outcome: "imported".to_owned() }));
    steps
}

fn whole_message(message: &ForeignMessage) -> Message {
    let content = message.parts.iter().cloned().map(|part| match part {
        Part::Said(content) => content,
        Part::Result { id, output } => MessageContent::tool_result(id, output),
    });
    Message::new(message.role.clone(), content)
}

/// Returns the results in a message as steps, then the rest as a message.
fn message_steps(message: &ForeignMessage) -> impl Iterator<Item = Step> + use<> {
    let mut said = Vec::new();
    let mut results = Vec::new();
    for part in message.parts.iter().cloned() {
        match part {
            Part::Said(content) => said.push(content),
            Part::Result { id, output } => results.push(Step::ToolResult { id, output, end: ToolEnd::Ran }),
        }
    }
    let message =
        (!said.is_empty()).then(|| Step::Message { message: Message::new(message.role.clone(), said) });
    results.into_iter().chain(message)
}
