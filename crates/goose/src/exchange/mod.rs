//! The loop: model, tools, model, until done.

mod event;

pub use event::{Approval, Cost, Decision, Event, Failure, Outcome, ToolEnd};
