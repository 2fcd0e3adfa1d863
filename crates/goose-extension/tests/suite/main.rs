//! Integration tests, through the public door.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, and so do its helpers"
)]

mod properties;
mod questions;
mod requirements;
mod subscriptions;
mod tool_macro;
mod ui;
