//! External agents, as real processes and real servers, through the public doors of goose.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "tests prepare files and run programs by themselves")]

mod actions;
mod delegation;
mod faults;
mod graphs;
mod permissions;
mod servers;
mod support;
mod tasks;
