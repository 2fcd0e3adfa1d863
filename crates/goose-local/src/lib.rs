//! A small language model inside goose, for machines with no key and no server.
//!
//! Rooms, from the bottom up:
//!
//! - `gguf`: the file, memory-mapped and distrusted;
//! - `compute`: block formats, kernels for each instruction set, threads;
//! - `model`: the Qwen2, Qwen3 and Llama families: [`Model`], and [`Sequence`], a conversation's cache;
//! - `tokenizer`: text to tokens and back: [`Tokenizer`].

mod compute;
mod error;
mod gguf;
mod model;
mod tokenizer;

pub use compute::Instructions;
pub use error::EngineError;
pub use model::{Model, ModelFacts, ModelOptions, Sequence};
pub use tokenizer::Tokenizer;
