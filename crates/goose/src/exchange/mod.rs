//! The loop: model, tools, model, until done.
//!
//! ```text
//! Exchange ── reply() / reply_to(message) ──▶ ReplyTask: begin ─► prepare ─► ask ─► record ─► check ─► tools ─► decide
//!     ▲                                           │ emit
//!     └── answer(id), cancel() ◀── user interfaces ◀── EventHub: numbered Events, for any number of readers
//! ```
//!
//! - `core`: the parts of an exchange, which an agent manager puts together; `handle`: an exchange as programs hold it;
//!   `models`: its models, which can be changed while the conversation continues;
//! - `reply`: the handle of a reply; `reply_task`: the reply, step by step, with `prepare`, `ask_model` and `tools`;
//!   `compaction`: keeping the conversation within the model's limit;
//! - `call_path`: the one way to a tool, for the loop and for tools that call tools;
//! - `routing`: which agent answers a request; `hand_back`: routing it again; `recalling`: what earlier sessions have about it;
//! - `guest`: replies by another agent, for one message or a plan; `judge`: verdicts on results;
//! - `handover`: the message that a delegate begins with, made to fit; `relay`: its events and questions, in the session that
//!   started it;
//! - `task_graph`: a request that is split, and its tasks; `task_writes`: the files that they change;
//! - `extension_prompts`: prompts that change while a session is open;
//! - `event`, `event_hub`: all that a user interface sees; `outbox`: its order after the steps; `facts`: what is known of a reply; `questions`: what extensions ask and show;
//! - `stream_dedup`, `repetition`, `sanitize_output`, `final_output`, `usage_ledger`: what the steps use.
//!
//! Each change is stored before it is reported, and a reply that ends at any point leaves a valid history.

mod ask_model;
mod call_path;
mod compaction;
mod core;
mod event;
mod event_hub;
mod extension_prompts;
mod external_reply;
mod facts;
mod final_output;
mod guest;
mod hand_back;
mod handle;
mod handover;
mod judge;
mod models;
mod outbox;
mod prepare;
mod questions;
mod recalling;
mod relay;
mod repetition;
mod reply;
mod reply_task;
mod routing;
mod sanitize_output;
mod stream_dedup;
mod task_graph;
mod task_writes;
mod tools;
mod usage_ledger;

pub use crate::{agent_manager::build_exchange, session::Facts};
pub(crate) use core::{History, Limits, Parts, SessionTasks};
pub use event::{
    Answer, Approval, ConsentRequest, Cost, Decision, ElicitationRequest, Event, Failure, Outcome,
    PlanDecision, TaskPlan, ToolEnd,
};
pub(crate) use event_hub::EventHub;
pub use event_hub::{EventReader, EventRecord};
pub(crate) use final_output::FinalOutput;
pub use handle::Exchange;
pub(crate) use handover::Handover;
pub use judge::Judgement;
pub(crate) use models::{ActiveModels, ModelSource, prepare};
pub(crate) use questions::SessionNotifier;
pub(crate) use recalling::{Recall, RecallScope};
pub(crate) use relay::{Shown, relay};
pub use reply::Reply;
pub(crate) use reply_task::DONE;
pub(crate) use routing::Routing;
pub(crate) use task_graph::TaskSettings;
pub use task_graph::{TaskState, TaskStatus};
pub(crate) use task_writes::TaskWriter;
pub(crate) use usage_ledger::UsageLedger;
