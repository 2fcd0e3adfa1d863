//! goose as a service on one machine: other agents, programs and editors use its agents over HTTP.
//!
//! ```text
//! listen: TCP, TLS, Unix socket ─► gate: Host, Origin, token, scope, limits ─► endpoints
//!                                                                                 │
//!    /agents /runs /session   Agent Communication Protocol ─┐                     │
//!    /a2a                     A2A 1.0 and 0.3 ──────────────┼─► Runs ─► Sessions ─┴─► AgentManager
//!    /api/v1                  goose's own API ──────────────┘
//!    /mcp                     the agents as tools, over streamable HTTP
//!    /acp                     the Agent Client Protocol, over WebSocket
//! ```
//!
//! A run is a reply to one message in a session. Its log of events outlives the requests that read it, and a run of
//! an earlier process is read from the stored steps of its session.
//!
//! - `options`: settings of a server; `server`: its start, drain and end; `listen`: connections;
//! - `tokens`: the file with the hashes of tokens; `gate`: the only check of a request; `limits`: counts per token;
//!   `audit`: its log;
//! - `endpoint`: the table of routes, from which `openapi` makes the document; `error`, `body`, `sse`: answers;
//! - `local_client`: a client on the same machine, over the Unix socket;
//! - `sessions`: open sessions; `runs`: runs and their events; `questions`: questions and their answers;
//! - `agent_communication`, `a2a`, `api`, `mcp`, `editors`: the protocols; `health`, `metrics`, `traces`: state of the
//!   server.
//!
//! Nothing here knows terminals, or which services are built in: the program gives an
//! [`AgentManager`](goose::agent_manager::AgentManager).

#![forbid(unsafe_code)]

mod a2a;
mod agent_communication;
mod api;
mod audit;
mod body;
mod editors;
mod endpoint;
mod error;
mod gate;
mod health;
mod ids;
mod limits;
mod listen;
mod local_client;
mod mcp;
mod metrics;
mod openapi;
mod options;
mod questions;
mod runs;
mod server;
mod sessions;
mod sse;
mod start_error;
mod state;
mod tokens;
#[cfg(feature = "otel")]
mod traces;

pub use local_client::{LocalClient, LocalError, OpenSessionState, SessionEvents};
pub use options::{DEFAULT_PORT, SECRET_KEY, ServerOptions, TlsFiles};
pub use server::{Server, openapi_document};
pub use start_error::StartError;
pub use tokens::{NewToken, Scope, TokenError, TokenInfo, TokenStore};
#[cfg(feature = "otel")]
pub use traces::{TraceError, TraceSettings};
