//! A small language model inside goose, for machines with no key and no server.

mod error;
mod generate;
pub mod model;
pub mod provider;
pub mod shelf;
pub mod tokenizer;

pub use error::EngineError;
