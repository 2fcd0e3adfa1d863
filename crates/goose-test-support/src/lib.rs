//! What goose's tests share. A dev-dependency only.
//!
//! - [`Workbench`]: an extension with one tool for everything that can happen in a call, also as the program
//!   `workbench` on stdio;
//! - [`binary`] and [`example`]: the programs of this crate and the examples of others, built when a test asks for them;
//! - [`Witness`]: a caller and notifier that remembers what it was told, and answers what it is asked.

mod binaries;
mod witness;
mod workbench;

pub use binaries::{binary, example};
pub use witness::Witness;
pub use workbench::Workbench;
