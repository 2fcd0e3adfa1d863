//! From what a model computes to text: choosing tokens, within a grammar, with an end.
//!
//! ```text
//! loaded.rs       a model in memory and its conversation: the entrance
//! chat.rs         turns as tokens, in the model's chat format
//! state_cache.rs  computed states on disk
//! vocabulary.rs   the tokens as the grammar's library wants them, built once per model
//! grammar.rs      what may be written next
//! sample.rs       which of the likely tokens it is
//! repetition.rs   notices a text that repeats itself
//! run.rs          the loop: feed, choose, hand out, until the end
//! error.rs        why no text came
//! ```
//!
//! Nothing here is asynchronous; callers have a thread to spare.

mod chat;
mod error;
mod grammar;
mod loaded;
mod repetition;
mod run;
mod sample;
mod state_cache;
mod vocabulary;

pub use chat::{Speaker, Turn};
pub use error::GenerateError;
pub use loaded::{LoadOptions, LoadedModel, WriteOptions};
pub use run::{Ended, Generated};
pub use sample::Sampling;
pub use state_cache::{common_prefix, forget};
