//! The written form of an extension: one flat mapping, in which every field may be missing or `null`.
//!
//! A tagged enum would read the same files, but serde would buffer each value before it knows the type, and
//! `VERSION: 1.10` would become the number 1.1. Here every field has its type from the start.

use std::{
    collections::BTreeMap,
    fmt,
    ops::{Deref, DerefMut},
};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{
    ConfigError,
    extension::{ExtensionConfig, ExtensionKind, OAuthConfig},
};

/// Values of `type:` that errors suggest. The old `sse` is read, too.
const KNOWN_TYPES: &str = "builtin, platform, stdio, streamable_http, frontend, inline_python";

/// All fields of an extension, in the order in which they are written.
pub(crate) const FIELDS: [&str; 19] = [
    "enabled",
    "type",
    "name",
    "description",
    "display_name",
    "timeout",
    "bundled",
    "available_tools",
    "cmd",
    "args",
    "uri",
    "headers",
    "envs",
    "env_keys",
    "oauth",
    "tools",
    "instructions",
    "code",
    "dependencies",
];

/// Extension as it is written.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Wire {
    /// State of the entry in `config.yaml`, not of the extension.
    pub(crate) enabled: Option<bool>,
    #[serde(rename = "type")]
    kind: Option<String>,
    pub(crate) name: Option<String>,
    description: Option<String>,
    display_name: Option<String>,
    timeout: Option<u64>,
    bundled: Option<bool>,
    available_tools: Option<Vec<String>>,
    cmd: Option<String>,
    args: Option<Vec<String>>,
    uri: Option<String>,
    headers: Option<Values>,
    envs: Option<Values>,
    env_keys: Option<Vec<String>>,
    oauth: Option<OAuthConfig>,
    tools: Option<Vec<Value>>,
    instructions: Option<String>,
    code: Option<String>,
    dependencies: Option<Vec<String>>,
}

/// Reads a list that may be `null`.
pub(crate) fn null_is_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl TryFrom<Wire> for ExtensionConfig {
    type Error = ConfigError;

    fn try_from(mut wire: Wire) -> Result<Self, ConfigError> {
        let Some(name) = wire.name.take() else {
            return Err(ConfigError::extension("(no name)", "it has no name; add 'name: …'"));
        };
        Ok(Self {
            description: wire.description.take().unwrap_or_default(),
            display_name: wire.display_name.take(),
            timeout_secs: wire.timeout,
            bundled: wire.bundled,
            available_tools: wire.available_tools.take().unwrap_or_default(),
            kind: wire.into_kind(&name)?,
            name,
        })
    }
}

impl Wire {
    fn into_kind(self, name: &str) -> Result<ExtensionKind, ConfigError> {
        let wrong = |message: String| ConfigError::extension(name, message);
        let Some(kind) = self.kind.as_deref() else {
            return Err(wrong(format!("it has no type; add 'type: …', one of {KNOWN_TYPES}")));
        };
        let needed = |field: &str, value: Option<String>| {
            let missing = || format!("an extension of type {kind} needs '{field}'; add '{field}: …'");
            value.ok_or_else(|| wrong(missing()))
        };
        let (envs, env_keys) = (self.envs.unwrap_or_default(), self.env_keys.unwrap_or_default());
        Ok(match kind {
            "builtin" => ExtensionKind::Builtin { env_keys },
            "platform" => ExtensionKind::Platform,
            "stdio" => ExtensionKind::Stdio {
                cmd: needed("cmd", self.cmd)?,
                args: self.args.unwrap_or_default(),
                envs,
                env_keys,
            },
            "streamable_http" => ExtensionKind::StreamableHttp {
                uri: needed("uri", self.uri)?,
                headers: self.headers.unwrap_or_default(),
                envs,
                env_keys,
                oauth: self.oauth,
            },
            "frontend" => ExtensionKind::Frontend {
                tools: self.tools.unwrap_or_default(),
                instructions: self.instructions,
            },
            "inline_python" => ExtensionKind::InlinePython {
                code: needed("code", self.code)?,
                dependencies: self.dependencies.unwrap_or_default(),
            },
            "sse" => ExtensionKind::Sse { uri: self.uri },
            other => return Err(wrong(format!("there is no type '{other}'; use one of {KNOWN_TYPES}"))),
        })
    }
}

/// Names with values, sorted by name. `Debug` shows only the names, because users write secrets into their
/// configuration.
///
/// In YAML a value may be any scalar and is used as written: `PORT: 8080` is `"8080"`, `VERSION: 1.10` is
/// `"1.10"`, and an empty value is `""`.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, Option<String>>")]
pub struct Values(BTreeMap<String, String>);

impl From<BTreeMap<String, Option<String>>> for Values {
    fn from(written: BTreeMap<String, Option<String>>) -> Self {
        Self(written.into_iter().map(|(name, value)| (name, value.unwrap_or_default())).collect())
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Values {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

impl Deref for Values {
    type Target = BTreeMap<String, String>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Values {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
