//! The small model inside goose, through its public doors, on models that the tests write themselves.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, and so do its helpers")]

mod blocks;
mod hostile;
mod model;
mod pieces;
mod provider;
mod reference;
mod saved;
mod shelf;
mod tiny;
mod tokenizer;
mod writer;
