//! The tools that a mode may touch. Deny is the default: a tool is in the set because a group names it, or not at all.

use goose_extension::ToolGroup;

use super::{manifest::AgentMode, tool_index::ToolHandle};
use crate::{builtins::ExtensionClass, permission::Origin};

/// The group of all services.
const ALL_SERVICES: &str = "mcp";

/// The one tool of an orchestrator-owned extension that comes with the services: it loads knowledge.
const KNOWLEDGE: (&str, &str) = ("summon", "load");

/// Whether a mode may touch a tool.
pub(super) fn allows(mode: &AgentMode, tool: &ToolHandle) -> bool {
    mode.tool_groups.iter().any(|group| is_in(group, mode, tool))
}

fn is_in(group: &str, mode: &AgentMode, tool: &ToolHandle) -> bool {
    match group.parse() {
        // A semantic group is never the name of an extension of others.
        Ok(semantic) => is_in_semantic(semantic, mode, tool) || (is_own(tool) && group == tool.extension),
        Err(_) => group == tool.extension || (group == ALL_SERVICES && is_service(tool)),
    }
}

fn is_own(tool: &ToolHandle) -> bool {
    tool.origin == Origin::Own
}

fn is_service(tool: &ToolHandle) -> bool {
    tool.class == ExtensionClass::Service || (tool.extension.as_str(), tool.bare_name.as_str()) == KNOWLEDGE
}

/// Only goose's own tools are believed when they say which groups they are in.
fn is_in_semantic(group: ToolGroup, mode: &AgentMode, tool: &ToolHandle) -> bool {
    is_own(tool) && tool.tool.groups().contains(&group) && mode.depends_on.contains(&tool.extension)
}
