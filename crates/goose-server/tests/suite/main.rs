//! The server over real connections, with a scripted model.

mod a2a;
mod access;
mod api;
mod document;
mod editors;
mod ending;
mod mcp;
mod runs;
mod support;
