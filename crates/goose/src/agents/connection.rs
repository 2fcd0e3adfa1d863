//! [`AgentConnection`]: how to reach an external agent, and the `agents:` section of `config.yaml`, which
//! lists such agents.
//!
//! ```yaml
//! agents:
//!   gemini:
//!     description: Google's coding agent
//!     type: acp                     # a program that speaks the Agent Client Protocol on its stdio
//!     command: gemini
//!     args: [--acp]
//!     env_keys: [GEMINI_API_KEY]    # secrets by name, as for extensions
//!   reviewer:
//!     type: acp_http                # a server that speaks the Agent Communication Protocol
//!     url: http://127.0.0.1:8000
//!     agent: reviewer               # its name there
//! ```

use std::{
    collections::BTreeMap,
    fmt::Display,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::manifest::{AgentManifest, AgentMode, Dependency, GroupAccess, InvalidManifest};
use crate::config::{
    ConfigError, ExtensionConfig, ExtensionKind, MAX_TIMEOUT, Values, read_yaml, shown_address,
    shown_arguments, shown_header, shown_value,
};

/// Slug of the mode of an agent with a single mode.
pub(super) const ONLY_MODE: &str = "main";

/// Group of an external agent whose entry names none. Its requests are judged like calls of these tools.
const DEFAULT_GROUP: &str = "developer";

/// Protocol that an agent speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionKind {
    /// Agent Client Protocol, on the standard input and output of a program.
    #[default]
    Acp,
    /// Agent Communication Protocol, over HTTP.
    AcpHttp,
}

/// Connection settings of an external agent. They are serialized without values that look like secrets.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentConnection {
    /// Protocol of the agent.
    #[serde(rename = "type")]
    pub kind: ConnectionKind,
    /// Program to start.
    #[serde(default, alias = "cmd", skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Arguments of the program.
    #[serde(default, serialize_with = "shown_args", skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Folder that the program starts in; by default the session's. Its sessions always work in the session's
    /// folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Address of the server.
    #[serde(default, alias = "uri", serialize_with = "shown_url", skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Name of the agent on the server; by default the name here, or the server's only agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Headers of every request. `$VAR` and `${VAR}` are replaced.
    #[serde(default, serialize_with = "shown_headers", skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: Values,
    /// Environment variables with literal values.
    #[serde(default, serialize_with = "shown_envs", skip_serializing_if = "BTreeMap::is_empty")]
    pub envs: Values,
    /// Names of environment variables whose values are secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env_keys: Vec<String>,
    /// Number of seconds that the agent may be silent while it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
}

fn shown_args<S: Serializer>(args: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(shown_arguments(&args.iter().collect::<Vec<_>>()))
}

fn shown_url<S: Serializer>(url: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    url.as_deref().map(shown_address).serialize(serializer)
}

fn shown_headers<S: Serializer>(headers: &Values, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(headers.iter().map(|(name, value)| (name, shown_header(name, value))))
}

fn shown_envs<S: Serializer>(envs: &Values, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(envs.iter().map(|(name, value)| (name, shown_value(name, value))))
}

impl AgentConnection {
    /// Creates a connection to a program.
    pub fn program(command: impl Into<String>, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self { command: Some(command.into()), args, ..Self::default() }
    }

    /// Creates a connection to a server.
    pub fn server(url: impl Into<String>) -> Self {
        Self { kind: ConnectionKind::AcpHttp, url: Some(url.into()), ..Self::default() }
    }

    /// Returns how long the agent may be silent while it works, if that is configured.
    pub fn silence_limit(&self) -> Option<Duration> {
        Some(Duration::from_secs(self.timeout?).min(MAX_TIMEOUT))
    }

    /// Converts the connection to an extension that is started in the same way. The rules for programs,
    /// addresses, environments and secrets are those of extensions.
    ///
    /// # Errors
    ///
    /// Returns what to change if the connection is incomplete or invalid.
    pub(crate) fn as_extension(&self, name: &str) -> Result<ExtensionConfig, ConfigError> {
        let missing = |field: &str, example: &str| {
            ConfigError::extension(name, format!("'{field}' is missing; write '{field}: {example}'"))
        };
        let (envs, env_keys) = (self.envs.clone(), self.env_keys.clone());
        let kind = match self.kind {
            ConnectionKind::Acp => {
                let cmd = self.command.clone().ok_or_else(|| missing("command", "PROGRAM"))?;
                ExtensionKind::Stdio { cmd, args: self.args.clone(), envs, env_keys }
            }
            ConnectionKind::AcpHttp => {
                let uri = self.url.clone().ok_or_else(|| missing("url", "http://127.0.0.1:8000"))?;
                ExtensionKind::StreamableHttp {
                    uri,
                    headers: self.headers.clone(),
                    envs,
                    env_keys,
                    oauth: None,
                }
            }
        };
        let mut config = ExtensionConfig::new(name, kind);
        config.timeout_secs = self.timeout;
        config.check()?;
        Ok(config)
    }

    /// Returns the command line or the address for display, without secrets.
    pub fn shown_target(&self) -> String {
        let config = self.as_extension("agent").ok();
        config.and_then(|config| config.shown_target()).unwrap_or_default()
    }
}

/// Reads the enabled external agents of a `config.yaml`. Each entry that cannot be used is returned as the
/// reason.
pub(super) fn configured(path: &Path, text: &str) -> Vec<Result<AgentManifest, InvalidManifest>> {
    // Most configurations have no agents, and this runs often.
    if !text.contains("agents") {
        return Vec::new();
    }
    let agents = match read_yaml(path, text) {
        Ok(mut document) => document.get_mut("agents").map(Value::take).unwrap_or_default(),
        Err(error) => return vec![Err(error.into())],
    };
    match agents {
        Value::Null => Vec::new(),
        Value::Object(agents) => agents.into_iter().filter_map(|(name, entry)| one(name, entry)).collect(),
        _ => vec![Err(InvalidManifest::new("'agents' is a mapping of names to agents"))],
    }
}

fn one(name: String, entry: Value) -> Option<Result<AgentManifest, InvalidManifest>> {
    let said = |reason: &dyn Display| InvalidManifest::new(format!("agent '{name}': {reason}"));
    let agent: ConfiguredAgent = match serde_json::from_value(entry) {
        Ok(agent) => agent,
        Err(error) => return Some(Err(said(&error))),
    };
    if agent.enabled == Some(false) {
        return None;
    }
    let manifest = agent.manifest(name.clone());
    Some(manifest.validate().map_err(|error| said(&error)).map(|()| manifest))
}

/// An entry of `agents:` in `config.yaml`. The fields of the connection are at the same level as the others.
#[derive(Debug, Deserialize)]
struct ConfiguredAgent {
    enabled: Option<bool>,
    #[serde(default)]
    description: String,
    #[serde(default)]
    when_to_use: String,
    tool_groups: Option<Vec<GroupAccess>>,
    #[serde(default)]
    dependencies: Vec<Dependency>,
    #[serde(flatten)]
    connection: AgentConnection,
}

impl ConfiguredAgent {
    fn manifest(self, name: String) -> AgentManifest {
        let when_to_use =
            if self.when_to_use.is_empty() { self.description.clone() } else { self.when_to_use };
        let mode = only_mode(self.description, when_to_use, self.tool_groups, self.dependencies);
        AgentManifest { connection: Some(self.connection), ..AgentManifest::with_one_mode(name, mode) }
    }
}

/// Creates the mode of an external agent. Without explicit groups it has `developer` and the groups of its
/// dependencies.
pub(super) fn only_mode(
    description: String,
    when_to_use: String,
    tool_groups: Option<Vec<GroupAccess>>,
    mut dependencies: Vec<Dependency>,
) -> AgentMode {
    if !dependencies.iter().any(|dependency| dependency.name() == DEFAULT_GROUP) {
        dependencies.push(DEFAULT_GROUP.into());
    }
    let tool_groups = tool_groups
        .unwrap_or_else(|| dependencies.iter().map(|dependency| dependency.name().into()).collect());
    AgentMode {
        slug: ONLY_MODE.to_owned(),
        description,
        when_to_use,
        tool_groups,
        dependencies,
        ..AgentMode::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_shown_without_secrets() -> Result<(), serde_json::Error> {
        let connection: AgentConnection = serde_json::from_value(serde_json::json!({
            "type": "acp_http", "uri": "http://user:canary@localhost:8000/a",
            "headers": {"Authorization": "Bearer canary"}, "envs": {"SOME_TOKEN": "canary", "COLOUR": "blue"},
        }))?;
        let shown = serde_json::to_string(&connection)?;
        assert!(!shown.contains("canary") && shown.contains("blue"), "{shown}");
        assert!(!connection.shown_target().contains("canary"));
        Ok(())
    }
}
