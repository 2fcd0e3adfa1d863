//! Agents as data: their modes, and for each mode the services it depends on and the tools it may touch.

use goose_extension::ToolGroup;

/// The group of all services.
const ALL_SERVICES: &str = "mcp";

/// An agent's description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentManifest {
    /// Its name.
    pub name: String,
    /// Its modes; it begins in the first one.
    pub modes: Vec<AgentMode>,
}

impl AgentManifest {
    /// The agent that people talk to.
    pub fn goose() -> Self {
        Self { name: "goose-agent".to_owned(), modes: vec![AgentMode::assistant()] }
    }
}

/// A mode of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentMode {
    /// Its name.
    pub name: String,
    /// The groups whose tools it may touch: names of extensions, semantic groups of the extensions that it depends on, or
    /// `mcp` for all services. None means no tools.
    pub tool_groups: Vec<String>,
    /// The extensions that it depends on.
    pub depends_on: Vec<String>,
}

impl AgentMode {
    /// A mode.
    pub fn new(
        name: impl Into<String>,
        tool_groups: impl IntoIterator<Item = impl Into<String>>,
        depends_on: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self {
            name: name.into(),
            tool_groups: tool_groups.into_iter().map(Into::into).collect(),
            depends_on: depends_on.into_iter().map(Into::into).collect(),
        }
    }

    /// Returns whether the mode can touch any tool of an extension, as far as that is known before it is started.
    /// `is_own` says whether the extension is a part of goose.
    pub fn can_use(&self, extension: &str, is_own: bool) -> bool {
        let is_dependency = is_own && self.depends_on.iter().any(|name| name == extension);
        self.tool_groups.iter().any(|group| {
            group == extension
                || group == ALL_SERVICES
                || (is_dependency && group.parse::<ToolGroup>().is_ok())
        })
    }

    /// The mode that people talk to.
    pub fn assistant() -> Self {
        Self::new("assistant", ["developer", "memory", "todo", "mcp"], ["developer", "memory", "todo"])
    }

    /// The mode that judges what others did, and touches nothing.
    pub fn judge() -> Self {
        Self::new("judge", [""; 0], [""; 0])
    }
}
