//! Integration tests, through the public door.

#![expect(clippy::disallowed_methods, reason = "tests prepare files and run programs by themselves")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, and so do its helpers")]

mod properties;
mod questions;
mod registry_extension;
mod requirements;
mod subscriptions;
mod tool_macro;
