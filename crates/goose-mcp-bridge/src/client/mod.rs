//! An MCP server as an extension: [`connect`] gives a [`RemoteExtension`].
//!
//! - `options`: where the server is and how to treat it; `connect`: reaching and greeting it;
//! - `child_process`: a server that we start, and how it ends; `http`: servers by URL; `auth`: logging in to them;
//! - `connection`: the state that all snapshots share; `remote`: the extension itself; `listing`: what the server offers, and
//!   which of its tools can be used; `sanitize`: untrusted results, made fit to be passed on;
//! - `request`: one request, through as many rounds as it takes, and how long it may be silent; `tasks`: a request that goes
//!   on as a task; `server_requests`: what the server may ask meanwhile;
//! - `routing`: the call that a message belongs to; `in_flight`: those calls and their owners; `notifications`: changes that the
//!   server announces.

mod auth;
mod child_process;
mod connect;
mod connection;
mod http;
mod in_flight;
mod listing;
mod notifications;
mod options;
mod remote;
mod request;
mod routing;
mod sanitize;
mod server_requests;
mod tasks;

pub use auth::{
    Browser, FileTokenStore, MemoryTokenStore, OAuth, OAuthSettings, StoredLogin, SystemBrowser, TokenStore,
};
pub use connect::connect;
pub use listing::DroppedTool;
pub use options::{ConnectOptions, Lifecycle, Target};
pub use remote::RemoteExtension;
