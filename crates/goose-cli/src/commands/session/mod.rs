//! `goose session`: conversations, and what is kept of them.
//!
//! - `chat`: the conversation itself; `slash`, `commands`: what can be said in it besides messages; `recap`: what a
//!   resumed one shows of before;
//! - `list`, `manage`, `transfer`, `diagnostics`: conversations that are kept.

pub(crate) mod args;
mod chat;
mod commands;
mod diagnostics;
mod list;
mod manage;
mod recap;
pub(crate) mod slash;
mod transfer;

use std::process::ExitCode;

use anyhow::anyhow;
use goose::{
    config::Paths,
    session::{SessionStore, SessionSummary, StoreError},
};

use self::args::{SessionArgs, SessionCommand, WhichSession};
pub(crate) use self::{chat::Chat, recap::LoggedEntries};
use crate::supervise::runtime;

/// Begins or resumes a conversation, or does something about those that are kept.
pub(crate) fn run(args: SessionArgs) -> anyhow::Result<ExitCode> {
    let Some(command) = args.command else { return chat::run(args.chat) };
    let paths = Paths::from_env()?;
    let store = SessionStore::at(SessionStore::file(&paths));
    runtime()?.block_on(async {
        match command {
            SessionCommand::List(args) => list::list(&store, args).await,
            SessionCommand::Search { text, limit, form } => list::search(&store, &text, limit, &form).await,
            SessionCommand::Remove { which, yes } => manage::remove(&paths, &store, &which, yes).await,
            SessionCommand::Rename { session, new_name } => manage::rename(&store, &session, &new_name).await,
            SessionCommand::Fork { which } => manage::fork(&store, &which).await,
            SessionCommand::Export { which, format, output } => {
                transfer::export(&store, &which, format, output.as_deref()).await
            }
            SessionCommand::Import { file } => transfer::import(&store, &file).await,
            SessionCommand::Diagnostics { which, output } => {
                diagnostics::write(&paths, &store, &which, output).await
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

/// Adds the hint to an error of the store.
pub(crate) fn explained(error: StoreError) -> anyhow::Error {
    match error.hint() {
        Some(hint) => anyhow!("{error}\n{hint}"),
        None => error.into(),
    }
}
