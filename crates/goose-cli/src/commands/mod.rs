//! The commands, one module each. `cli` parses and dispatches; nothing here depends on it.

pub(crate) mod agents;
pub(crate) mod apps;
pub(crate) mod completion;
pub(crate) mod configure;
pub(crate) mod conversation_setup;
pub(crate) mod doctor;
pub(crate) mod extension;
pub(crate) mod info;
pub(crate) mod mcp;
#[cfg(feature = "local")]
pub(crate) mod models;
pub(crate) mod permissions;
mod project;
pub(crate) mod route;
pub(crate) mod run;
pub(crate) mod session;

use anyhow::anyhow;
use goose::session::StoreError;

/// Adds the hint to an error of the session store.
fn explained(error: StoreError) -> anyhow::Error {
    match error.hint() {
        Some(hint) => anyhow!("{error}\n{hint}"),
        None => error.into(),
    }
}
