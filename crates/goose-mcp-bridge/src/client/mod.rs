//! An MCP server as an extension: [`connect`] gives a [`RemoteExtension`].
//!
//! - `options`: where the server is and how to treat it; `connect`: reaching and greeting it;
//! - `program`: a server that we start ourselves, and how it ends;
//! - `http`: servers that are reached by URL; `auth`: logging in to them;
//! - `connection`: what all snapshots share;
//! - `remote`: the extension itself; `listing`: what the server said about itself, and whole lists; `vetting`: which
//!   of its tools can be used; `strangers`: what it sends, made fit to be passed on;
//! - `request`: one request, through as many rounds as it takes; `tasks`: one that goes on as a task; `clock`: how long
//!   it may be silent; `asking`: what the server may ask on its way; `answers`: what can be answered;
//! - `routes`: which call a message belongs to; `calls`: those in flight; `owner`: whose they are; `shortcut`: reading the
//!   most common message; `handler`: what the server asks; `news`: what it announces; `resource_subscriptions`: which of its resources
//!   are watched.

mod answers;
mod asking;
mod auth;
mod calls;
mod clock;
mod connect;
mod connection;
mod handler;
mod http;
mod listing;
mod news;
mod options;
mod owner;
mod program;
mod remote;
mod request;
mod resource_subscriptions;
mod routes;
mod shortcut;
mod strangers;
mod tasks;
mod vetting;

pub use auth::{Browser, FileTokenStore, MemoryTokenStore, OAuth, StoredLogin, SystemBrowser, TokenStore};
pub use connect::connect;
pub use options::{ConnectOptions, Lifecycle, Target};
pub use remote::RemoteExtension;
pub use vetting::DroppedTool;
