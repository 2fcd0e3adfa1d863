//! The client of the Agent Communication Protocol: agents on servers, reached over HTTP.
//!
//! ```text
//! connect: GET agents/NAME (or the only one of GET agents) ─► ServerAgent
//! run:     POST runs (mode: stream) ──► events … ──► run.completed, run.failed, run.cancelled
//!                                           run.awaiting ──► AgentHost::ask ──► POST runs/ID, and so on
//! cancel:  POST runs/ID/cancel
//! ```
//!
//! Such an agent asks for no files and no permissions; what it depends on, its own server resolves.
//!
//! - `agent`: the agent and its runs; `events`: what the server reports of a run; `http`: bounded requests and streams.

mod agent;
mod events;
mod http;

pub(crate) use agent::connect;
