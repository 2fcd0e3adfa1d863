//! Commands on saved sessions: rename, fork, export, import.

use std::{
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
    sync::Arc,
};

use anyhow::{Context as _, bail};
use goose::session::{SessionId, SessionStore, export, import};
use goose_fs::open_private_file;

use super::{
    args::{ExportFormat, WhichSession},
    chosen, explained,
};
use crate::{escape, output::say, stderr, terminal::input::Input};

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
    session: &SessionId,
    format: ExportFormat,
    output: Option<&Path>,
) -> anyhow::Result<ExitCode> {
    let text = match format {
        ExportFormat::Json => export::json(store, session).await.map_err(explained)?,
        ExportFormat::Markdown => export::markdown(store, session).await.map_err(explained)?,
        ExportFormat::Yaml => {
            let json = export::json(store, session).await.map_err(explained)?;
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
    say(&format!("Exported {session} to {}.", path.display()))
}

/// Escapes control characters: content must not move the cursor.
fn escaped(text: &str, format: ExportFormat) -> String {
    match format {
        ExportFormat::Json => escape::json(text),
        ExportFormat::Markdown | ExportFormat::Yaml => escape::prose(text).into_owned(),
    }
}

/// Imports sessions from a file or folder: an export, or sessions of goose 1.x, Claude Code and Codex.
pub(super) async fn import(store: &SessionStore, path: &Path) -> anyhow::Result<ExitCode> {
    path.metadata().with_context(|| format!("{} cannot be read", path.display()))?;
    let imported = import::from_path(store, path).await.map_err(explained)?;
    for not in &imported.failed {
        stderr::line(format_args!("{}: {}", escape::line(&not.what), escape::line(&not.reason)));
    }
    match imported.skipped_lines {
        0 => {}
        1 => stderr::line("1 line cannot be read and was skipped."),
        lines => stderr::line(format_args!("{lines} lines cannot be read and were skipped.")),
    }
    match imported.sessions.as_slice() {
        [] if imported.already_here == 0 => {
            bail!("{} has no session that could be imported.", path.display())
        }
        [id] if imported.already_here == 0 && imported.failed.is_empty() => say(&format!(
            "Imported the session as {id}. Resume it with: goose session --resume --session-id {id}"
        )),
        sessions => say(&format!(
            "Imported {} sessions ({} already present, {} unreadable).",
            sessions.len(),
            imported.already_here,
            imported.failed.len()
        )),
    }
}

/// Names the sessions of goose 1.x beside a store that is still empty, and the command that imports them.
pub(crate) fn importable(store: &SessionStore) -> Option<String> {
    let database = store.path().with_file_name(import::DATABASE);
    (!store.path().exists() && database.is_file()).then(|| {
        let database = escape::path(&database);
        format!(
            "There are sessions of an earlier version of goose. To import them: `goose session import {database}`"
        )
    })
}
