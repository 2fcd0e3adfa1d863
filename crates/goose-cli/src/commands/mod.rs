//! The commands, one module each. `cli` parses and dispatches; nothing here depends on it.

pub(crate) mod acp;
pub(crate) mod agents;
pub(crate) mod apps;
pub(crate) mod attachments;
pub(crate) mod completion;
pub(crate) mod configure;
pub(crate) mod conversation_setup;
pub(crate) mod doctor;
pub(crate) mod extension;
pub(crate) mod hooks;
pub(crate) mod info;
pub(crate) mod mcp;
#[cfg(feature = "local")]
pub(crate) mod models;
pub(crate) mod permissions;
mod project;
pub(crate) mod recipe;
pub(crate) mod review;
pub(crate) mod route;
pub(crate) mod run;
pub(crate) mod schedule;
#[cfg(feature = "server")]
pub(crate) mod serve;
pub(crate) mod session;
pub(crate) mod skills;

use std::fmt::Display;

use anyhow::anyhow;
use goose::agent_manager::OpenError;

/// Adds the hint to an error of a session or of the session store.
fn explained(error: impl Into<OpenError>) -> anyhow::Error {
    let error = error.into();
    let hint = error.hint();
    hinted(error, hint)
}

/// Joins an error and its hint.
fn hinted(error: impl Into<anyhow::Error>, hint: Option<impl Display>) -> anyhow::Error {
    let error = error.into();
    match hint {
        Some(hint) => anyhow!("{error}\n{hint}"),
        None => error,
    }
}
