//! Integration tests, through the public door.

#![expect(clippy::disallowed_methods, reason = "tests prepare files and run programs by themselves")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, and so do its helpers"
)]

mod bad_lines;
mod bad_servers;
mod doors;
mod http_door;
mod http_faults;
mod oauth;
mod oauth_sharing;
mod oauth_trust;
mod office;
mod programs;
mod same_everywhere;
mod seed_mcp;
mod serving;
mod strange_questions;
mod strange_results;
mod strange_tools;
mod tape;
mod tasks;
mod web;
mod whose_questions;
