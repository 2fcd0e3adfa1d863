//! The choice of a session to resume, from a menu.

use std::{env, path::Path, sync::Arc};

use anyhow::anyhow;
use goose::session::{ListOptions, SessionId, SessionStore, SessionSummary};

use super::{explained, importable, list::local, none_yet};
use crate::{
    args::ConversationArgs,
    output::counted,
    stderr,
    terminal::{
        input::Input,
        menu::{Menu, MenuChoice, MenuEntry},
    },
};

/// Maximum number of sessions that are offered.
const MAX_OFFERED: u32 = 1_000;

/// Returns true if the arguments leave open which session to resume, and there is a terminal to choose one at.
pub(super) fn is_wanted(args: &ConversationArgs) -> bool {
    let is_named = args.name.is_some() || args.session_id.is_some() || args.path.is_some();
    args.resume && !is_named && stderr::can_ask()
}

/// Lets the user choose a session: those of the folder first, the newest of them selected. A single one needs no
/// choice. Returns `None` if the user cancelled.
///
/// # Errors
///
/// Fails if there is none besides the current one, and if the store cannot be read.
pub(super) async fn pick(
    store: &SessionStore,
    folder: &Path,
    input: &Arc<Input>,
    current: Option<&SessionId>,
) -> anyhow::Result<Option<SessionId>> {
    // Opening the store would create it.
    if !store.path().exists() {
        return Err(importable(store).map_or_else(none_yet, |line| anyhow!(line)));
    }
    let mut sessions = store.list(ListOptions::newest(MAX_OFFERED)).await.map_err(explained)?;
    sessions.retain(|session| Some(&session.id) != current);
    sessions.sort_by_key(|session| session.working_dir != folder);
    let entry = match sessions.len() {
        0 => return Err(current.map_or_else(none_yet, |_| anyhow!("There is no other session to resume."))),
        1 if current.is_none() => Some(0),
        _ => {
            let menu = Menu::new("Resume", sessions.iter().map(entry).collect());
            match input.turn().await.choose(menu).await {
                Some(MenuChoice::Entry(entry)) => Some(entry),
                _ => None,
            }
        }
    };
    Ok(entry.map(|entry| sessions.swap_remove(entry).id))
}

fn entry(session: &SessionSummary) -> MenuEntry {
    let (when, count) = (local(session.updated_at), counted(session.messages, "message"));
    MenuEntry::new(session.name(), &format!("{when} · {count} · {}", short_path(&session.working_dir)))
}

/// Returns a path with `~` for the home folder.
pub(super) fn short_path(path: &Path) -> String {
    let home = env::home_dir().filter(|home| home.parent().is_some());
    match home.and_then(|home| path.strip_prefix(home).map(Path::to_owned).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}
