//! The client of the Agent Client Protocol: starts an agent as a program, gives it tasks, and answers its requests.
//!
//! ```text
//! connect: program ─► initialize ─► session/new ─► ProgramAgent
//! run:     session/prompt ──► session/update … ──► stop reason
//!                             session/request_permission, fs/…, elicitation/create ──► AgentHost
//! ```
//!
//! - `agent`: the agent and its tasks; `program`: the child process and how it ended;
//! - `requests`: what the agent asks of us; `actions`: what it wants to do, as our permissions judge it;
//!   `tool_input`: the files and commands in the input of its tools; `session_tools`: tools of the session, served to
//!   it over MCP.

mod actions;
mod agent;
mod program;
mod requests;
mod session_tools;
mod tool_input;

pub(crate) use agent::connect;
