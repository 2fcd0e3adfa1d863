//! Agents and their clients, over the two protocols that are called ACP. [`Connector`] implements the connector
//! interface of `goose` for both; a program registers it with `AgentManager::with_connector`.
//!
//! | module | protocol | our side |
//! | --- | --- | --- |
//! | `agent_client` | Agent Client Protocol, version 1: JSON-RPC, one message per line, on the standard streams of a program | client |
//! | `editor` | the same protocol, for editors that use goose | agent |
//! | `agent_communication` | Agent Communication Protocol 0.2: HTTP and server-sent events | client |
//!
//! Messages are read as plain JSON, field by field, and what is not understood is passed over: agents of the same
//! protocol version differ in what they send. Everything that comes from an agent is capped by a named constant beside
//! the code that reads it; what an agent may do is decided by the `AgentHost` that it gets with each task.

#![forbid(unsafe_code)]

mod agent_client;
mod agent_communication;
mod connector;
mod editor;
mod rpc;

pub use connector::Connector;
pub use editor::{ChooseProfile, EditorAgent, Limits};
