//! The loop: model, tools, model, until done.
//!
//! ```text
//! Exchange ── reply() / reply_to(message) ──▶ Responder ──▶ AgentLoop: prepare ─► ask ─► record ─► …
//!     ▲                                           │ emit
//!     └── answer(id), cancel() ◀── user interfaces ◀── EventHub: numbered Events, for any number of readers
//! ```
//!
//! - `handle`: an exchange as programs hold it; `reply`: the handle of one reply;
//! - `responder`: the interface to the orchestrator, which runs the loop and chooses the agent;
//! - `agent_loop`: the loop, step by step, with `prepare`, `ask_model`, `record`, `tools`, `compaction` and
//!   `long_message`; `loop_context`: parts that live as long as the session; `models`: its models, which can be changed
//!   while it is open;
//! - `call_path`: the only path to a tool, for the loop and for tools that call tools; `external_host`: the
//!   same for external agents;
//! - `rewind`: the user's messages, to go back to one of them;
//! - `delegates`: the interface to agents that work for a session; `task_writes`: files that parallel tasks
//!   change;
//! - `event`, `event_hub`: events for user interfaces; `replay`: the same events from stored steps; `outbox`: holds
//!   events back until their steps are stored; `questions`: questions and output of extensions; `facts`: facts about a
//!   reply;
//! - `attachments`: the files, images and resources that the words of a message name;
//! - helpers: `extension_prompts` (prompts that change in an open session), `stream_dedup`, `repetition`,
//!   `sanitize_output`, `final_output`, `usage_ledger`.
//!
//! Each change is stored before it is reported, and a reply that ends at any point leaves a valid history.

mod agent_loop;
mod ask_model;
mod attachments;
mod call_path;
mod compaction;
mod context_report;
mod delegates;
mod event;
mod event_hub;
mod extension_prompts;
mod external_host;
mod facts;
mod final_output;
mod handle;
mod long_message;
mod loop_context;
mod models;
mod outbox;
mod prepare;
mod questions;
mod read_target;
mod record;
mod repetition;
mod replay;
mod reply;
mod responder;
mod rewind;
mod sanitize_output;
mod stream_dedup;
mod task_writes;
mod title;
mod tools;
mod usage_ledger;

pub use crate::session::Facts;
pub(crate) use agent_loop::{
    Abort, AgentLoop, CANCELLED_REPLY, DONE, LoopEnd, LoopFunction, StepResult, check_message, word,
};
pub use attachments::{AttachError, AttachmentRequest, MessageWithAttachments};
pub(crate) use compaction::Reason;
pub use context_report::{ContextReport, ContextShare};
pub(crate) use delegates::{
    Delegate, DelegateEnd, DelegateTask, Delegates, GraphPlace, MAX_AT_ONCE, MAX_TASK, PreparedDelegate,
    RecipeTask, agent_source, used_up,
};
pub use event::{
    Answer, Approval, ConsentRequest, Cost, Decision, ElicitationRequest, Event, Failure, Outcome,
    PlanDecision, ResultCheck, RoutedBy, TaskPlan, ToolEnd,
};
pub(crate) use event_hub::EventHub;
pub use event_hub::{BadPosition, EventPosition, EventReader, EventRecord};
pub(crate) use final_output::FinalOutput;
pub use handle::Exchange;
pub(crate) use loop_context::{
    CallGuard, FolderContext, History, Limits, LoopContext, Outlets, SessionTasks,
};
pub(crate) use models::{ActiveModels, EarlierModels, ModelSource, prepare};
pub(crate) use questions::SessionNotifier;
pub use replay::replay;
pub use reply::Reply;
pub(crate) use responder::{Request, Responder};
pub use responder::{TaskState, TaskStatus};
pub use rewind::Prompt;
pub(crate) use task_writes::{TaskWriter, TaskWrites};
pub(crate) use usage_ledger::UsageLedger;
