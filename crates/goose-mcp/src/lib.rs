//! goose's built-in services. Each is an [`Extension`](goose_extension::Extension), and each also runs as an MCP
//! server (`examples/mcp.rs`).
//!
//! - [`Developer`]: files, commands and a plan, for work on code
//! - [`Memory`]: facts and preferences across conversations, in text files
//! - [`Tutorial`]: tutorials that the model guides a person through
//!
//! Nothing here reads the environment: a program computes where things are ([`paths`]), puts it into
//! [`Settings`], and asks [`builtin()`] for a service by name.

#![forbid(unsafe_code)]

mod builtin;
mod developer;
mod memory;
pub mod paths;
mod tutorial;

pub use builtin::{BUILTINS, Builtin, Settings, builtin};
pub use developer::Developer;
pub use memory::Memory;
pub use tutorial::Tutorial;
