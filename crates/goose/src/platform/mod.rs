//! The platform extensions: Extensions that need a session, the agent's tools or a model, and so live in this crate.
//!
//! Each is written with `#[tool]` like any other and built for one agent in one session; none is shared in the pool of
//! services. Their classes are in [`builtins`](crate::builtins).

pub mod chatrecall;
#[cfg(feature = "code-execution")]
pub mod code_execution;
mod todo;

use std::sync::Arc;

use goose_extension::Extension;

use self::chatrecall::ChatRecall;
pub use self::todo::Todo;
use crate::session::{Session, SessionStore};

/// The surroundings of an agent that platform extensions are built with.
pub(crate) struct PlatformContext<'a> {
    pub(crate) session: &'a Session,
    pub(crate) store: &'a SessionStore,
}

/// Builds a platform extension for an agent; none for one that has no tools.
pub(crate) fn build(name: &str, context: &PlatformContext<'_>) -> Option<Arc<dyn Extension>> {
    match name {
        "chatrecall" => Some(Arc::new(ChatRecall::new(context.store.clone(), context.session.id().clone()))),
        "todo" => Some(Arc::new(Todo)),
        _ => None,
    }
}
