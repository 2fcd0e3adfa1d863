//! Which tools a mode may touch. Deny is the default: a tool is in the set because a group names it, or not at all.

use goose_extension::{Tool, ToolGroup};

use super::manifest::AgentMode;
use crate::permission::Origin;

/// The group of all services.
const ALL_SERVICES: &str = "mcp";

/// Parts of goose that belong to the orchestrator, to certain modes, or that reach other tools themselves. The group of all
/// services does not bring them; only their own names do.
const NOT_SERVICES: [&str; 7] =
    ["summon", "extensionmanager", "chatrecall", "tom", "apps", "todo", "code_execution"];

/// The one tool of the orchestrator's that is a service: it loads knowledge.
const KNOWLEDGE: (&str, &str) = ("summon", "load");

/// A tool, and where it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate<'a> {
    pub(super) extension: &'a str,
    pub(super) bare_name: &'a str,
    pub(super) tool: &'a Tool,
    pub(super) origin: Origin,
}

/// Whether a mode may touch a tool.
pub(super) fn allows(mode: &AgentMode, candidate: Candidate<'_>) -> bool {
    mode.tool_groups.iter().any(|group| is_in(group, mode, candidate))
}

fn is_in(group: &str, mode: &AgentMode, candidate: Candidate<'_>) -> bool {
    is_named(group, candidate)
        || (group == ALL_SERVICES && is_service(candidate))
        || group.parse().is_ok_and(|group| is_in_semantic(group, mode, candidate))
}

/// The name of an extension. What is the name of a semantic group is nobody else's.
fn is_named(group: &str, candidate: Candidate<'_>) -> bool {
    let is_semantic = group.parse::<ToolGroup>().is_ok();
    group == candidate.extension && (candidate.origin == Origin::Own || !is_semantic)
}

fn is_service(candidate: Candidate<'_>) -> bool {
    let is_part_of_goose = candidate.origin == Origin::Own && NOT_SERVICES.contains(&candidate.extension);
    !is_part_of_goose || (candidate.extension, candidate.bare_name) == KNOWLEDGE
}

/// Only goose's own tools are believed when they say what they are.
fn is_in_semantic(group: ToolGroup, mode: &AgentMode, candidate: Candidate<'_>) -> bool {
    candidate.origin == Origin::Own
        && candidate.tool.groups().contains(&group)
        && mode.depends_on.iter().any(|name| name == candidate.extension)
}
