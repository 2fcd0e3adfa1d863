//! The core of goose: services, and the agents that use them. It never prints.
//!
//! Modules are listed from the bottom up; each imports only those above it in the list (`tests/suite/floors.rs`
//! checks it). Below all of them are the crates for configuration, permissions and sessions, which are re-exported.

#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    expect(clippy::disallowed_methods, reason = "tests prepare files and run programs by themselves")
)]

// The names and classes of platform extensions.
pub mod builtins;
// Copies of the files that a session changes.
pub mod checkpoints;
// Recipes: files with a task, its parameters and its tools.
pub mod recipe;
// One supervised pool of services for each process.
pub mod services;
// Commands of the user at fixed points of a session.
pub mod hooks;
// The context of a model: hints, prompts, the room that is left.
pub mod context;
// Agents, and what each may use. `agents::orchestrator_agent` stands above `platform`.
pub mod agents;
// The loop of a model and its tools.
pub mod exchange;
// The extensions that need a session or a model.
pub mod platform;
// The files of a project that need the user's trust.
pub mod project_files;
// Opens conversations, with everything that they need.
pub mod agent_manager;

pub use agent_manager::build_exchange;
pub use goose_config as config;
pub use goose_permission as permission;
pub use goose_session as session;

/// Compiles the examples of the README and of the documentation.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../README.md")]
    struct Readme;

    #[doc = include_str!("../../../docs/rust.md")]
    struct Rust;

    #[doc = include_str!("../../../docs/writing-extensions.md")]
    struct WritingExtensions;
}
