//! The loop: model, tools, model, until done.
//!
//! ```text
//! Exchange ── reply() / reply_to(message) ──▶ Reply: a stream of Events
//!                                               └─ a task: begin ─► prepare ─► ask ─► record ─► check ─► tools ─► decide
//! ```
//!
//! - `builder`, `assemble`, `models`, `own`: from a profile to an exchange; `core`: what it is made of; `reply`: the handle of a reply and its task;
//! - `work`: one reply, step by step; `prepare`, `ask`, `record`, `check`, `tools`, `approve`, `decide`: the steps;
//! - `room`, `fullness`: how the conversation is kept within the model's limit;
//! - `answer`, `shown`, `repetition`, `bounded`, `structured`, `spent`: what the steps use;
//! - `side`, `model`: what tools have around them;
//! - [`Event`]: all that a UX sees.
//!
//! What happened is stored before it is told, and a reply that ends anywhere leaves a valid history.

mod answer;
mod approve;
mod ask;
mod assemble;
mod bounded;
mod builder;
mod check;
mod core;
mod decide;
mod event;
mod event_hub;
mod fullness;
mod handle;
mod model;
mod models;
mod own;
mod prepare;
mod record;
mod repetition;
mod reply;
mod room;
mod shown;
mod side;
mod spent;
mod structured;
mod tools;
mod work;

pub use builder::{BuildError, ExchangeBuilder, Kept, build_exchange};
pub use event::{Answer, Approval, Cost, Decision, Event, Failure, Outcome, ToolEnd};
pub use event_hub::{EventReader, EventRecord};
pub use handle::Exchange;
pub use reply::Reply;
