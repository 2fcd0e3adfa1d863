//! Sessions of goose 1.x: `sessions.db`, and before that one `.jsonl` file for each session. The files are
//! only read.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use goose_extension::{ContentBlock, Message, MessageContent, Reasoning, Role, StoredOutput, ToolOutput};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::{
    limits::{LimitError, LimitedReader, MAX_SESSION_BYTES, MAX_STEPS},
    old_database::{DatabaseError, OldDatabase},
};
use crate::{
    NewSession, SessionId, SessionStore, Step, StoreError,
    store::{ImportedSession, StepRow},
};

/// Name of the database.
pub const DATABASE: &str = "sessions.db";

/// Name of a tool whose call cannot be parsed.
const UNKNOWN_TOOL: &str = "unknown";

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
}

/// Session or file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotImported {
    /// Id of the session, or path of the file.
    pub what: String,
    /// Reason.
    pub reason: String,
}

/// Session of goose 1.x.
#[derive(Debug)]
pub(super) struct OldSession {
    pub(super) id: String,
    pub(super) new: NewSession,
    pub(super) created_at: Timestamp,
    pub(super) messages: Vec<OldMessage>,
    /// Cost of the whole session, as one step.
    pub(super) cost: Option<Step>,
}

/// Message of goose 1.x.
#[derive(Debug)]
pub(super) struct OldMessage {
    pub(super) at: Timestamp,
    pub(super) role: Role,
    pub(super) content: Value,
    /// Flags for the visibility to the user and to the model.
    pub(super) metadata: Value,
}

/// Imports all sessions of a `sessions.db`, of a `.jsonl` file, or of a folder with such files. Sessions
/// without messages are left out, and no session is imported twice.
///
/// # Errors
///
/// Fails with [`StoreError::NotImportable`] if nothing can be read, and with errors of the store.
pub async fn legacy(store: &SessionStore, path: &Path) -> Result<Imported, StoreError> {
    let mut imported = Imported::default();
    let files = files(path).map_err(|error| StoreError::not_importable(path.display().to_string(), error))?;
    for file in files {
        if file.extension().is_some_and(|extension| extension == "jsonl") {
            match read_lines(&file) {
                Ok(session) => insert(store, session, &mut imported).await?,
                Err(error) => imported
                    .failed
                    .push(NotImported { what: file.display().to_string(), reason: error.to_string() }),
            }
        } else {
            import_database(store, &file, &mut imported).await?;
        }
    }
    Ok(imported)
}

/// Returns the files to read. The database comes first, so that a session that is in both is read from there.
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
    session: OldSession,
    imported: &mut Imported,
) -> Result<(), StoreError> {
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

/// Returns the log that the messages would have produced.
fn steps(session: &OldSession) -> Vec<(Timestamp, Step)> {
    let mut steps = Vec::new();
    let mut seen_by_model = Vec::new();
    let mut is_uncompacted = true;
    let flag = |message: &OldMessage, name: &str| message.metadata[name].as_bool();
    for message in session.messages.iter().filter(|message| flag(message, "turnContext") != Some(true)) {
        let for_user = flag(message, "userVisible").unwrap_or(true);
        let for_model = flag(message, "agentVisible").unwrap_or(true);
        is_uncompacted &= for_user == for_model;
        let parts = parts(&message.content);
        if for_model && !parts.is_empty() {
            seen_by_model.push(whole_message(message, &parts));
        }
        if for_user {
            steps.extend(message_steps(message, parts).map(|step| (message.at, step)));
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

fn whole_message(message: &OldMessage, parts: &[Part]) -> Message {
    let content = parts.iter().cloned().map(|part| match part {
        Part::Said(content) => content,
        Part::Result { id, output } => MessageContent::tool_result(id, output),
    });
    Message::new(message.role.clone(), content)
}

/// Returns the results in a message as steps, then the rest as a message.
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

/// Reason why a `.jsonl` file is not imported.
#[derive(Debug, thiserror::Error)]
enum LinesError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Limit(#[from] LimitError),
    #[error("it contains no messages")]
    NoMessages,
}

/// Reads a `.jsonl` file: one line about the session, then one line for each message. Other lines, such as an
/// incomplete last one, are ignored.
fn read_lines(file: &Path) -> Result<OldSession, LinesError> {
    let mut opened = goose_fs::open_regular(file)?;
    if opened.metadata()?.len() > MAX_SESSION_BYTES {
        return Err(LimitError::Size.into());
    }
    let mut text = Vec::new();
    LimitedReader::new(&mut opened).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let mut lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).peekable();
    let about = lines.next_if(|line| line.get("role").is_none()).unwrap_or_default();
    let messages: Vec<OldMessage> = lines.filter_map(line_message).take(MAX_STEPS + 1).collect();
    if messages.len() > MAX_STEPS {
        return Err(LimitError::Steps.into());
    }
    let created_at = messages.first().ok_or(LinesError::NoMessages)?.at;
    let said = |name: &str| about[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let folder = said("working_dir").unwrap_or_default();
    let new = NewSession { name: said("description"), ..NewSession::in_folder(folder) };
    let id = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(OldSession { id, new, created_at, messages, cost: None })
}

fn line_message(mut line: Value) -> Option<OldMessage> {
    let role = if line["role"].as_str()? == "assistant" { Role::Assistant } else { Role::User };
    let at = line["created"].as_i64().and_then(|seconds| Timestamp::from_second(seconds).ok());
    Some(OldMessage {
        at: at.unwrap_or(Timestamp::UNIX_EPOCH),
        role,
        content: line["content"].take(),
        metadata: line["metadata"].take(),
    })
}

/// Part of a message. Results of tools become separate steps.
#[derive(Debug, Clone, PartialEq)]
enum Part {
    Said(MessageContent),
    Result { id: String, output: ToolOutput },
}

/// Returns the parts of a message. Types without an equivalent are left out.
fn parts(content: &Value) -> Vec<Part> {
    content.as_array().map(|parts| parts.iter().filter_map(part).collect()).unwrap_or_default()
}

fn part(part: &Value) -> Option<Part> {
    match part["type"].as_str()? {
        "text" | "image" => {
            serde_json::from_value(part.clone()).ok().map(|block| Part::Said(MessageContent::Block(block)))
        }
        "thinking" => {
            let text = part["thinking"].as_str()?.to_owned();
            Some(Part::Said(MessageContent::Reasoning(Reasoning { text, opaque: None })))
        }
        "toolRequest" | "frontendToolRequest" => Some(Part::Said(call(part)?)),
        "toolResponse" => {
            Some(Part::Result { id: part["id"].as_str()?.to_owned(), output: output(&part["toolResult"]) })
        }
        _ => None,
    }
}

fn call(part: &Value) -> Option<MessageContent> {
    let called = &part["toolCall"]["value"];
    let name = called["name"].as_str().unwrap_or(UNKNOWN_TOOL);
    // Newer versions store the extension beside the name.
    let name = match part["_meta"]["goose_extension"].as_str() {
        Some(extension) if !name.contains("__") => format!("{extension}__{name}"),
        _ => name.to_owned(),
    };
    let arguments = match &called["arguments"] {
        Value::Null => Value::Object(serde_json::Map::new()),
        arguments => arguments.clone(),
    };
    Some(MessageContent::ToolCall { id: part["id"].as_str()?.to_owned(), name, arguments, opaque: None })
}

fn output(result: &Value) -> ToolOutput {
    #[derive(Deserialize)]
    struct Stored(#[serde(with = "StoredOutput")] ToolOutput);

    let value = &result["value"];
    if let Some(error) = result["error"].as_str() {
        return ToolOutput::error(error);
    }
    // Older versions store only the content.
    if let Some(blocks) = value.as_array() {
        return ToolOutput::content(blocks.iter().filter_map(block));
    }
    match serde_json::from_value(value.clone()) {
        Ok(Stored(output)) => output,
        Err(_) => ToolOutput::content(value["content"].as_array().into_iter().flatten().filter_map(block)),
    }
}

fn block(value: &Value) -> Option<ContentBlock> {
    serde_json::from_value(value.clone()).ok()
}
