//! Sessions: append-only logs of [`Step`]s in the user's database.
//!
//! ```text
//! SessionStore ── create / open_session ──▶ Session ── append(step) ──▶ committed, has a number
//!      │                                       └────── sync() ─────────▶ on the disk, searchable
//!      └── list, find, latest, search, fork, rename, remove; export, import
//! ```
//!
//! A step is committed before [`Session::append`] returns, so it survives the end of the process. The log is
//! never rewritten: what the model sees of it is a [`Conversation`], folded from the steps. This crate runs
//! neither models nor tools.
//!
//! | file | purpose |
//! | --- | --- |
//! | `step.rs`, `task.rs`, `facts.rs`, `chosen_by.rs` | entries of the log, and the values in them |
//! | `conversation.rs` | the messages that a model is shown, valid for every provider |
//! | `store/` | the database: append, read, search, manage |
//! | `summary.rs`, `id.rs` | a session without its steps, its id; options to create and list sessions |
//! | `schedule/` | jobs, their cron expressions, `schedule.json` of goose 1.52 |
//! | `export.rs`, `import/` | JSON and Markdown; JSON and sessions of goose 1.x, Claude Code and Codex |
//! | `clock.rs` | the current time |

#![forbid(unsafe_code)]

mod chosen_by;
pub mod clock;
mod conversation;
pub mod export;
mod facts;
mod id;
pub mod import;
pub mod schedule;
mod step;
mod store;
mod summary;
mod task;

pub use chosen_by::ChosenBy;
pub use conversation::{Conversation, GO_ON, says_nothing, synthetic, synthetic_list, synthetic_message};
pub use facts::Facts;
pub use id::{BadSessionId, SessionId};
pub use step::{SkippedStep, Step, Steps, StoredStep, ToolEnd};
pub use store::{
    ClaimedRun, FILE_NAME, Found, JOB_LEASE, LoadedSession, NotClaimed, PendingSession, SearchQuery,
    SearchResults, Session, SessionStore, StoreError,
};
pub use summary::{ListOptions, NewSession, SessionKind, SessionSummary};
pub use task::{PlannedTask, TaskEnd, TaskFinished};
