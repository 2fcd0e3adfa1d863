//! The loop: model, tools, model, until done.
//!
//! ```text
//! Exchange ── reply() / reply_to(message) ──▶ Reply: a stream of Events
//!                                               └─ a task: begin ─► prepare ─► ask ─► record ─► check ─► tools ─► decide
//! ```
//!
//! - `core`: what an exchange is made of; `handle`: what a UX holds; `models`: which models are asked; `reply`: the handle of a reply and its task;
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
mod bounded;
mod check;
mod core;
mod decide;
mod event;
mod event_hub;
mod fullness;
mod handle;
mod model;
mod models;
mod prepare;
mod questions;
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

pub use crate::agent_manager::build_exchange;
pub(crate) use core::{History, Limits, Parts};
pub use event::{
    Answer, Approval, ConsentRequest, Cost, Decision, ElicitationRequest, Event, Failure, Outcome, ToolEnd,
};
pub use event_hub::{EventReader, EventRecord};
pub use handle::Exchange;
pub(crate) use models::{ModelSource, prepare};
pub use reply::Reply;
pub(crate) use structured::FinalOutput;
