//! Integration tests, through the public door.

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
mod properties;
mod questions;
mod requirements;
mod same_everywhere;
mod seed_mcp;
mod strange_questions;
mod strange_results;
mod strange_tools;
mod tape;
mod tasks;
mod tool_macro;
mod ui;
mod web;
mod whose_questions;
