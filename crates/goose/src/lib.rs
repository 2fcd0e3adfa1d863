//! The core of goose: services, and the agents that use them. It never prints.
//!
//! - [`agent_manager`]: opens conversations, with everything that they need;
//! - [`services`]: layer 0, one supervised pool of services for each process;
//! - [`agents`]: what an agent may use of it, as an [`ExtensionManager`](agents::extension_manager::ExtensionManager);
//! - [`exchange`]: the loop of a model and its tools; [`session`]: what is kept of it;
//! - [`platform`]: the extensions that need a session or a model;
//! - [`permission`]: who may do what; [`config`]: what people configure; [`project_files`]: what projects bring; [`builtins`]: what comes with goose.

#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    expect(clippy::disallowed_methods, reason = "tests prepare files and run programs by themselves")
)]

pub mod agent_manager;
pub mod agents;
pub mod builtins;
pub mod context;
pub mod exchange;
pub mod platform;
pub mod project_files;
pub mod services;

pub use goose_config as config;
pub use goose_permission as permission;
pub use goose_session as session;
