//! What is kept of a conversation: an append-only log of [`Step`]s, and the [`Conversation`] that they amount to.

mod conversation;
mod step;

pub use conversation::Conversation;
pub use step::Step;
