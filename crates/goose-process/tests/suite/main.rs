//! Integration tests with real processes, through the public door.
#![cfg(target_os = "linux")]

mod cycles;
mod owner;
mod owners;
mod stopping;
mod support;
mod tails;
mod waiting;
mod watchers;
