//! Agents, and what each of them may use.

pub mod agent;
pub mod extension_manager;
pub mod manifest;
mod tool_filter;
pub mod toolset;

pub mod extension {
    //! What an extension is configured with.

    pub use crate::config::ExtensionConfig;
}
