//! `goose session remove`, `rename` and `fork`.

use std::{process::ExitCode, sync::Arc};

use anyhow::bail;
use goose::{config::Paths, session::SessionStore};

use super::{args::WhichSession, chosen, explained};
use crate::{
    aside, local,
    output::Output,
    terminal::input::{Input, Typed},
    visible,
};

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
    let called = format!("{} ({}, {} messages)", session.id, visible::line(session.name()), session.messages);
    if !yes && !agreed(&format!("Permanently remove {called}? (y/n) ")).await? {
        return Ok(ExitCode::FAILURE);
    }
    // First what can only be found by the session.
    local::forget_session(paths, &session.id.to_string())?;
    store.remove(&session.id).await.map_err(explained)?;
    say(&format!("Removed {called}."))
}

async fn agreed(question: &str) -> anyhow::Result<bool> {
    if !aside::can_ask() {
        bail!("No terminal available to confirm the removal. Use --yes to remove it without confirmation.");
    }
    let typed = Arc::new(Input::new(None)).turn().await.answer(question).await;
    Ok(matches!(typed, Typed::Text(text) if matches!(text.trim(), "y" | "yes")))
}

/// Renames a session.
pub(super) async fn rename(store: &SessionStore, session: &str, name: &str) -> anyhow::Result<ExitCode> {
    let session = store.find(session).await.map_err(explained)?;
    store.rename(&session.id, name).await.map_err(explained)?;
    say(&format!("Renamed {} to '{}'.", session.id, visible::line(name)))
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

pub(super) fn say(line: &str) -> anyhow::Result<ExitCode> {
    let mut out = Output::new();
    out.line(line)?;
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}
