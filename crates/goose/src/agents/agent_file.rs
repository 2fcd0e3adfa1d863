//! Reads agents from files: manifests in YAML or JSON, Markdown with front matter (the form of goose 1.52 and
//! Claude Code), and Roo's `.roomodes`.

use std::path::Path;

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use serde_path_to_error::Segment;

use super::{
    acp_manifest,
    connection::{self, AgentConnection, ONLY_MODE},
    manifest::{AgentManifest, AgentMode, Dependency, GroupAccess, InvalidManifest},
};
use crate::config::{self, ANY, KnownKeys, UnknownKey, read_yaml, yaml_position};

/// Name of the file with Roo's modes.
pub(super) const ROO_MODES: &str = ".roomodes";

/// Tool names of other products, in lower case, each with the matching group.
const TOOLS_OF_OTHERS: &[(&str, &str)] = &[
    ("read", "read"),
    ("grep", "read"),
    ("glob", "read"),
    ("ls", "read"),
    ("notebookread", "read"),
    ("edit", "edit"),
    ("multiedit", "edit"),
    ("write", "edit"),
    ("notebookedit", "edit"),
    ("bash", "command"),
    ("webfetch", "fetch"),
    ("websearch", "fetch"),
    ("todowrite", "todo"),
];

/// Keys of a manifest, with those of the Agent Communication Protocol and of Roo.
const AGENT_KEYS: &[&str] =
    &["modes", "metadata", "customModes", "input_content_types", "output_content_types", "status", "version"];

/// Keys of an agent with a single mode.
const SINGLE_MODE_KEYS: &[&str] = &[
    "name",
    "description",
    "when_to_use",
    "whenToUse",
    "instructions",
    "prompt",
    "model",
    "tools",
    "tool_groups",
    "dependencies",
    "temperature",
    "max_turns",
    "maxTurns",
    "connection",
];

/// Keys of a mode.
const MODE_KEYS: &[&str] = &[
    "slug",
    "description",
    "when_to_use",
    "instructions",
    "tool_groups",
    "dependencies",
    "recommended_models",
    "temperature",
    "max_turns",
    "step",
];

const METADATA_KEYS: &[&str] =
    &["dependencies", "capabilities", "recommended_models", "modes", "instructions", "framework"];

/// An agent with a single mode, as Markdown files and short YAML files describe it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SingleModeAgent {
    name: Option<String>,
    description: String,
    #[serde(alias = "whenToUse")]
    when_to_use: String,
    #[serde(alias = "prompt")]
    instructions: String,
    model: Option<String>,
    tools: Option<Value>,
    tool_groups: Option<Vec<GroupAccess>>,
    dependencies: Option<Vec<Dependency>>,
    temperature: Option<f32>,
    #[serde(alias = "maxTurns")]
    max_turns: Option<u32>,
    /// Connection, for an external agent.
    connection: Option<AgentConnection>,
}

/// A mode in the format of Roo.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RooMode {
    slug: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    role_definition: String,
    #[serde(default)]
    when_to_use: String,
    #[serde(default)]
    custom_instructions: String,
    #[serde(default)]
    groups: Vec<GroupAccess>,
}

/// Returns true if a file may contain an agent.
pub(super) fn is_agent_file(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("yaml" | "yml" | "json" | "md"))
}

/// Reads the agents of a file.
///
/// # Errors
///
/// Returns the reason for the user.
pub(super) fn read(path: &Path, text: &str) -> Result<Vec<AgentManifest>, InvalidManifest> {
    let is_markdown = path.extension().is_some_and(|extension| extension == "md");
    let agents = match is_markdown {
        true => vec![from_markdown(path, text)?],
        false => from_document(path, text, document(path, text)?)?,
    };
    agents.iter().try_for_each(AgentManifest::validate)?;
    Ok(agents)
}

fn document(path: &Path, text: &str) -> Result<Map<String, Value>, InvalidManifest> {
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    let value: Value = match is_json {
        true => serde_json::from_str(text).map_err(InvalidManifest::new)?,
        false => read_yaml(path, text)?,
    };
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(InvalidManifest::new("an agent is a mapping with 'name' and 'modes'")),
    }
}

fn from_document(
    path: &Path,
    text: &str,
    mut document: Map<String, Value>,
) -> Result<Vec<AgentManifest>, InvalidManifest> {
    if let Some(modes) = document.remove("customModes") {
        let modes: Vec<RooMode> = parsed(modes, text, &["customModes"])?;
        return Ok(modes.into_iter().map(from_roo).collect());
    }
    acp_manifest::lift(&mut document);
    give_dependencies(&mut document);
    let value = Value::Object(document);
    match value.get("modes") {
        Some(_) => Ok(vec![parsed(value, text, &[])?]),
        None => Ok(vec![with_one_mode(path, parsed(value, text, &[])?)]),
    }
}

/// Parses a value of a text. An error names the line and the field; `above` is the path of the value.
fn parsed<T: DeserializeOwned>(value: Value, text: &str, above: &[&str]) -> Result<T, InvalidManifest> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let below = error.path().iter().map(|segment| match segment {
            Segment::Seq { index } => index.to_string(),
            other => other.to_string(),
        });
        let path: Vec<String> = above.iter().map(ToString::to_string).chain(below).collect();
        let line = yaml_position(text, &path).map(|(line, _)| format!("line {line}, ")).unwrap_or_default();
        InvalidManifest::new(format!("{line}'{}': {}", path.join("."), error.inner()))
    })
}

/// Returns the keys of a file that an agent does not have. Front matter may be for other programs as well.
pub(super) fn unknown_keys(path: &Path, text: &str) -> Vec<UnknownKey> {
    let is_markdown = path.extension().is_some_and(|extension| extension == "md");
    if is_markdown {
        let known = [KnownKeys { path: &[], keys: SINGLE_MODE_KEYS, is_open: true }];
        let head = front_matter(text).map(|(head, _)| format!("\n{head}")).unwrap_or_default();
        return config::unknown_keys(path, &head, &known);
    }
    let top: Vec<&str> = AGENT_KEYS.iter().chain(SINGLE_MODE_KEYS).copied().collect();
    let known = [
        KnownKeys { path: &[], keys: &top, is_open: false },
        KnownKeys { path: &["modes", ANY], keys: MODE_KEYS, is_open: false },
        KnownKeys { path: &["metadata"], keys: METADATA_KEYS, is_open: true },
        KnownKeys { path: &["metadata", "modes", ANY], keys: MODE_KEYS, is_open: false },
    ];
    config::unknown_keys(path, text, &known)
}

/// Copies the dependencies of the agent to the modes that do not list any.
fn give_dependencies(manifest: &mut Map<String, Value>) {
    let Some(dependencies) = manifest.get("metadata").and_then(|it| it.get("dependencies")).cloned() else {
        return;
    };
    let modes = manifest.get_mut("modes").and_then(Value::as_array_mut);
    for mode in modes.into_iter().flatten().filter_map(Value::as_object_mut) {
        mode.entry("dependencies").or_insert_with(|| dependencies.clone());
    }
}

fn from_markdown(path: &Path, text: &str) -> Result<AgentManifest, InvalidManifest> {
    let (head, body) = front_matter(text).ok_or_else(|| {
        InvalidManifest::new(
            "a Markdown agent begins with a front matter between two lines '---', with at least 'name' and 'description'",
        )
    })?;
    // The line before it counts.
    let head = format!("\n{head}");
    let mut written: SingleModeAgent = match read_yaml(path, &head)? {
        Value::Null => SingleModeAgent::default(),
        value => parsed(value, &head, &[])?,
    };
    body.trim().clone_into(&mut written.instructions);
    Ok(with_one_mode(path, written))
}

/// Splits a text into its front matter and the rest.
pub(crate) fn front_matter(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches('\u{feff}');
    let rest = text.strip_prefix("---")?.trim_start_matches([' ', '\t', '\r']).strip_prefix('\n')?;
    let end = rest.match_indices("---").map(|(at, _)| at).find(|&at| {
        let line_before = rest[..at].is_empty() || rest[..at].ends_with('\n');
        line_before && rest[at + 3..].lines().next().is_none_or(|line| line.trim().is_empty())
    })?;
    Some((&rest[..end], rest[end + 3..].trim_start_matches([' ', '\t', '\r'])))
}

fn with_one_mode(path: &Path, written: SingleModeAgent) -> AgentManifest {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let name = slug(written.name.as_deref().unwrap_or(&stem));
    let when_to_use = match written.when_to_use.is_empty() {
        true => written.description.clone(),
        false => written.when_to_use,
    };
    let description = written.description;
    if let Some(connection) = written.connection {
        let dependencies = written.dependencies.unwrap_or_default();
        let mode = connection::only_mode(description, when_to_use, written.tool_groups, dependencies);
        return AgentManifest { connection: Some(connection), ..AgentManifest::with_one_mode(name, mode) };
    }
    let listed = written.tools.as_ref().map(tool_names);
    let tool_groups = match (written.tool_groups, listed) {
        (Some(groups), _) => groups,
        (None, Some(tools)) => groups_of(&tools),
        (None, None) => ["developer", "memory", "mcp"].map(GroupAccess::from).into(),
    };
    let model = written.model.filter(|model| model != "inherit");
    let mode = AgentMode {
        slug: ONLY_MODE.to_owned(),
        description,
        when_to_use,
        instructions: written.instructions,
        dependencies: written.dependencies.unwrap_or_else(|| dependencies(&tool_groups)),
        tool_groups,
        recommended_models: model.into_iter().collect(),
        temperature: written.temperature,
        max_turns: written.max_turns,
        step: None,
    };
    AgentManifest::with_one_mode(name, mode)
}

fn from_roo(roo: RooMode) -> AgentManifest {
    let instructions = [roo.role_definition.as_str(), roo.custom_instructions.as_str()];
    let instructions: Vec<&str> =
        instructions.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect();
    let mode = AgentMode {
        slug: ONLY_MODE.to_owned(),
        description: if roo.description.is_empty() { roo.name } else { roo.description },
        when_to_use: roo.when_to_use,
        instructions: instructions.join("\n\n"),
        dependencies: dependencies(&roo.groups),
        tool_groups: roo.groups,
        ..AgentMode::default()
    };
    AgentManifest::with_one_mode(slug(&roo.slug), mode)
}

/// Returns the services that groups need if the file does not list dependencies.
fn dependencies(groups: &[GroupAccess]) -> Vec<Dependency> {
    let has = |names: &[&str]| groups.iter().any(|access| names.contains(&access.group.as_str()));
    let mut needed = Vec::new();
    needed.extend(has(&["developer", "read", "edit", "command"]).then_some("developer"));
    needed.extend(has(&["memory"]).then_some("memory"));
    needed.extend(has(&["fetch", "browser"]).then_some("computercontroller"));
    needed.extend(has(&["todo"]).then_some("todo"));
    needed.into_iter().map(Dependency::from).collect()
}

/// Returns the tools that a file lists, as a list or as one string with commas.
fn tool_names(tools: &Value) -> Vec<String> {
    let names: Vec<&str> = match tools {
        Value::String(text) => text.split(',').collect(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    names.into_iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

/// Returns the groups that match tools of other products. Unknown names are ignored.
fn groups_of(tools: &[String]) -> Vec<GroupAccess> {
    let mut groups: Vec<GroupAccess> = Vec::new();
    for tool in tools {
        // `Bash(git:*)` restricts the command; here the permissions do that.
        let name = tool.split('(').next().unwrap_or_default().to_ascii_lowercase();
        let group = match name.strip_prefix("mcp__") {
            Some(rest) => rest.split("__").next().unwrap_or_default().to_owned(),
            None if name == "*" => "mcp".to_owned(),
            None => match TOOLS_OF_OTHERS.iter().find(|(other, _)| *other == name) {
                Some((_, group)) => (*group).to_owned(),
                None => name,
            },
        };
        let access = GroupAccess { group, files: None };
        if !groups.contains(&access) {
            groups.push(access);
        }
    }
    groups
}

/// Turns any text into a name: `Code Reviewer` becomes `code-reviewer`.
fn slug(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c.to_ascii_lowercase() } else { '-' };
    let slug: String = text.trim().chars().map(plain).collect();
    slug.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(path: &str, text: &str) -> AgentManifest {
        let mut agents = read(Path::new(path), text).unwrap();
        assert_eq!(agents.len(), 1);
        agents.remove(0)
    }

    fn groups(agent: &AgentManifest) -> Vec<&str> {
        agent.modes[0].tool_groups.iter().map(|access| access.group.as_str()).collect()
    }

    #[test]
    fn markdown_as_other_agents_have_it() {
        let text = "---\nname: Code Reviewer\ndescription: Reviews code\ntools: Read, Grep, Bash(git diff:*), mcp__github__x\n\
                    model: sonnet\n---\nLook at the diff.\n--- not the end\n";
        let agent = one("agents/reviewer.md", text);
        assert_eq!(agent.name, "code-reviewer");
        assert_eq!(groups(&agent), ["read", "command", "github"]);
        assert_eq!(agent.modes[0].dependencies, ["developer"].map(Dependency::from));
        assert_eq!(agent.modes[0].recommended_models, ["sonnet"]);
        assert_eq!(agent.modes[0].instructions, "Look at the diff.\n--- not the end");

        let inherits = one("agents/helper.md", "---\ndescription: Helps\nmodel: inherit\n---\nHelp.");
        assert_eq!(
            (inherits.name.as_str(), groups(&inherits)),
            ("helper", vec!["developer", "memory", "mcp"])
        );
        assert!(inherits.modes[0].recommended_models.is_empty());
        assert!(read(Path::new("a.md"), "no front matter").unwrap_err().to_string().contains("front matter"));
    }

    #[test]
    fn modes_of_roo() {
        let text = "customModes:\n  - slug: docs-writer\n    name: Docs\n    roleDefinition: You write docs.\n    groups:\n      \
                    - read\n      - - edit\n        - fileRegex: \\.(md|mdx)$\n          description: Docs only\n      - browser\n";
        let agent = one(".roomodes", text);
        assert_eq!((agent.name.as_str(), groups(&agent)), ("docs-writer", vec!["read", "edit", "browser"]));
        let files = agent.modes[0].tool_groups[1].files.as_ref().unwrap();
        assert!(files.allows("a/b.mdx") && !files.allows("a.rs"));
        assert_eq!(agent.modes[0].dependencies, ["developer", "computercontroller"].map(Dependency::from));
    }

    #[test]
    fn modes_without_dependencies_have_those_of_the_agent() {
        let text = r#"{"name": "a", "metadata": {"dependencies": ["developer", {"type": "tool", "name": "memory"}]},
            "modes": [{"slug": "one", "tool_groups": ["read"]}, {"slug": "two", "dependencies": []}]}"#;
        let agent = one("a.json", text);
        assert_eq!(agent.modes[0].dependencies, ["developer", "memory"].map(Dependency::from));
        assert!(agent.modes[1].dependencies.is_empty());
    }

    #[test]
    fn manifests_travel_through_the_agent_communication_protocol() {
        for agent in super::super::builtin_mode::manifests() {
            assert_eq!(agent.validate(), Ok(()));
            let sent = agent.to_acp();
            assert_eq!(sent["metadata"]["dependencies"][0]["type"], "tool");
            let mut back = one("agent.json", &sent.to_string());
            back.metadata.capabilities.iter_mut().for_each(|it| it.description.clear());
            assert_eq!(back, agent);
        }
    }
}
