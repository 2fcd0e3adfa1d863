//! The `goose` command, run as people run it: a real program, in a home of its own.

#![expect(clippy::disallowed_methods, reason = "tests prepare files and run programs by themselves")]

mod acp;
mod agents;
#[cfg(feature = "server")]
mod attach;
mod attachments;
mod autovisualiser;
mod call;
mod choosing;
mod commands;
mod configure;
mod daily_jobs;
mod decisions;
mod display;
#[cfg(all(feature = "code-execution", feature = "local", feature = "server"))]
mod docs;
mod doctor;
mod endings;
mod extensions;
mod faults;
mod guided;
mod help;
#[cfg(feature = "local")]
mod help_texts;
mod hooks;
mod info;
#[cfg(feature = "local")]
mod inside;
mod interrupting;
mod kept;
mod kills;
mod list;
mod logins;
mod logs;
mod long_messages;
mod majors;
mod mcp;
mod mcp_agents;
#[cfg(feature = "local")]
mod models;
mod permissions;
mod private_files;
mod project;
mod questions;
mod recipes;
mod recorded;
mod redacted;
mod review;
mod run;
mod schedule;
mod schedule_runs;
mod screens;
mod scripts;
mod secrets;
#[cfg(feature = "server")]
mod serve;
mod session_commands;
mod sessions;
mod shell_command;
mod shown_lines;
mod special_files;
mod status;
mod support;
mod talk;
mod tasks;
mod tools;
mod undo;
