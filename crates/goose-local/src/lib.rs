//! A small language model inside goose, for machines with no key and no server.

mod error;
mod generate;
mod model;
pub mod provider;
pub mod shelf;
mod tokenizer;

pub use error::EngineError;
pub use model::{Model, ModelFacts, ModelOptions, Sequence};
pub use tokenizer::Tokenizer;
