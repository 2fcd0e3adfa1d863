//! Integration tests with real processes, through the public door.

#![expect(clippy::disallowed_methods, reason = "tests prepare files and run programs by themselves")]
#![cfg(target_os = "linux")]

mod cycles;
mod owner;
mod owners;
mod protecting;
mod stopping;
mod support;
mod tails;
mod waiting;
mod watchers;
