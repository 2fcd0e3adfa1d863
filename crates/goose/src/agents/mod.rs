//! Agents, and what each of them may use.

pub mod extension_manager;

pub mod extension {
    //! What an extension is configured with.

    pub use crate::config::ExtensionConfig;
}
