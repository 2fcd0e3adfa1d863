//! A small language model inside goose, for machines with no key and no server.
//!
//! Rooms, from the bottom up:
//!
//! - `gguf`: the file, memory-mapped and distrusted;
//! - `compute`: block formats, kernels for each instruction set, threads;
//! - `model`: the Qwen2, Qwen3 and Llama families: [`Model`], and [`Sequence`], a conversation's cache;
//! - `tokenizer`: text to tokens and back: [`Tokenizer`];
//! - `generate`: choosing tokens, within a grammar, with an end;
//! - [`shelf`]: the models' files on disk, and how they come there;
//! - [`provider`]: the model as everybody else sees it, played to its size.

mod compute;
mod error;
mod generate;
mod gguf;
mod model;
pub mod provider;
pub mod shelf;
mod tokenizer;

pub use compute::Instructions;
pub use error::EngineError;
pub use model::{Model, ModelFacts, ModelOptions, Sequence};
pub use tokenizer::Tokenizer;
