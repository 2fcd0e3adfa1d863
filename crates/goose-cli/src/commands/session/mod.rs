//! `goose session`: interactive sessions, and commands on saved ones.
//!
//! - `chat`: the interactive session; `slash`, `commands`: its commands; `recap`: the summary of a resumed session;
//! - `list`, `manage`: saved sessions.

pub(crate) mod args;
mod chat;
mod commands;
mod list;
mod manage;
mod recap;
pub(crate) mod slash;

use std::process::ExitCode;

use anyhow::anyhow;
use goose::{
    config::Paths,
    session::{SessionStore, SessionSummary},
};

use self::args::{SessionArgs, SessionCommand, WhichSession};
pub(crate) use self::{
    chat::Chat,
    manage::{agreed, importable},
};
use crate::{commands::explained, runtime::new_runtime};

/// Starts or resumes a session, or runs a command on saved ones.
pub(crate) fn run(args: SessionArgs) -> anyhow::Result<ExitCode> {
    let Some(command) = args.command else { return chat::run(args.chat) };
    let paths = Paths::from_env()?;
    let store = SessionStore::at(SessionStore::file(&paths));
    new_runtime()?.block_on(async {
        match command {
            SessionCommand::List(args) => list::list(&store, args).await,
            SessionCommand::Search { text, limit, form } => list::search(&store, &text, limit, &form).await,
            SessionCommand::Remove { which, yes } => manage::remove(&paths, &store, &which, yes).await,
            SessionCommand::Rename { session, new_name } => manage::rename(&store, &session, &new_name).await,
            SessionCommand::Fork { which } => manage::fork(&store, &which).await,
            SessionCommand::Export { which, format, output } => {
                manage::export(&store, &which, format, output.as_deref()).await
            }
            SessionCommand::Import { file } => manage::import(&store, &file).await,
            SessionCommand::Diagnostics { which, output } => {
                manage::write_diagnostics(&paths, &store, &which, output).await
            }
        }
    })
}

/// Returns the named session, or the last one.
async fn chosen(store: &SessionStore, which: &WhichSession) -> anyhow::Result<SessionSummary> {
    match which.named() {
        Some(name) => store.find(name).await.map_err(explained),
        None => store.latest(None).await.map_err(explained)?.ok_or_else(none_yet),
    }
}

fn none_yet() -> anyhow::Error {
    anyhow!("No sessions yet. Run `goose session` to start one.")
}
