//! [`AgentConnection`]: the way to an external agent, and the `agents:` of `config.yaml`, where people list them.
//!
//! ```yaml
//! agents:
//!   gemini:
//!     description: Google's coding agent
//!     type: acp                     # a program that speaks the Agent Client Protocol on its standard streams
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
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::manifest::{AgentManifest, AgentMode, Dependency, GroupAccess};
use crate::config::{
    ConfigError, ExtensionConfig, ExtensionKind, MAX_TIMEOUT, Values, read_yaml, shown_address,
    shown_arguments, shown_header, shown_value,
};

/// The mode of an agent that has only one.
pub(super) const ONLY_MODE: &str = "main";

/// The group that such an agent has unless its entry says something else: its requests are judged like calls of these tools.
const DEFAULT_GROUP: &str = "developer";

/// The protocol that an agent speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionKind {
    /// The Agent Client Protocol, spoken by a program on its standard input and output.
    #[default]
    Acp,
    /// The Agent Communication Protocol, spoken by a server.
    AcpHttp,
}

/// The way to an external agent. It is written without what looks like a secret.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentConnection {
    /// The protocol.
    #[serde(rename = "type")]
    pub kind: ConnectionKind,
    /// The program to start.
    #[serde(default, alias = "cmd", skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its arguments.
    #[serde(default, serialize_with = "shown_args", skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The folder that it starts in; by default the session's. Its sessions are in the session's folder in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// The address of the server.
    #[serde(default, alias = "uri", serialize_with = "shown_url", skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The agent's name on the server; by default the name here, or the only agent that the server has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Headers of every request; `$VAR` and `${VAR}` are replaced.
    #[serde(default, serialize_with = "shown_headers", skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: Values,
    /// Environment variables, literally.
    #[serde(default, serialize_with = "shown_envs", skip_serializing_if = "BTreeMap::is_empty")]
    pub envs: Values,
    /// Environment variables whose values are secrets, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env_keys: Vec<String>,
    /// The seconds that the agent may be silent while it works.
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
    /// A program.
    pub fn program(command: impl Into<String>, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self { command: Some(command.into()), args, ..Self::default() }
    }

    /// A server.
    pub fn server(url: impl Into<String>) -> Self {
        Self { kind: ConnectionKind::AcpHttp, url: Some(url.into()), ..Self::default() }
    }

    /// The time that the agent may be silent while it works, if one is configured.
    pub fn silence_limit(&self) -> Option<Duration> {
        Some(Duration::from_secs(self.timeout?).min(MAX_TIMEOUT))
    }

    /// The extension that would be started in the same way: the rules about programs, addresses, environments and secrets are
    /// those of extensions.
    ///
    /// # Errors
    ///
    /// Returns what to change if it cannot work.
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

    /// The command line or the address without secrets, to be shown.
    pub fn shown_target(&self) -> String {
        let config = self.as_extension("agent").ok();
        config.and_then(|config| config.shown_target()).unwrap_or_default()
    }
}

/// Reads the external agents in a `config.yaml`: those that are not switched off, each with the reason if it cannot be
/// used.
pub(super) fn configured(path: &Path, text: &str) -> Vec<Result<AgentManifest, String>> {
    // Most configurations have none, and this is read often.
    if !text.contains("agents") {
        return Vec::new();
    }
    let agents = match read_yaml(path, text) {
        Ok(mut document) => document.get_mut("agents").map(Value::take).unwrap_or_default(),
        Err(error) => return vec![Err(error.to_string())],
    };
    match agents {
        Value::Null => Vec::new(),
        Value::Object(agents) => agents.into_iter().filter_map(|(name, entry)| one(name, entry)).collect(),
        _ => vec![Err("'agents' is a mapping of names to agents".to_owned())],
    }
}

fn one(name: String, entry: Value) -> Option<Result<AgentManifest, String>> {
    let said = |reason: String| format!("agent '{name}': {reason}");
    let agent: ConfiguredAgent = match serde_json::from_value(entry) {
        Ok(agent) => agent,
        Err(error) => return Some(Err(said(error.to_string()))),
    };
    if agent.enabled == Some(false) {
        return None;
    }
    let manifest = agent.manifest(name.clone());
    Some(manifest.validate().map_err(|error| said(error.to_string())).map(|()| manifest))
}

/// An agent in `config.yaml`. The fields of its connection stand beside the others.
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
        let mode = only_mode(self.description.clone(), when_to_use, self.tool_groups, self.dependencies);
        AgentManifest {
            name,
            description: self.description,
            connection: Some(self.connection),
            modes: vec![mode],
            ..AgentManifest::default()
        }
    }
}

/// The mode of an external agent. Without groups of its own it has `developer` and what it depends on.
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
