//! What is kept of a conversation: an append-only log of [`Step`]s, in a database of the user's.
//!
//! ```text
//! SessionStore ── create / open_session ──▶ Session ── append(step) ──▶ committed, has a number
//!      │                                       └────── sync() ─────────▶ on the disk, searchable
//!      └── list, find, latest, search, fork, rename, remove, export, import
//! ```
//!
//! A step is committed before [`Session::append`] returns, so it survives the end of the process at any point. What the
//! log means to a model is a [`Conversation`].

mod aside;
mod conversation;
pub mod export;
mod id;
pub mod import;
mod opened;
mod step;
mod store;
mod summary;

pub(crate) use aside::{aside, aside_message};
pub use conversation::Conversation;
pub(crate) use conversation::{GO_ON, says_nothing};
pub use id::{BadSessionId, SessionId};
pub use opened::{Opened, SkippedStep, Steps, StoredStep};
pub use step::Step;
pub use store::{FILE_NAME, Found, Session, SessionStore, StoreError};
pub use summary::{ListOptions, NewSession, SessionKind, SessionSummary};
