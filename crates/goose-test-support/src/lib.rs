//! What goose's tests share. A dev-dependency only.
//!
//! - [`Workbench`]: an extension with one tool for everything that can happen in a call, also as the program
//!   `workbench` on stdio;
//! - [`misbehave`]: a server with a flag for everything that a server can do wrong, as the program `misbehave` on stdio or
//!   HTTP;
//! - [`binary`] and [`example`]: the programs of this crate and the examples of others, built when a test asks for them;
//! - [`Witness`]: a caller and notifier that remembers what it was told, and answers what it is asked.

mod binaries;
pub mod misbehave;
mod witness;
mod workbench;

pub use binaries::{binary, example};
pub use witness::Witness;
pub use workbench::Workbench;
