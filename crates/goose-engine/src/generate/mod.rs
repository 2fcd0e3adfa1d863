//! Generation: chooses tokens one by one, within a grammar, until the answer ends.
//!
//! ```text
//! loaded.rs       a model in memory and its conversation: the entry point
//! chat.rs         turns as tokens, in the model's chat format
//! template.rs     messages and tools as tokens, by the file's template
//! state_cache.rs  computed states on disk
//! grammar.rs      the tokens that a grammar allows next
//! sample.rs       the choice among likely tokens
//! run.rs          the loop: feed, choose, emit, until the end or a repetition
//! ```
//!
//! Nothing here is asynchronous. Callers use a blocking thread.

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
