//! OrchestratorAgent: the agent that gives work to others, switches extensions and finds what earlier sessions had.
//!
//! It also stands in front of each request: `route` has the choice of the agent that answers.

mod route;

pub(crate) use self::route::means;
pub use self::route::{Route, RouteSettings, RoutedBy, RoutedTask, SessionAgent, SplitSetting, route};
use super::builtin_mode::{Access::All, BuiltinAgent, BuiltinMode};

/// Its name, and the name of its only mode.
pub const NAME: &str = "orchestrator";

pub(super) const ORCHESTRATOR_AGENT: BuiltinAgent = BuiltinAgent {
    name: NAME,
    description: "Work with other agents, extensions and earlier sessions.",
    capabilities: &["delegation", "extension_management", "recall"],
    modes: &[BuiltinMode {
        slug: NAME,
        description: "delegates, extensions, earlier sessions",
        when_to_use: "A request to give tasks to other agents, to list, enable or disable extensions, or to find something in \
                      earlier sessions.",
        instructions: "You give work to other agents, manage extensions and find what earlier sessions had; you do not touch \
                       files or run commands yourself. Give each delegate all that it needs, because it does not see this \
                       conversation; give tasks that do not depend on each other in one turn, so that they run side by side. \
                       Then say who did what, and what is left undone.",
        tool_groups: &[All("summon"), All("extensionmanager"), All("chatrecall")],
        dependencies: &["summon", "extensionmanager", "chatrecall", "tom"],
    }],
};
