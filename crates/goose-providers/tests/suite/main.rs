//! The providers, through their public doors.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::allow_attributes,
    reason = "a test fails by panicking, and so do its helpers"
)]

mod asking;
mod bedrock;
mod custom_providers;
mod gemini;
mod loopback;
mod ollama;
mod registry;
mod wires;
