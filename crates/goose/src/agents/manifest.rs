//! Agents as data: [`AgentManifest`] with its modes, and for each mode the services that it depends on and
//! the tools that it may use.
//!
//! The JSON form is used to exchange agents and in files that people write: `name`, `metadata.dependencies`,
//! `metadata.capabilities`, `modes[].slug`, `modes[].tool_groups`, `modes[].dependencies`.

use goose_extension::ToolGroup;
use goose_fs::head_chars;
use goose_router::Means;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::connection::AgentConnection;
pub use super::group_access::{FileRestriction, GroupAccess};
use crate::config::ConfigError;

/// Group of all services.
pub(crate) const ALL_SERVICES: &str = "mcp";

/// Groups with tools that can change files.
const WRITING_GROUPS: [&str; 4] = ["developer", "edit", "command", ALL_SERVICES];

/// Maximum length of the name of an agent or mode.
const MAX_NAME: usize = 63;

/// Maximum number of modes of an agent.
const MAX_MODES: usize = 64;

/// Maximum length of the instructions of an agent or mode, in bytes.
const MAX_INSTRUCTIONS: usize = 256 * 1024;

/// Description of an agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentManifest {
    /// Name, such as `coding-agent`.
    pub name: String,
    /// Purpose, in a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Dependencies, capabilities and recommended models.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
    /// Instructions for the model in all modes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instructions: String,
    /// Connection settings of an external agent. Its modes list what it may use here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<AgentConnection>,
    /// Modes. The agent starts in the first one.
    pub modes: Vec<AgentMode>,
}

/// Metadata of an agent, in the form of the Agent Communication Protocol.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// Services that the agent needs. They apply to modes that do not list dependencies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<Dependency>,
    /// Abilities, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<Capability>,
    /// Models that suit the agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recommended_models: Vec<String>,
}

impl Metadata {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A mode of an agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentMode {
    /// Name, such as `backend`.
    pub slug: String,
    /// Purpose, in a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Requests that the mode is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub when_to_use: String,
    /// Instructions for the model.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instructions: String,
    /// Groups of tools that the mode may use: names of extensions, semantic groups of its dependencies, or
    /// `mcp` for all services. An empty list means no tools.
    #[serde(default)]
    pub tool_groups: Vec<GroupAccess>,
    /// Extensions that the mode depends on.
    #[serde(default)]
    pub dependencies: Vec<Dependency>,
    /// Models that suit the mode.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recommended_models: Vec<String>,
    /// Temperature of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// Maximum number of model requests for one reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// Step of a request that the mode is for, if other agents do the rest of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<RequestStep>,
}

/// A step of a request, with the one before or after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestStep {
    /// Writes a plan. Before it, the session's agent explores with the tools that read.
    Plan,
    /// Does what concerns goose itself. After it, the session's agent continues with the rest.
    OwnPart,
}

/// A service that an agent depends on. In files it is a name, or `{type, name}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "WrittenDependency")]
pub struct Dependency(pub String);

impl Dependency {
    /// Returns the name of the service.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Dependency {
    fn from(name: &str) -> Self {
        Self(name.to_owned())
    }
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected the name of an extension or agent, or {type, name}")]
enum WrittenDependency {
    Name(String),
    Typed { name: String },
}

impl From<WrittenDependency> for Dependency {
    fn from(written: WrittenDependency) -> Self {
        match written {
            WrittenDependency::Name(name) | WrittenDependency::Typed { name } => Self(name),
        }
    }
}

/// An ability of an agent. In files it is a name, or `{name, description}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "WrittenCapability", into = "WrittenCapability")]
pub struct Capability {
    /// Name of the ability.
    pub name: String,
    /// Explanation; may be empty.
    pub description: String,
}

impl From<&str> for Capability {
    fn from(name: &str) -> Self {
        Self { name: name.to_owned(), description: String::new() }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WrittenCapability {
    Name(String),
    Described { name: String, description: String },
}

impl From<WrittenCapability> for Capability {
    fn from(written: WrittenCapability) -> Self {
        match written {
            WrittenCapability::Name(name) => name.as_str().into(),
            WrittenCapability::Described { name, description } => Self { name, description },
        }
    }
}

impl From<Capability> for WrittenCapability {
    fn from(Capability { name, description }: Capability) -> Self {
        match description.is_empty() {
            true => Self::Name(name),
            false => Self::Described { name, description },
        }
    }
}

/// Error for an invalid manifest, with what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct InvalidManifest(String);

impl InvalidManifest {
    pub(super) fn new(reason: impl ToString) -> Self {
        Self(reason.to_string())
    }
}

impl From<ConfigError> for InvalidManifest {
    fn from(error: ConfigError) -> Self {
        Self::new(error)
    }
}

fn invalid<T>(reason: impl ToString) -> Result<T, InvalidManifest> {
    Err(InvalidManifest::new(reason))
}

impl AgentManifest {
    /// Creates an agent with a single mode, whose description it has.
    pub(super) fn with_one_mode(name: String, mode: AgentMode) -> Self {
        Self { name, description: mode.description.clone(), modes: vec![mode], ..Self::default() }
    }

    /// Checks names and limits.
    ///
    /// # Errors
    ///
    /// Returns the first problem, and what to do about it.
    pub fn validate(&self) -> Result<(), InvalidManifest> {
        check_name(&self.name)?;
        check_instructions(&self.name, &self.instructions)?;
        if let Some(connection) = &self.connection {
            connection.as_extension(&self.name)?;
        }
        match self.modes.len() {
            0 => return invalid("the agent has no modes; give it at least one under 'modes:'"),
            1..=MAX_MODES => {}
            _ => return invalid(format!("the agent has more than {MAX_MODES} modes")),
        }
        for (index, mode) in self.modes.iter().enumerate() {
            mode.validate()?;
            if self.modes[..index].iter().any(|other| other.slug == mode.slug) {
                let name = &mode.slug;
                return invalid(format!("two modes are called '{name}'; rename one of them"));
            }
        }
        Ok(())
    }

    /// Returns the mode of a name. `-` and `_` are equivalent.
    pub fn mode(&self, slug: &str) -> Option<&AgentMode> {
        let plain = |name: &str| name.replace('-', "_");
        self.modes.iter().find(|mode| plain(&mode.slug) == plain(slug))
    }
}

impl AgentMode {
    /// Creates a mode.
    pub fn new(
        slug: impl Into<String>,
        tool_groups: impl IntoIterator<Item = impl Into<GroupAccess>>,
        dependencies: impl IntoIterator<Item = impl Into<Dependency>>,
    ) -> Self {
        Self {
            slug: slug.into(),
            tool_groups: tool_groups.into_iter().map(Into::into).collect(),
            dependencies: dependencies.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    fn validate(&self) -> Result<(), InvalidManifest> {
        check_name(&self.slug)?;
        check_instructions(&self.slug, &self.instructions)?;
        if self.temperature.is_some_and(|it| !(0.0..=2.0).contains(&it)) {
            let name = &self.slug;
            return invalid(format!("the temperature of '{name}' is not between 0 and 2"));
        }
        let restricted = self
            .tool_groups
            .iter()
            .find(|access| access.files.is_some() && !["read", "edit"].contains(&access.group.as_str()));
        match restricted {
            Some(access) => invalid(format!(
                "the mode '{}' restricts the group '{}' to some files; only 'read' and 'edit' can be restricted",
                self.slug, access.group
            )),
            None => Ok(()),
        }
    }

    /// Returns true if the mode has the group.
    pub fn has_group(&self, group: &str) -> bool {
        self.tool_groups.iter().any(|access| access.group == group)
    }

    /// Returns true if the mode depends on the extension.
    pub fn depends_on(&self, extension: &str) -> bool {
        self.dependencies.iter().any(|dependency| dependency.name() == extension)
    }

    /// Returns true if the mode can change at least some files.
    pub(crate) fn can_write(&self) -> bool {
        WRITING_GROUPS.iter().any(|group| self.has_group(group))
    }

    /// Returns the means that the groups give, as far as goose knows their tools. A mode that can run
    /// commands can also fetch.
    pub fn means(&self) -> Means {
        let means = self.tool_groups.iter().map(|access| match (access.group.as_str(), &access.files) {
            ("developer", _) => Means::ALL,
            ("read", _) => Means::LOOK,
            ("edit", None) => Means::EDIT,
            ("edit", Some(files)) if files.allows_markdown() => Means::DOCUMENTS,
            ("command", _) => Means::RUN | Means::FETCH,
            ("fetch" | "browser", _) => Means::FETCH,
            _ => Means::NONE,
        });
        means.fold(Means::NONE, |all, means| all | means)
    }

    /// Returns true if the mode can run programs.
    pub fn can_run_commands(&self) -> bool {
        self.has_group("command") || self.has_group("developer")
    }

    /// Returns true if the mode can use any tool of an extension, as far as that is known before it is
    /// started. `is_own` is true for an extension that is part of goose.
    pub fn can_use(&self, extension: &str, is_own: bool) -> bool {
        let is_dependency = is_own && self.depends_on(extension);
        self.tool_groups.iter().any(|access| {
            let group = access.group.as_str();
            group == extension
                || group == ALL_SERVICES
                || (is_dependency && group.parse::<ToolGroup>().is_ok())
        })
    }
}

fn check_name(name: &str) -> Result<(), InvalidManifest> {
    let is_first = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_next = |c: char| is_first(c) || c == '-' || c == '_';
    let is_name = name.len() <= MAX_NAME && name.starts_with(is_first) && name.chars().all(is_next);
    if is_name {
        return Ok(());
    }
    invalid(format!(
        "'{}' is not a name: use lower-case letters, digits, '-' and '_', at most {MAX_NAME}, and begin with a letter or digit",
        head_chars(name, MAX_NAME)
    ))
}

fn check_instructions(name: &str, text: &str) -> Result<(), InvalidManifest> {
    match text.len() {
        ..=MAX_INSTRUCTIONS => Ok(()),
        _ => invalid(format!("the instructions of '{name}' are longer than {MAX_INSTRUCTIONS} bytes")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_json_form_is_read_and_written_literally() {
        let written = json!({
            "name": "coding-agent",
            "metadata": {
                "dependencies": ["developer", "memory"],
                "capabilities": ["code_generation", "testing"]
            },
            "modes": [{
                "slug": "backend",
                "tool_groups": ["developer", ["edit", {"fileRegex": "\\.md$", "description": "Markdown only"}], "mcp"],
                "dependencies": ["developer", "memory"]
            }]
        });
        let manifest: AgentManifest = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(manifest.validate(), Ok(()));
        assert_eq!(serde_json::to_value(&manifest).unwrap(), written);
        let typed = json!([{"type": "tool", "name": "developer"}, "memory"]);
        let typed: Vec<Dependency> = serde_json::from_value(typed).unwrap();
        assert_eq!(typed, manifest.modes[0].dependencies);
        let files = manifest.modes[0].tool_groups[1].files.as_ref().unwrap();
        assert!(files.allows("docs/a.md") && !files.allows("a.md.sh"));
        assert_eq!(files.to_string(), "Markdown only");
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_reason() {
        let refused = |change: fn(&mut AgentManifest)| {
            let mode = AgentMode::new("main", ["read"], ["developer"]);
            let mut manifest =
                AgentManifest { name: "mine".into(), modes: vec![mode], ..AgentManifest::default() };
            assert_eq!(manifest.validate(), Ok(()));
            change(&mut manifest);
            manifest.validate().unwrap_err().to_string()
        };
        assert!(refused(|it| it.name = "../x".into()).contains("is not a name"));
        assert!(refused(|it| it.modes.clear()).contains("no modes"));
        assert!(refused(|it| it.modes.push(it.modes[0].clone())).contains("two modes"));
        assert!(refused(|it| it.modes[0].temperature = Some(9.0)).contains("temperature"));
        assert!(
            refused(|it| {
                let files = Some(FileRestriction::new("x", "").unwrap());
                it.modes[0].tool_groups = vec![GroupAccess { group: "command".into(), files }];
            })
            .contains("only 'read' and 'edit'")
        );
        assert!(FileRestriction::new("(", "").unwrap_err().to_string().contains("'('"));
    }
}
