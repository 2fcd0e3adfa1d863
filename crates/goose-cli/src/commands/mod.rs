//! The commands, one module each. `cli` parses and dispatches; nothing here depends on it.

pub(crate) mod assemble;
pub(crate) mod completion;
pub(crate) mod configure;
pub(crate) mod doctor;
pub(crate) mod extension;
pub(crate) mod info;
pub(crate) mod mcp;
#[cfg(feature = "local")]
pub(crate) mod models;
mod project;
pub(crate) mod run;
pub(crate) mod session;
