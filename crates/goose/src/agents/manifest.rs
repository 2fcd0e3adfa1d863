//! What agents are: their modes, and for each mode the services it depends on and the tools it may touch. Data, no code.

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

    /// The mode that people talk to.
    pub fn assistant() -> Self {
        Self::new("assistant", ["developer", "memory", "todo", "mcp"], ["developer", "memory", "todo"])
    }

    /// The mode that judges what others did, and touches nothing.
    pub fn judge() -> Self {
        Self::new("judge", [""; 0], [""; 0])
    }
}
