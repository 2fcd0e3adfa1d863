//! Services that agents use, each running at most once per process.
//!
//! ```text
//! ExtensionConfig ─► Launch (resolved: nothing is looked up later)
//!                      │ ServicePool::bind: one Service for the same Launch, ended with its last Binding
//!                      ▼
//! Service: idle ─► starting ─► ready ─► degraded ─► starting … ─► dead
//! ```
//!
//! - `launch`: a service with a resolved configuration; `start`: runs it; `instance`: a started service;
//! - `frontend`: extensions whose tools a user interface runs;
//! - `service`: one service, with its calls and subscriptions; `supervision`: its starts and stops;
//!   `state_machine`: its states, the pauses between failures, and the events that report them;
//! - `listing`: its tools and instructions, in memory and on disk; `tool_fingerprint`: the
//!   definition of a tool that a call was checked against;
//! - `pool`: all services of a process, and bindings to them; `options`: options of the pool and of
//!   each binding.

mod frontend;
mod instance;
mod launch;
mod listing;
mod options;
mod pool;
mod service;
mod start;
mod state_machine;
mod supervision;
mod tool_fingerprint;

pub use frontend::Frontend;
pub(crate) use launch::Launch;
pub use listing::Listing;
pub(crate) use options::SHELL_ENV;
pub(crate) use options::earlier_logins;
pub use options::{BindingContext, BuildService, Interceptors, PoolOptions, builtin_options, outputs_folder};
pub(crate) use pool::registered_builtins;
pub use pool::{Binding, ServicePool, register_builtins};
pub(crate) use service::{DefinitionChanged, ToolCallRequest};
pub use service::{Service, ServiceReport};
pub use state_machine::{Phase, ServiceChange, ServiceEvent, ServiceId};
pub use tool_fingerprint::ToolFingerprint;
