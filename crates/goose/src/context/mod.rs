//! The context that a model sees, and how it is kept within the model's limit.
//!
//! - [`prompt`]: the system prompt; [`hints`]: files with the user's instructions for goose;
//! - `listing`: the names of the files, for small models; `handover`: the first message of a delegate;
//! - [`Meter`]: measures how full the context is, by the service's count plus an [estimate](tokens);
//!   [`Budget`]: the limits for it;
//! - [`moderate`]: compacts the conversation by the configured [`Moderator`](crate::config::Moderator). The
//!   originals stay in the session's log.

pub(crate) mod handover;
pub mod hints;
pub(crate) mod listing;
mod meter;
pub mod moderate;
pub mod prompt;
pub mod tokens;

pub(crate) use handover::Handover;
pub use meter::{Budget, Meter};
pub(crate) use moderate::current_plan;
pub use moderate::{NoRoom, Room};
