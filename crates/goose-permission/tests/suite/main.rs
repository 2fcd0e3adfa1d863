//! Tests of permissions through their public interface.

#![expect(clippy::disallowed_methods, reason = "tests write files and run programs directly")]

mod approvals;
mod attacks;
mod bypasses;
mod changes;
mod developers;
mod fetch;
mod file;
mod git;
mod hidden_commands;
mod modes;
mod paths;
mod properties;
mod protected;
mod reader;
mod real_files;
mod shell;
mod support;
