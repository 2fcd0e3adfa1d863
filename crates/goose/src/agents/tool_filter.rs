//! Selects the tools that a mode may use. The default is to deny: a tool is selected only if a group of the
//! mode includes it.

use std::sync::Arc;

use goose_extension::{ToolAction, ToolGroup};

use super::{
    manifest::{ALL_SERVICES, AgentMode, FileRestriction, GroupAccess},
    tool_index::{Reading, ToolHandle},
};
use crate::{builtins::ExtensionClass, permission::Origin};

/// Returns the tools of a mode, from all that its extensions list. A tool that is allowed only for some files
/// has the restriction.
pub(super) fn select(mode: &AgentMode, all: &[Arc<ToolHandle>], has_resources: bool) -> Vec<Arc<ToolHandle>> {
    let is_for_resources = |tool: &ToolHandle| tool.action() == Some(&ToolAction::ReadsResources);
    let select = |tool: &Arc<ToolHandle>| match has_resources && is_for_resources(tool) {
        true => Some(Arc::clone(tool)),
        false => selected(mode, tool),
    };
    let mut selected: Vec<Arc<ToolHandle>> = all.iter().filter_map(select).collect();
    // `todo` and `plan` keep the same list, and the mode has named the selected one.
    if selected.iter().any(|handle| handle.keeps_task_list()) {
        selected.retain(|handle| handle.keeps_task_list() || handle.action() != Some(&ToolAction::KeepsPlan));
    }
    selected
}

fn selected(mode: &AgentMode, tool: &Arc<ToolHandle>) -> Option<Arc<ToolHandle>> {
    // The calls that they make are judged separately, and a mode that runs commands could do as much.
    let reaches_others = (tool.class == ExtensionClass::Meta && is_own(tool)) || tool.delegates();
    if reaches_others && mode.can_run_commands() {
        return Some(Arc::clone(tool));
    }
    let mut given: Vec<&GroupAccess> =
        mode.tool_groups.iter().filter(|access| is_in(&access.group, mode, tool)).collect();
    if given.is_empty() {
        return None;
    }
    let mut tool = Arc::clone(tool);
    if matches!(tool.action(), Some(ToolAction::ByOperation(_))) && tool.tool.groups().len() > 1 {
        // The group `read` gives only the operations that read.
        let is_for_reading = |access: &&GroupAccess| access.group == ToolGroup::Read.as_str();
        let reads_all = given.iter().any(|access| is_for_reading(access) && access.files.is_none());
        given.retain(|access| !is_for_reading(access));
        match (reads_all, given.is_empty()) {
            (true, true) => return Some(Arc::new(tool.with_reading(Reading::Only))),
            (true, false) => tool = Arc::new(tool.with_reading(Reading::Free)),
            (false, true) => return None,
            (false, false) => {}
        }
    }
    // One group that allows the tool for all files is enough.
    let restrictions: Option<Vec<FileRestriction>> =
        given.into_iter().map(|access| access.files.clone()).collect();
    Some(match restrictions {
        None => tool,
        Some(files) => Arc::new(tool.restricted_to(files)),
    })
}

/// Returns true if the tool is in a group of the mode.
fn is_in(group: &str, mode: &AgentMode, tool: &ToolHandle) -> bool {
    match group.parse() {
        // Only goose's own tools may declare their semantic groups, and such a group never matches an external
        // extension of the same name.
        Ok(semantic) => {
            let is_declared = tool.tool.groups().contains(&semantic) && mode.depends_on(&tool.extension);
            is_own(tool) && (is_declared || group == tool.extension)
        }
        Err(_) => group == tool.extension || (group == ALL_SERVICES && is_service(tool)),
    }
}

fn is_own(tool: &ToolHandle) -> bool {
    tool.origin == Origin::Own
}

fn is_service(tool: &ToolHandle) -> bool {
    tool.class == ExtensionClass::Service || tool.action() == Some(&ToolAction::LoadsKnowledge)
}
