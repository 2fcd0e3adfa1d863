//! Integration tests, through the public door.

#![expect(clippy::disallowed_methods, reason = "tests prepare files and run programs by themselves")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking, and so do its helpers"
)]

mod asking;
mod bedrock;
mod custom_providers;
mod factory;
mod gemini;
mod live_models;
mod loopback;
mod ollama;
mod registry;
mod wires;
