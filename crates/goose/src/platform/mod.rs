//! Platform extensions: those that need a session, the agent's tools or a model, and therefore live in this
//! crate.
//!
//! Each is written with `#[tool]` like any other extension and built for one agent in one session; they are
//! not shared in the service pool. Their classes are in [`builtins`](crate::builtins).
//!
//! - `apps`, `chatrecall`, `extension_manager`, `summon`, `todo`, `tom`: one extension each;
//! - `agent_tool`: another agent as an extension;
//! - `standalone`: extensions without a session, for `goose mcp`.

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
use goose_extension::{Extension, Model, visible};
use goose_fs::{truncate_chars, truncate_lines};

pub(crate) use self::agent_tool::AgentTool;
pub use self::summon::{Skill, SkillPlaces};
pub use self::todo::Todo;
use self::{apps::Apps, chatrecall::ChatRecall, extension_manager::ExtensionSwitches, summon::Summon};
pub(crate) use self::{
    standalone::standalone,
    summon::{project_skill_files, skill_places},
};
use crate::{
    agents::{
        extension_manager::{ExtensionManager, ManagerError},
        toolset::Toolset,
    },
    config::{ExtensionConfig, Settings},
    exchange::Delegates,
    recipe::ResolvedSubRecipe,
    session::{Session, SessionStore},
};

/// The services of a session, which its agents may list and switch. Implemented by the code that binds them.
pub(crate) trait SessionServices: Send + Sync {
    /// Returns the settings of the session.
    fn settings(&self) -> &Settings;

    /// Returns true if agents of the session have the service, if their modes may use it.
    fn is_enabled(&self, name: &str) -> bool;

    /// Enables a service for the rest of the session: immediately for the agent with these extensions, and
    /// for later agents whose modes may use it. Fails if the name is already in use.
    fn enable(
        &self,
        config: &ExtensionConfig,
        extensions: Option<&ExtensionManager>,
    ) -> Result<(), ManagerError>;

    /// Enables a platform extension that was disabled. Returns false if it was not disabled.
    fn enable_again(&self, name: &str) -> bool;

    /// Disables an extension for the rest of the session.
    fn disable(&self, name: &str);

    /// Returns a text that names the modes that can use a service.
    fn users(&self, config: &ExtensionConfig) -> String;
}

/// Parts of an agent that platform extensions are built with.
pub(crate) struct PlatformContext<'a> {
    pub(crate) session: &'a Session,
    pub(crate) store: &'a SessionStore,
    pub(crate) settings: &'a Settings,
    /// Tools of the agent.
    pub(crate) toolset: &'a Arc<Toolset>,
    /// Working model of the session.
    pub(crate) model: &'a Arc<dyn Model>,
    pub(crate) working_dir: &'a Path,
    /// Services of the session.
    pub(crate) services: &'a Arc<dyn SessionServices>,
    /// Interface that starts delegates. `None` outside of a conversation.
    pub(crate) delegation: Option<&'a Arc<dyn Delegates>>,
    /// Recipes that the session can delegate to.
    pub(crate) sub_recipes: &'a Arc<[ResolvedSubRecipe]>,
}

/// Maximum length of a text for the model.
const MAX_TEXT: usize = 50_000;

/// Maximum number of characters of a description in a list.
const DESCRIPTION_CHARS: usize = 160;

/// Returns the beginning of a text's first line.
fn brief(text: &str) -> String {
    truncate_chars(text.lines().next().unwrap_or_default(), DESCRIPTION_CHARS).into_owned()
}

/// Returns a text for the model: its beginning, with its invisible characters shown.
fn capped(text: &str) -> String {
    let text = visible(text).into_owned();
    truncate_lines(text, MAX_TEXT, |rest| format!("(cut here; {} more bytes)", rest.len()))
}

/// Builds a platform extension for an agent. Returns `None` for an extension without tools.
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
            // Weak, because the toolset's manager holds the extension.
            let toolset = Arc::downgrade(context.toolset);
            Some(Arc::new(CodeExecution::new(move || {
                toolset.upgrade().map(|toolset| toolset.tools()).unwrap_or_default()
            })))
        }
        "extensionmanager" => {
            Some(Arc::new(ExtensionSwitches::extension(context.toolset, Arc::clone(context.services))))
        }
        "summon" => Some(Arc::new(Summon::extension(context))),
        "todo" => Some(Arc::new(Todo::extension())),
        _ => None,
    }
}
