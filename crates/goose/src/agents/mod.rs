//! Agents, and what each of them may use.

mod acp_manifest;
pub mod agent;
mod agent_file;
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
