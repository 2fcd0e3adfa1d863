//! `goose session diagnostics`: a folder for a bug report, without secrets.
//!
//! Values that look like secrets are left out of every file; the rest of the conversation is complete.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use goose::{
    config::{ConfigError, Paths, Settings},
    session::{SessionStore, export},
};
use goose_extension::{HIDDEN, looks_secret, shown_text};
use goose_fs::{AtomicFile, create_private_dir};
use serde_json::Value;

use super::{args::WhichSession, chosen, explained};
use crate::{
    log_file,
    output::say,
    settings::{self, ConfigArgs},
};

/// Maximum size of the logs in a report: the newest lines.
const MAX_LOG_BYTES: u64 = 1024 * 1024;

/// Writes the folder, and says what is in it.
pub(super) async fn write(
    paths: &Paths,
    store: &SessionStore,
    which: &WhichSession,
    output: Option<PathBuf>,
) -> anyhow::Result<ExitCode> {
    let session = chosen(store, which).await?;
    let folder = output.unwrap_or_else(|| PathBuf::from(format!("goose-diagnostics-{}", session.id)));
    create_private_dir(&folder).with_context(|| format!("{} cannot be created", folder.display()))?;
    let json = export::json(store, &session.id).await.map_err(explained)?;
    let mut document: Value = serde_json::from_str(&json)?;
    redact(&mut document);
    write_file(&folder, "session.json", &serde_json::to_string_pretty(&document)?)?;
    let settings = settings::look(paths, &ConfigArgs::default()).settings;
    write_file(&folder, "report.txt", &report(paths, &settings))?;
    let logs = newest_logs(paths);
    write_file(&folder, "log.txt", &logs)?;
    say(&format!(
        "Wrote to {}:\n  \
         report.txt    versions, the system, the settings without secrets, extensions\n  \
         log.txt       the newest log lines ({} lines)\n  \
         session.json  the full conversation of {}\n\
         What looks like a secret is left out. Review the files before you share them.",
        folder.display(),
        logs.lines().count(),
        session.id
    ))
}

fn write_file(folder: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    let path = folder.join(name);
    AtomicFile::new(&path)
        .write(text.as_bytes())
        .with_context(|| format!("{} cannot be written", path.display()))
}

/// Removes what looks like a secret from all texts of a document.
fn redact(value: &mut Value) {
    match value {
        Value::String(text) => *text = shown_text(text),
        Value::Array(items) => items.iter_mut().for_each(redact),
        Value::Object(fields) => fields.iter_mut().for_each(|(name, value)| match value {
            Value::String(text) if looks_secret(name) => HIDDEN.clone_into(text),
            value => redact(value),
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn report(paths: &Paths, settings: &Result<Settings, ConfigError>) -> String {
    let mut text = format!(
        "goose {}\nsystem: {} {}\nconfig folder: {}\ndata folder: {}\nstate folder: {}\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
        paths.config.display(),
        paths.data.display(),
        paths.state.display(),
    );
    let settings = match settings {
        Ok(settings) => settings,
        Err(error) => {
            // Writing into a string cannot fail.
            let _ = writeln!(text, "configuration: {error}");
            return text;
        }
    };
    let keys: BTreeSet<&str> = settings.keys();
    let _ = writeln!(text, "settings:");
    for key in keys {
        let value = settings.shown(key).unwrap_or_else(|| "(several values)".to_owned());
        let _ = writeln!(text, "  {key}: {}", shown_text(&value));
    }
    let _ = writeln!(text, "extensions:");
    for entry in settings.extensions() {
        let state = if entry.enabled { "on" } else { "off" };
        let _ = writeln!(text, "  {} ({state})", entry.key);
    }
    text
}

/// Returns the newest lines of the log files, oldest first.
fn newest_logs(paths: &Paths) -> String {
    let mut left = MAX_LOG_BYTES;
    let mut parts = Vec::new();
    for path in log_file::files(paths) {
        let Ok(text) = end_of(&path, left) else { continue };
        left = left.saturating_sub(text.len() as u64);
        parts.push(text);
        if left == 0 {
            break;
        }
    }
    parts.reverse();
    shown_text(&parts.concat())
}

/// Returns the last whole lines of a file.
fn end_of(path: &Path, limit: u64) -> io::Result<String> {
    let mut file = fs::File::open(path)?;
    let length = file.metadata()?.len();
    let start = length.saturating_sub(limit);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let whole = match (start, text.split_once('\n')) {
        (1.., Some((_, whole))) => whole,
        _ => &text,
    };
    Ok(whole.to_owned())
}
