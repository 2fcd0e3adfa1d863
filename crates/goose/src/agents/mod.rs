//! Agents: what they are, where they come from, and what each of them may use.
//!
//! - `manifest`, `group_access`: agents as data; `agent_file`, `acp_manifest`, `connection`: the forms they
//!   are read and exchanged in;
//! - `goose_agent`, `coding_agent`, `builtin_mode`: the agents that come with goose;
//! - `catalog`, `known_agents`, `mention`: agents by name;
//! - `agent`, `service_binding`, `extension_manager`, `bound_service`: an agent in a session, with its
//!   services;
//! - `toolset`, `tool_filter`, `tool_index`, `tool_names`, `trim_schema`: the tools that a mode may use;
//! - `external_agent`, `circuit_breaker`: agents that are reached by a protocol;
//! - `orchestrator_agent`: chooses the agent for a request and runs tasks.
//!
//! The loop that asks the model is in `exchange`; sessions are opened by `agent_manager`.

mod acp_manifest;
pub mod agent;
pub(crate) mod agent_file;
mod bound_service;
mod builtin_mode;
pub mod catalog;
mod circuit_breaker;
pub mod coding_agent;
pub mod connection;
pub mod extension_manager;
pub mod external_agent;
pub mod goose_agent;
mod group_access;
pub(crate) mod known_agents;
pub mod manifest;
pub(crate) mod mention;
pub mod orchestrator_agent;
pub mod service_binding;
mod tool_filter;
mod tool_index;
mod tool_names;
pub mod toolset;
mod trim_schema;

pub use builtin_mode::mode_table;
pub use tool_index::{ToolHandle, UnknownTool};

pub mod extension {
    //! Configuration of an extension.

    pub use crate::config::ExtensionConfig;
}
