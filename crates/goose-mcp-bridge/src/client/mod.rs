//! An MCP server as an extension: [`connect`] returns a [`RemoteExtension`].
//!
//! In layers: a module uses only itself and modules before it in this list.
//!
//! - `clock`: time limits that stop while a person is asked;
//! - `http_error`: failures of servers by URL; `auth`: logins at them; `options`: target and options;
//! - `questions`: questions of a server, and their limits; `in_flight`: calls in flight, and their owners;
//! - `http`: servers by URL; `errors`: failures as errors of a tool;
//! - `sanitize`: untrusted results, made safe to pass on; `listing`: the tools that can be used;
//! - `notifications`: changes that the server announces;
//! - `routing`: the call that a message belongs to; `server_requests`: the handler of the server's requests;
//! - `child_process`: a server that is a program, and how it ends;
//! - `connection`: state that all snapshots share;
//! - `tasks`: a request that continues as a task; `request`: one request, in rounds;
//! - `remote`: the extension; `refresh`: its next snapshot; `connect`: connecting to a server.

mod auth;
mod child_process;
mod clock;
mod connect;
mod connection;
mod errors;
mod http;
mod http_error;
mod in_flight;
mod listing;
mod notifications;
mod options;
mod questions;
mod refresh;
mod remote;
mod request;
mod routing;
mod sanitize;
mod server_requests;
mod tasks;

pub use auth::{
    AuthorizationCode, Browser, Callback, FileTokenStore, LoginRefused, MemoryTokenStore, OAuth,
    OAuthSettings, StoredLogin, SystemBrowser, TokenStore,
};
pub use connect::connect;
pub use listing::DroppedTool;
pub use options::{ConnectOptions, Interceptor, Lifecycle, Target};
pub use remote::RemoteExtension;
