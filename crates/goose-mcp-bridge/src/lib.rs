//! MCP in both directions: any extension as a server ([`serve`]), any server as an extension ([`connect`]).
//!
//! Both speak both eras of the protocol: 2025-11-25 and before (a session that begins with `initialize`), and
//! 2026-07-28 (self-contained requests, `server/discover`, rounds instead of calls back).

#![forbid(unsafe_code)]

mod client;
mod depth_limit;
mod http;
mod line_io;
mod malformed;
mod serve;
mod server;
mod stdio_transport;
mod transport;

pub use client::{
    Browser, ConnectOptions, DroppedTool, FileTokenStore, Interceptor, Lifecycle, MemoryTokenStore, OAuth,
    OAuthSettings, RemoteExtension, StoredLogin, SystemBrowser, Target, TokenStore, connect,
};
pub use goose_process::{ProcessSpec, Stream};
pub use http::{HttpOptions, HttpServer, http_router};
pub use line_io::{LineRead, LineReader, MAX_LINE_BYTES};
pub use serve::{Serve, serve, spawn_and_serve};
pub use server::{ExtensionServer, ServeOptions};
pub use stdio_transport::{LineFaults, LineTransport};
pub use transport::{BoxTransport, TransportError};

/// The `_meta` key under which a local client says in which session it works.
pub const SESSION_META: &str = "goose/session-id";

/// The `_meta` key under which a local client says in which folder it works.
pub const WORKING_DIR_META: &str = "goose/working-dir";

/// The `_meta` key under which a log message names the progress token of the call it belongs to.
pub const CALL_META: &str = "goose/call";

/// The logger of what a tool told its [`Notifier`](goose_extension::Notifier) to keep.
const RECORD_LOGGER: &str = "record";

/// The logger whose messages are fleeting.
const STATUS_LOGGER: &str = "status";

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
