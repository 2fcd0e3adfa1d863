//! The `goose` command, run as people run it: a real program, in a home of its own.

mod call;
mod choosing;
mod configure;
mod doctor;
mod endings;
mod guided;
mod help;
mod info;
mod list;
mod mcp;
#[cfg(feature = "local")]
mod models;
mod questions;
mod recorded;
mod run;
mod sessions;
mod status;
mod support;
mod talk;
mod tools;
