//! `goose session diagnostics`: a folder with information for a bug report. It has the names of settings but not their
//! values, so no secrets; the conversation is written in full.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use goose::{
    config::{ConfigFile, Paths},
    session::{SessionStore, export},
};
use goose_fs::AtomicFile;

use super::{args::WhichSession, chosen, explained, manage::say};

/// Writes the folder.
pub(super) async fn write(
    paths: &Paths,
    store: &SessionStore,
    which: &WhichSession,
    output: Option<PathBuf>,
) -> anyhow::Result<ExitCode> {
    let session = chosen(store, which).await?;
    let folder = output.unwrap_or_else(|| PathBuf::from(format!("goose-diagnostics-{}", session.id)));
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be created", folder.display()))?;
    let session_json = export::json(store, &session.id).await.map_err(explained)?;
    put(&folder, "session.json", &session_json)?;
    put(&folder, "report.txt", &report(paths))?;
    say(&format!(
        "Wrote report.txt and session.json to {}. It contains the full conversation; review it before sharing.",
        folder.display()
    ))
}

fn put(folder: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    let path = folder.join(name);
    AtomicFile::new(&path)
        .shared()
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
