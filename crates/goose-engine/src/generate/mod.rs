//! From what a model computes to text: choosing tokens, within a grammar, with an end.
//!
//! ```text
//! loaded.rs       a model in memory and its conversation: the entrance
//! chat.rs         turns as tokens, in the model's chat format
//! template.rs     messages and tools as tokens, by the file's own template
//! state_cache.rs  computed states on disk
//! grammar.rs      what may be written next
//! sample.rs       which of the likely tokens it is
//! run.rs          the loop: feed, choose, hand out, until the end or a repetition
//! ```
//!
//! Nothing here is asynchronous; callers have a thread to spare.

mod chat;
mod grammar;
mod loaded;
mod run;
mod sample;
mod state_cache;
mod template;

pub use chat::{Speaker, Turn};
pub use grammar::GenerateError;
pub use loaded::{Listener, LoadOptions, LoadedModel, Prompt, Text};
pub use run::{EndReason, Generation};
pub use sample::Sampling;
pub use state_cache::forget;
