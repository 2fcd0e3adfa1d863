//! The platform extensions: Extensions that need a session, the agent's tools or a model, and so live in this crate.
//!
//! Each is written with `#[tool]` like any other and built for one agent in one session; none is shared in the pool of
//! services. Their classes are in [`builtins`](crate::builtins).

pub mod chatrecall;
mod todo;

use std::sync::Arc;

use goose_extension::Extension;

pub use self::todo::Todo;

/// Builds a platform extension for an agent; none for one that has no tools.
pub(crate) fn build(name: &str) -> Option<Arc<dyn Extension>> {
    match name {
        "todo" => Some(Arc::new(Todo)),
        _ => None,
    }
}
