//! `goose session export` and `import`.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    path::Path,
    process::ExitCode,
};

use anyhow::{Context as _, ensure};
use goose::session::{SessionStore, export, import};

use super::{
    args::{ExportFormat, WhichSession},
    chosen, explained,
    manage::say,
};
use crate::{aside, visible};

/// The largest export that is read.
const MAX_IMPORT_BYTES: u64 = 512 * 1024 * 1024;

/// The first bytes of an SQLite database.
const SQLITE: &[u8] = b"SQLite format 3\0";

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
        writeln!(out, "{}", shown(&text, format))?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "the user names the target, which may be a pipe or a device"
    )]
    let written = fs::write(path, text + "\n");
    written.with_context(|| format!("{} cannot be written", path.display()))?;
    say(&format!("Exported {} to {}.", session.id, path.display()))
}

/// Escapes control characters: content must not move the cursor.
fn shown(text: &str, format: ExportFormat) -> String {
    match format {
        ExportFormat::Json => visible::json(text),
        ExportFormat::Markdown => visible::prose(text).into_owned(),
    }
}

/// Imports sessions from a file: an export, or the sessions of goose 1.x.
pub(super) async fn import(store: &SessionStore, file: &Path) -> anyhow::Result<ExitCode> {
    if is_foreign(file)? {
        let imported = import::legacy(store, file).await.map_err(explained)?;
        for not in &imported.failed {
            aside::line(format_args!("{}: {}", visible::line(&not.what), visible::line(&not.reason)));
        }
        return say(&format!(
            "Imported {} sessions ({} already present, {} unreadable).",
            imported.sessions.len(),
            imported.already_here,
            imported.failed.len()
        ));
    }
    let text = read(file)?;
    let id = import::json(store, &text).await.map_err(explained)?;
    say(&format!("Imported the session as {id}. Resume it with: goose session --resume --session-id {id}"))
}

/// Returns true for a database or a log of goose 1.x, false for an export.
fn is_foreign(file: &Path) -> anyhow::Result<bool> {
    if file.is_dir() || file.extension().is_some_and(|extension| extension == "jsonl") {
        return Ok(true);
    }
    let mut begin = Vec::new();
    let opened = fs::File::open(file).with_context(|| format!("{} cannot be read", file.display()))?;
    opened.take(SQLITE.len() as u64).read_to_end(&mut begin)?;
    Ok(begin == SQLITE)
}

fn read(file: &Path) -> anyhow::Result<String> {
    let size = fs::metadata(file)?.len();
    ensure!(size <= MAX_IMPORT_BYTES, "{} is larger than {MAX_IMPORT_BYTES} bytes.", file.display());
    fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))
}
