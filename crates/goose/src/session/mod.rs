//! What is kept of a conversation: an append-only log of [`Step`]s.

mod step;

pub use step::Step;
