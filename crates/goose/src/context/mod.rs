//! What the model sees besides the person's words, and how all of it is kept within the model's limit.
//!
//! - [`prompt`]: the system prompt; [`hints`]: the files in which people write what goose should know;
//! - [`Meter`]: how full the context is, by the service's own count with an [estimate](tokens) since; [`Budget`]: how full
//!   it may get;
//! - [`moderate`]: making room, as a [`Moderator`] says. The originals stay in the session's log.

mod budget;
pub mod hints;
pub(crate) mod listing;
mod meter;
pub mod moderate;
pub mod prompt;
pub mod tokens;

pub use budget::Budget;
pub use meter::Meter;
pub use moderate::{Moderator, NoRoom, Room};
