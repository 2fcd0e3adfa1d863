//! The engine through its public interface, on models that the tests write themselves.

#![expect(clippy::disallowed_methods, reason = "tests prepare files and run programs by themselves")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, and so do its helpers")]

mod blocks;
mod hostile;
mod model;
mod pieces;
mod reference;
mod saved;
mod tiny;
mod tokenizer;
mod writer;
