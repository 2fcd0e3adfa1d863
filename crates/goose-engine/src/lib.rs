//! Engine of goose's local models: runs a GGUF file on the CPU. It depends on no other goose crate.
//!
//! From the bottom up:
//!
//! - `gguf`: the model file, memory-mapped and untrusted;
//! - `compute`: block formats, kernels for each instruction set, threads;
//! - `model`: the Qwen2, Qwen3 and Llama families ([`Model`]), and the cache of one conversation
//!   ([`Sequence`]);
//! - `tokenizer`: text to tokens and back ([`Tokenizer`]);
//! - `generate`: a model with its conversation, which writes answers within a grammar ([`LoadedModel`]).

#![expect(unsafe_code, reason = "vector instructions, threads that share slices, a memory-mapped file")]
#![cfg_attr(
    test,
    expect(clippy::disallowed_methods, reason = "tests prepare files and run programs by themselves")
)]

mod compute;
mod error;
mod generate;
mod gguf;
mod model;
mod private_file;
mod tokenizer;

pub use compute::Instructions;
pub use error::EngineError;
pub use generate::{
    EndReason, GenerateError, Generation, Listener, LoadOptions, LoadedModel, Prompt, Sampling, Speaker,
    Text, Turn, forget,
};
pub use model::{Model, ModelFacts, ModelOptions, Sequence};
pub use tokenizer::Tokenizer;
