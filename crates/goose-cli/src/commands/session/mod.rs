//! `goose session`: interactive sessions, and commands on saved ones.
//!
//! - `chat`: the interactive session; `slash`, `commands`: its commands; `recap`: the summary of a resumed session;
//! - `attach`: a session that a server has open;
//! - `edit`: the messages of a resumed session, in an editor;
//! - `shell_command`: `!command`;
//! - `recipes`: `/recipe`, `/skills` and the user's own commands;
//! - `undo`: `/undo`, `/rewind` and `/diff`;
//! - `reopen`: `/new` and `/resume`; `picker`: the choice of a session; `reports`: `/status`, `/context` and others
//!   that show the state; `share`: `/rename`, `/export` and `/copy`; `values`: values for completion;
//! - `list`, `manage`, `remove`, `diagnostics`: saved sessions.

pub(crate) mod args;
#[cfg(feature = "server")]
mod attach;
mod chat;
mod commands;
mod diagnostics;
mod edit;
mod list;
mod manage;
mod picker;
mod recap;
mod recipes;
mod remove;
mod reopen;
mod reports;
mod share;
mod shell_command;
pub(crate) mod slash;
mod undo;
mod values;

use std::process::ExitCode;

use anyhow::anyhow;
use goose::{
    config::Paths,
    session::{SessionStore, SessionSummary},
};

use self::args::{ExportFormat, SessionArgs, SessionCommand, WhichSession};
pub(crate) use self::{
    chat::{Chat, ChatSetup},
    list::session_rows,
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
            SessionCommand::Remove(args) => remove::remove(&paths, &store, &args).await,
            SessionCommand::Rename { session, new_name } => manage::rename(&store, &session, &new_name).await,
            SessionCommand::Fork { which } => manage::fork(&store, &which).await,
            SessionCommand::Export { which, format, output } => {
                let format = format.unwrap_or_else(|| ExportFormat::of(output.as_deref()));
                let session = chosen(&store, &which).await?;
                manage::export(&store, &session.id, format, output.as_deref()).await
            }
            SessionCommand::Import { file } => manage::import(&store, &file).await,
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
