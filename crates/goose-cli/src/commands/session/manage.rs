//! Commands on saved sessions: rename, fork, export, import.

use std::{
    fs,
    io::{self, Read as _, Seek as _, Write as _},
    path::Path,
    process::ExitCode,
    sync::Arc,
};

use anyhow::{Context as _, bail, ensure};
use goose::session::{SessionStore, export, import};
use goose_fs::{open_private_file, open_regular};

use super::{
    args::{ExportFormat, WhichSession},
    chosen, explained,
};
use crate::{escape, output::say, stderr, terminal::input::Input};

/// The first bytes of an SQLite database.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// Asks for confirmation of a removal.
pub(crate) async fn agreed(question: &str) -> anyhow::Result<bool> {
    if !stderr::can_ask() {
        bail!("No terminal available to confirm the removal. Use --yes to remove it without confirmation.");
    }
    Ok(Arc::new(Input::new(None)).turn().await.is_agreed(question).await)
}

/// Renames a session.
pub(super) async fn rename(store: &SessionStore, session: &str, name: &str) -> anyhow::Result<ExitCode> {
    let session = store.find(session).await.map_err(explained)?;
    store.rename(&session.id, name).await.map_err(explained)?;
    say(&format!("Renamed {} to '{}'.", session.id, escape::line(name)))
}

/// Copies a session.
pub(super) async fn fork(store: &SessionStore, which: &WhichSession) -> anyhow::Result<ExitCode> {
    let session = chosen(store, which).await?;
    let copy = store.fork(&session.id, None).await.map_err(explained)?;
    say(&format!(
        "Copied {} to {}. Resume the copy with: goose session --resume --session-id {1}",
        session.id,
        copy.id()
    ))
}

impl ExportFormat {
    /// Returns the format of a file by its name.
    pub(super) fn of(output: Option<&Path>) -> Self {
        match output.and_then(Path::extension).and_then(|extension| extension.to_str()) {
            Some("json") => Self::Json,
            Some("yaml" | "yml") => Self::Yaml,
            _ => Self::default(),
        }
    }
}

/// Writes a session to a file, or to standard output.
pub(super) async fn export(
    store: &SessionStore,
    which: &WhichSession,
    format: ExportFormat,
    output: Option<&Path>,
) -> anyhow::Result<ExitCode> {
    let session = chosen(store, which).await?;
    let text = match format {
        ExportFormat::Json => export::json(store, &session.id).await.map_err(explained)?,
        ExportFormat::Markdown => export::markdown(store, &session.id).await.map_err(explained)?,
        ExportFormat::Yaml => {
            let json = export::json(store, &session.id).await.map_err(explained)?;
            serde_saphyr::to_string(&serde_json::from_str::<serde_json::Value>(&json)?)?
        }
    };
    let Some(path) = output else {
        let mut out = io::stdout().lock();
        writeln!(out, "{}", escaped(&text, format))?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    };
    let written = open_private_file(path).and_then(|mut file| writeln!(file, "{text}"));
    written.with_context(|| format!("{} cannot be written", path.display()))?;
    say(&format!("Exported {} to {}.", session.id, path.display()))
}

/// Escapes control characters: content must not move the cursor.
fn escaped(text: &str, format: ExportFormat) -> String {
    match format {
        ExportFormat::Json => escape::json(text),
        ExportFormat::Markdown | ExportFormat::Yaml => escape::prose(text).into_owned(),
    }
}

/// Imports sessions from a file: an export, or the sessions of goose 1.x.
pub(super) async fn import(store: &SessionStore, file: &Path) -> anyhow::Result<ExitCode> {
    if let Some(export) = open_export(file).with_context(|| format!("{} cannot be read", file.display()))? {
        let id = import::json(store, export).await.map_err(explained)?;
        return say(&format!(
            "Imported the session as {id}. Resume it with: goose session --resume --session-id {id}"
        ));
    }
    let imported = import::legacy(store, file).await.map_err(explained)?;
    for not in &imported.failed {
        stderr::line(format_args!("{}: {}", escape::line(&not.what), escape::line(&not.reason)));
    }
    say(&format!(
        "Imported {} sessions ({} already present, {} unreadable).",
        imported.sessions.len(),
        imported.already_here,
        imported.failed.len()
    ))
}

/// Names the sessions of goose 1.x beside a store that is still empty, and the command that imports them.
pub(crate) fn importable(store: &SessionStore) -> Option<String> {
    let database = store.path().with_file_name(import::DATABASE);
    (!store.path().exists() && database.is_file()).then(|| {
        let database = escape::line(&database.display().to_string()).into_owned();
        format!(
            "There are sessions of an earlier version of goose. To import them: `goose session import {database}`"
        )
    })
}

/// Opens an export; `None` for a database or a log of goose 1.x.
fn open_export(path: &Path) -> anyhow::Result<Option<fs::File>> {
    if path.is_dir() || path.extension().is_some_and(|extension| extension == "jsonl") {
        return Ok(None);
    }
    let mut file = open_regular(path)?;
    let mut start = Vec::new();
    (&file).take(SQLITE.len() as u64).read_to_end(&mut start)?;
    if start == SQLITE {
        return Ok(None);
    }
    let limit = import::MAX_SESSION_BYTES;
    ensure!(file.metadata()?.len() <= limit, "it is larger than {limit} bytes");
    file.rewind()?;
    Ok(Some(file))
}
