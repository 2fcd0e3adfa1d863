//! [`BuiltinMode`]: the modes that come with goose, as constants, and the table of them that the
//! documentation shows.

use std::fmt::Write as _;

use super::{
    coding_agent, goose_agent,
    manifest::{AgentManifest, AgentMode, FileRestriction, GroupAccess, Metadata, RequestStep},
};

/// All built-in agents.
const AGENTS: [&BuiltinAgent; 3] =
    [&goose_agent::GOOSE_AGENT, &coding_agent::CODING_AGENT, &ORCHESTRATOR_AGENT];

/// Name of the orchestrator's agent and of its only mode.
pub(crate) const ORCHESTRATOR: &str = "orchestrator";

/// Agent for requests that the orchestrator answers itself with a model.
const ORCHESTRATOR_AGENT: BuiltinAgent = BuiltinAgent {
    name: ORCHESTRATOR,
    description: "Work with other agents, extensions and earlier sessions.",
    capabilities: &["delegation", "extension_management", "recall"],
    modes: &[BuiltinMode {
        slug: ORCHESTRATOR,
        description: "internal: delegates, extensions, earlier sessions",
        when_to_use: "A request to give tasks to other agents, to list, enable or disable extensions, or to find something in \
                      earlier sessions.",
        instructions: "You give work to other agents, manage extensions and find what earlier sessions had; you do not touch \
                       files or run commands yourself. Give each delegate a complete task; give tasks that do not depend on each other in one turn, so that they run side by side. \
                       Then say who did what, and what is left undone.",
        tool_groups: &[
            Access::All("summon"),
            Access::All("extensionmanager"),
            Access::All("chatrecall"),
            Access::All("code_execution"),
        ],
        dependencies: &["summon", "extensionmanager", "chatrecall", "tom"],
        step: Some(RequestStep::OwnPart),
    }],
};

/// An agent that comes with goose.
pub(super) struct BuiltinAgent {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) capabilities: &'static [&'static str],
    pub(super) modes: &'static [BuiltinMode],
}

/// A mode that comes with goose.
pub(super) struct BuiltinMode {
    pub(super) slug: &'static str,
    pub(super) description: &'static str,
    pub(super) when_to_use: &'static str,
    pub(super) instructions: &'static str,
    pub(super) tool_groups: &'static [Access],
    pub(super) dependencies: &'static [&'static str],
    pub(super) step: Option<RequestStep>,
}

/// Access to a group of tools, for all files or for some.
#[derive(Clone, Copy)]
pub(super) enum Access {
    All(&'static str),
    /// Access to Markdown files only.
    Markdown(&'static str),
}

impl BuiltinAgent {
    fn manifest(&self) -> AgentManifest {
        let modes: Vec<AgentMode> = self.modes.iter().map(BuiltinMode::mode).collect();
        let mut dependencies: Vec<_> = modes.iter().flat_map(|mode| mode.dependencies.clone()).collect();
        dependencies.sort();
        dependencies.dedup();
        AgentManifest {
            name: self.name.to_owned(),
            description: self.description.to_owned(),
            metadata: Metadata {
                dependencies,
                capabilities: self.capabilities.iter().map(|name| (*name).into()).collect(),
                ..Metadata::default()
            },
            modes,
            ..AgentManifest::default()
        }
    }
}

impl BuiltinMode {
    fn mode(&self) -> AgentMode {
        AgentMode {
            slug: self.slug.to_owned(),
            description: self.description.to_owned(),
            when_to_use: self.when_to_use.to_owned(),
            instructions: self.instructions.to_owned(),
            tool_groups: self.tool_groups.iter().map(|access| access.group()).collect(),
            dependencies: self.dependencies.iter().map(|name| (*name).into()).collect(),
            step: self.step,
            ..AgentMode::default()
        }
    }
}

impl Access {
    fn group(self) -> GroupAccess {
        match self {
            Self::All(group) => group.into(),
            Self::Markdown(group) => {
                GroupAccess { group: group.to_owned(), files: Some(FileRestriction::markdown()) }
            }
        }
    }

    fn shown(self) -> String {
        match self {
            Self::All(group) => group.to_owned(),
            Self::Markdown(group) => format!(r"{group} (`\.md$`)"),
        }
    }
}

/// Returns the manifests of the built-in agents.
pub(super) fn manifests() -> impl Iterator<Item = AgentManifest> {
    AGENTS.into_iter().map(BuiltinAgent::manifest)
}

/// Returns the built-in modes as a Markdown table, for the documentation.
pub fn mode_table() -> String {
    let mut table =
        "| agent · mode | for | tool groups | depends on |\n| --- | --- | --- | --- |\n".to_owned();
    for agent in AGENTS {
        for mode in agent.modes {
            let groups: Vec<String> = mode.tool_groups.iter().map(|access| access.shown()).collect();
            let row = [&*groups.join(", "), &mode.dependencies.join(", ")];
            let [groups, dependencies] = row.map(|text| if text.is_empty() { "(none)" } else { text });
            let (agent, slug, purpose) = (agent.name, mode.slug, mode.description);
            // Writing to a string does not fail.
            let _ = writeln!(table, "| {agent} · {slug} | {purpose} | {groups} | {dependencies} |");
        }
    }
    table
}
