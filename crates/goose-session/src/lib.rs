//! Sessions: append-only logs of [`Step`]s in the user's database.
//!
//! ```text
//! SessionStore ── create / open_session ──▶ Session ── append(step) ──▶ committed, has a number
//!      │                                       └────── sync() ─────────▶ on the disk, searchable
//!      └── list, find, latest, search, fork, rename, remove, export, import
//! ```
//!
//! A step is committed before [`Session::append`] returns, so it survives the end of the process at any point. A
//! [`Conversation`] is what a model sees of the log.

#![forbid(unsafe_code)]

mod chosen_by;
pub mod clock;
mod conversation;
pub mod export;
mod facts;
mod id;
pub mod import;
mod step;
mod store;
mod summary;
mod task;

pub use chosen_by::ChosenBy;
pub use conversation::{Conversation, GO_ON, says_nothing, synthetic, synthetic_list, synthetic_message};
pub use facts::Facts;
pub use id::{BadSessionId, SessionId};
pub use step::{LoadedSession, SkippedStep, Step, Steps, StoredStep};
pub use store::{
    FILE_NAME, Found, PendingSession, SearchQuery, SearchResults, Session, SessionStore, StoreError,
};
pub use summary::{ListOptions, NewSession, SessionKind, SessionSummary};
pub use task::{PlannedTask, TaskEnd, TaskFinished};
