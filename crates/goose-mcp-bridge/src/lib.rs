//! MCP in both directions: any extension as a server ([`serve`]), any server as an extension ([`connect`]).
//!
//! Both support both generations of the protocol: up to 2025-11-25, where a session starts with `initialize`
//! and a server may send requests to its client, and 2026-07-28, where requests are independent and a server
//! asks by ending the request as *input required*. The code calls them the older and the newer wire.

#![forbid(unsafe_code)]

mod client;
mod depth_limit;
mod http;
mod line_io;
mod malformed;
mod on_drop;
mod serve;
mod server;
mod stdio_transport;
mod transport;

pub use client::{
    AuthorizationCode, Browser, Callback, ConnectOptions, DroppedTool, FileTokenStore, Interceptor,
    Lifecycle, LoginRefused, MemoryTokenStore, OAuth, OAuthSettings, RemoteExtension, StoredLogin,
    SystemBrowser, Target, TokenStore, connect,
};
pub use goose_process::{ProcessSpec, Stream};
pub use http::{HttpEndpoint, HttpOptions, HttpServer, http_router};
pub use line_io::{LineRead, LineReader, MAX_LINE_BYTES};
pub use serve::{Serve, serve, spawn_and_serve};
pub use server::{ExtensionServer, ServeOptions};
pub use stdio_transport::{LineFaults, LineTransport};
pub use transport::{BoxTransport, TransportError};

/// `_meta` key of the session that a local client works in.
pub const SESSION_META: &str = "goose/session-id";

/// `_meta` key of the folder that a local client works in.
pub const WORKING_DIR_META: &str = "goose/working-dir";

/// `_meta` key of the progress token of the call that a log message belongs to.
pub const CALL_META: &str = "goose/call";

/// Logger of messages that a tool sends to [`Notifier::log`](goose_extension::Notifier::log).
const RECORD_LOGGER: &str = "record";

/// Logger of messages that a tool sends to [`Notifier::status`](goose_extension::Notifier::status).
const STATUS_LOGGER: &str = "status";
