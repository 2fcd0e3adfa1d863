//! `goose session remove`: one session, several, or all that a pattern matches, after showing them.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use fancy_regex::Regex;
use goose::{
    checkpoints::Checkpoints,
    config::Paths,
    session::{ListOptions, SessionStore, SessionSummary},
};

use super::{args::RemoveArgs, explained, manage::agreed};
use crate::{
    escape, local,
    output::{NAME, say},
    stderr,
};

/// Maximum number of sessions that are shown before the question.
const MAX_SHOWN: usize = 30;

/// Removes sessions after confirmation.
pub(super) async fn remove(
    paths: &Paths,
    store: &SessionStore,
    args: &RemoveArgs,
) -> anyhow::Result<ExitCode> {
    let sessions = chosen(store, args).await?;
    let question = match sessions.as_slice() {
        [] => return say("No session matches."),
        [one] => format!("Permanently remove {}? (y/n) ", called(one)),
        several => {
            stderr::line(format_args!("{NAME}Sessions to remove:{NAME:#}"));
            for session in several.iter().take(MAX_SHOWN) {
                stderr::line(format_args!("  {}", called(session)));
            }
            if several.len() > MAX_SHOWN {
                stderr::line(format_args!("  and {} more", several.len() - MAX_SHOWN));
            }
            format!("Permanently remove these {} sessions? (y/n) ", several.len())
        }
    };
    if !args.yes && !agreed(&question).await? {
        return Ok(ExitCode::FAILURE);
    }
    for session in &sessions {
        // First, because the session's id is needed to find it.
        local::forget_session(paths, &session.id.to_string())?;
        store.remove(&session.id).await.map_err(explained)?;
        if let Err(error) = Checkpoints::forget(paths, &session.id) {
            stderr::line(format_args!(
                "The copies of its files could not be removed: {error}. They are removed after 30 days."
            ));
        }
        say(&format!("Removed {}.", called(session)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the sessions that the arguments name, each once.
async fn chosen(store: &SessionStore, args: &RemoveArgs) -> anyhow::Result<Vec<SessionSummary>> {
    let names = args.sessions.iter().chain(&args.name).chain(&args.session_id);
    let mut sessions: Vec<SessionSummary> = Vec::new();
    for name in names {
        sessions.push(store.find(name).await.map_err(explained)?);
    }
    if let Some(pattern) = &args.regex {
        let pattern = Regex::new(pattern).context("the regular expression is not valid (--regex)")?;
        let is_meant = |text: &str| pattern.is_match(text).unwrap_or(false);
        let all = store.list(ListOptions::default()).await.map_err(explained)?;
        sessions.extend(all.into_iter().filter(|it| is_meant(it.id.as_str()) || is_meant(it.name())));
    } else if sessions.is_empty() {
        bail!("No session given. Use its id or its name; `goose session list` shows both.");
    }
    let mut seen = std::collections::HashSet::new();
    sessions.retain(|session| seen.insert(session.id.clone()));
    Ok(sessions)
}

fn called(session: &SessionSummary) -> String {
    format!("{} ({}, {} messages)", session.id, escape::line(session.name()), session.messages)
}
