//! goose's built-in services. Each is an [`Extension`](goose_extension::Extension), and each also runs as an MCP
//! server (`examples/mcp.rs`).
//!
//! - [`Developer`]: files, commands and a plan, for work on code
//! - [`ComputerController`]: web pages, scripts, the screen, spreadsheets, texts and PDF files
//! - [`Memory`]: facts and preferences across conversations, in text files
//! - [`Tutorial`]: tutorials that the model guides a person through
//!
//! Files and programs are reached through a [`Backend`](goose_extension::Backend); [`LocalBackend`] is this machine.
//! Nothing here reads the environment: a program computes where things are ([`paths`]), puts it into
//! [`BuiltinOptions`], and asks [`builtin()`] for a service by name.

#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    expect(clippy::disallowed_methods, reason = "tests prepare files and run programs by themselves")
)]

mod builtin;
mod computercontroller;
mod developer;
mod local_backend;
mod memory;
pub mod paths;
mod tutorial;

pub use builtin::{BUILTINS, builtin};
pub use computercontroller::ComputerController;
pub use developer::Developer;
pub use goose_extension::{Builtin, BuiltinOptions};
pub use local_backend::LocalBackend;
pub use memory::Memory;
pub use tutorial::Tutorial;
