//! Agents, and what each of them may use.

pub mod agent;
mod bound_service;
pub mod extension_manager;
pub mod manifest;
mod tool_filter;
mod tool_index;
mod tool_names;
pub mod toolset;
mod trim_schema;

pub use tool_index::{ToolFingerprint, ToolHandle, UnknownTool};

pub mod extension {
    //! What an extension is configured with.

    pub use crate::config::ExtensionConfig;
}
