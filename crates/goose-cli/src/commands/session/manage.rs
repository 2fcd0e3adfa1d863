//! Commands on saved sessions: remove, rename, fork, export, import, diagnostics.

use std::{
    fs,
    io::{self, Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use anyhow::{Context as _, bail, ensure};
use goose::{
    config::{ConfigFile, Paths},
    session::{SessionStore, export, import},
};
use goose_fs::{AtomicFile, create_private_dir, open_private_file, open_regular};

use super::{
    args::{ExportFormat, WhichSession},
    chosen, explained,
};
use crate::{escape, local, output::say, stderr, terminal::input::Input};

/// The first bytes of an SQLite database.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// Removes a session after confirmation.
pub(super) async fn remove(
    paths: &Paths,
    store: &SessionStore,
    which: &WhichSession,
    yes: bool,
) -> anyhow::Result<ExitCode> {
    if which.named().is_none() {
        bail!("No session given. Use its id or its name; `goose session list` shows both.");
    }
    let session = chosen(store, which).await?;
    let called = format!("{} ({}, {} messages)", session.id, escape::line(session.name()), session.messages);
    if !yes && !agreed(&format!("Permanently remove {called}? (y/n) ")).await? {
        return Ok(ExitCode::FAILURE);
    }
    // First, because the session's id is needed to find it.
    local::forget_session(paths, &session.id.to_string())?;
    store.remove(&session.id).await.map_err(explained)?;
    say(&format!("Removed {called}."))
}

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
        ExportFormat::Markdown => escape::prose(text).into_owned(),
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

/// Writes a folder for a bug report. The report names settings without their values, so it has no secrets; the session is
/// complete.
pub(super) async fn write_diagnostics(
    paths: &Paths,
    store: &SessionStore,
    which: &WhichSession,
    output: Option<PathBuf>,
) -> anyhow::Result<ExitCode> {
    let session = chosen(store, which).await?;
    let folder = output.unwrap_or_else(|| PathBuf::from(format!("goose-diagnostics-{}", session.id)));
    create_private_dir(&folder).with_context(|| format!("{} cannot be created", folder.display()))?;
    let session_json = export::json(store, &session.id).await.map_err(explained)?;
    write_file(&folder, "session.json", &session_json)?;
    write_file(&folder, "report.txt", &report(paths))?;
    say(&format!(
        "Wrote report.txt and session.json to {}. It contains the full conversation; review it before sharing.",
        folder.display()
    ))
}

fn write_file(folder: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    let path = folder.join(name);
    AtomicFile::new(&path)
        .write(text.as_bytes())
        .with_context(|| format!("{} cannot be written", path.display()))
}

fn report(paths: &Paths) -> String {
    let mut lines = vec![
        format!("goose {}", env!("CARGO_PKG_VERSION")),
        format!("system: {} {}", std::env::consts::OS, std::env::consts::ARCH),
        format!("config folder: {}", paths.config.display()),
        format!("data folder: {}", paths.data.display()),
    ];
    match ConfigFile::load(&paths.config_file()) {
        Ok(file) => {
            lines.push("extensions:".to_owned());
            lines.extend(file.extensions().iter().map(|entry| {
                let state = if entry.enabled { "on" } else { "off" };
                format!("  {} ({state})", entry.key)
            }));
        }
        Err(error) => lines.push(format!("config.yaml: {error}")),
    }
    lines.join("\n") + "\n"
}
