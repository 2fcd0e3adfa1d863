//! Integration tests, through the public door.

#![expect(clippy::disallowed_methods, reason = "tests prepare files and run programs by themselves")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, and so do its helpers"
)]

mod faulty_servers;
mod http_access;
mod http_faults;
mod malformed_lines;
mod malformed_questions;
mod malformed_results;
mod malformed_tools;
mod oauth;
mod oauth_server;
mod oauth_sharing;
mod oauth_trust;
mod programs;
mod question_owners;
mod recording;
mod seed_mcp;
mod serving;
mod tasks;
mod transport_parity;
mod transports;
mod web;
