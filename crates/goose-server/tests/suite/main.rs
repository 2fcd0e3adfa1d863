//! The server over real connections, with a scripted model.

#![expect(clippy::disallowed_methods, reason = "tests prepare files by themselves")]

mod a2a;
mod access;
mod api;
mod document;
mod ending;
mod mcp;
mod runs;
mod support;
