//! The context that a model sees, and how it is kept within the model's limit.
//!
//! - [`prompt`]: the system prompt; [`hints`]: files with the user's instructions for goose;
//! - [`Meter`]: measures how full the context is, by the service's count plus an [estimate](tokens) of what came since;
//!   [`Budget`]: says how full it may get;
//! - [`moderate`]: makes room, as a [`Moderator`](crate::config::Moderator) says. The originals stay in the session's log.

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
