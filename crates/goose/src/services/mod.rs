//! Layer 0: the services that agents use, each running at most once per process.
//!
//! ```text
//! ExtensionConfig ─► Launch (resolved: nothing is looked up later)
//!                      │ ServicePool::bind: one Service for the same Launch, ended with its last Binding
//!                      ▼
//! Service: idle ─► starting ─► ready ─► degraded ─► starting … ─► dead
//! ```
//!
//! - `launch`: what would run, and its hash; `start`: running it;
//! - `service`: one service; `supervision`: its starts and ends; `life`: its state machine; `patience`: when to try again
//!   and when to give up; `subscriptions`: who wants to hear of its resources;
//!   `phase`: the states, and the events that tell of them; `running`, `follow`: a started one, and looking after it;
//! - `listing`: what is known of a service without asking it; `listing_cache`: the same on disk;
//! - `pool`: all services of a process, and bindings to them; `options`: what the pool is told, and what each binding brings.

mod follow;
mod frontend;
mod launch;
mod life;
mod listing;
mod listing_cache;
mod options;
mod patience;
mod phase;
mod pool;
mod running;
mod service;
mod start;
mod subscriptions;
mod supervision;

pub use frontend::Frontend;
pub(crate) use frontend::FrontendExtension;
pub(crate) use launch::Launch;
pub use listing::Listing;
pub(crate) use options::earlier_logins;
pub use options::{BindingContext, BuildService, Interceptors, PoolOptions, builtin_settings};
pub use phase::{Phase, ServiceChange, ServiceEvent, ServiceId};
pub use pool::{Binding, ServicePool};
pub use service::{Service, ServiceReport};
