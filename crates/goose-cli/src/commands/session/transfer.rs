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

/// What databases of SQLite begin with.
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
    fs::write(path, text + "\n").with_context(|| format!("{} cannot be written", path.display()))?;
    say(&format!("{} is written to {}.", session.id, path.display()))
}

/// Nothing that was said moves a cursor when it is shown.
fn shown(text: &str, format: ExportFormat) -> String {
    match format {
        ExportFormat::Json => visible::json(text),
        ExportFormat::Markdown => visible::prose(text).into_owned(),
    }
}

/// Adds sessions from a file: an export of goose's, or what another goose has kept.
pub(super) async fn import(store: &SessionStore, file: &Path) -> anyhow::Result<ExitCode> {
    if is_foreign(file)? {
        let imported = import::legacy(store, file).await.map_err(explained)?;
        for not in &imported.failed {
            aside::line(format_args!("{}: {}", visible::line(&not.what), visible::line(&not.reason)));
        }
        return say(&format!(
            "{} sessions are added, {} were here already, {} cannot be read.",
            imported.sessions.len(),
            imported.already_here,
            imported.failed.len()
        ));
    }
    let text = read(file)?;
    let id = import::json(store, &text).await.map_err(explained)?;
    say(&format!("The session is added as {id}. Go on with: goose session --resume --session-id {id}"))
}

/// Whether it is no export but a database or a log of another goose.
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
