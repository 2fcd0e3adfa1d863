//! The platform extensions: Extensions that need a session, the agent's tools or a model, and so live in this crate.
//!
//! Each is written with `#[tool]` like any other and built for one agent in one session; none is shared in the pool of
//! services. Their classes are in [`builtins`](crate::builtins).

mod agent_tool;
pub mod apps;
pub mod chatrecall;
mod extension_manager;
mod standalone;
mod summon;
mod todo;
pub mod tom;

use std::{path::Path, sync::Arc};

#[cfg(feature = "code-execution")]
pub use goose_code_execution as code_execution;
#[cfg(feature = "code-execution")]
use goose_code_execution::CodeExecution;
use goose_extension::{Extension, Model};

pub use self::todo::Todo;
pub(crate) use self::{agent_tool::AgentTool, apps::ProviderModel};
use self::{apps::Apps, chatrecall::ChatRecall, extension_manager::ExtensionSwitches, summon::Summon};
pub(crate) use self::{
    standalone::standalone,
    summon::{project_recipes, project_skill_files},
};
use crate::{
    agent_manager::Binder,
    agents::toolset::Toolset,
    config::Settings,
    exchange::Delegates,
    session::{Session, SessionStore},
};

/// The surroundings of an agent that platform extensions are built with.
pub(crate) struct PlatformContext<'a> {
    pub(crate) session: &'a Session,
    pub(crate) store: &'a SessionStore,
    pub(crate) settings: &'a Settings,
    /// The tools of the agent.
    pub(crate) toolset: &'a Arc<Toolset>,
    /// The working model of the session.
    pub(crate) model: &'a Arc<dyn Model>,
    pub(crate) working_dir: &'a Path,
    /// The services of the session.
    pub(crate) binder: &'a Arc<Binder>,
    /// The way to delegates; none outside of a conversation.
    pub(crate) delegation: Option<&'a Arc<dyn Delegates>>,
}

/// Builds a platform extension for an agent; none for one that has no tools.
pub(crate) fn build(name: &str, context: &PlatformContext<'_>) -> Option<Arc<dyn Extension>> {
    match name {
        "apps" => {
            Some(Arc::new(Apps::new(apps::folder(context.settings.paths()), Arc::clone(context.model))))
        }
        "chatrecall" => {
            let current = context.session.id().clone();
            Some(Arc::new(ChatRecall::new(context.store.clone(), Some(current))))
        }
        #[cfg(feature = "code-execution")]
        "code_execution" => {
            // The toolset's manager holds the extension.
            let toolset = Arc::downgrade(context.toolset);
            Some(Arc::new(CodeExecution::new(move || {
                toolset.upgrade().map(|toolset| toolset.tools()).unwrap_or_default()
            })))
        }
        "extensionmanager" => {
            Some(Arc::new(ExtensionSwitches::new(context.toolset, Arc::clone(context.binder))))
        }
        "summon" => Some(Arc::new(Summon::extension(context))),
        "todo" => Some(Arc::new(Todo)),
        _ => None,
    }
}
