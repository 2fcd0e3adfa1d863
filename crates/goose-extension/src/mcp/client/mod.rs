//! An MCP server as an extension: [`connect`] gives a [`RemoteExtension`].
//!
//! - `options`: where the server is and how to treat it; `connect`: reaching and greeting it;
//! - `http`: servers that are reached by URL; `auth`: logging in to them;
//! - `connection`: what all snapshots share;
//! - `remote`: the extension itself; `listing`: what the server said about itself, and whole lists;
//! - `request`: one request, through as many rounds as it takes;
//! - `routes`: which call a message belongs to; `handler`: what the server asks; `news`: what it announces.

mod auth;
mod connect;
mod connection;
mod handler;
mod http;
mod listing;
mod news;
mod options;
mod remote;
mod request;
mod routes;

pub use auth::{Browser, FileTokenStore, MemoryTokenStore, OAuth, StoredLogin, SystemBrowser, TokenStore};
pub use connect::connect;
pub use options::{ConnectOptions, Lifecycle, Target};
pub use remote::RemoteExtension;
