//! [`RecipeExtension`]: an extension as a recipe writes it.

use std::collections::BTreeMap;

use serde::{
    Deserialize, Serialize, Serializer,
    ser::{Error as _, SerializeMap as _},
};
use serde_json::{Value, json};

use crate::config::{ConfigError, ExtensionConfig};

/// Extension of a recipe. It keeps fields that goose itself does not use, so that links stay the same.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct RecipeExtension(Fields);

/// Fields of all types of extensions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, expecting = "struct RecipeExtension")]
struct Fields {
    #[serde(rename = "type")]
    kind: Option<String>,
    name: Option<String>,
    description: Option<String>,
    display_name: Option<String>,
    timeout: Option<u64>,
    bundled: Option<bool>,
    available_tools: Option<Vec<String>>,
    cmd: Option<String>,
    args: Option<Vec<String>>,
    cwd: Option<String>,
    uri: Option<String>,
    socket: Option<String>,
    headers: Option<BTreeMap<String, String>>,
    envs: Option<BTreeMap<String, String>>,
    env_keys: Option<Vec<String>>,
    tools: Option<Vec<Value>>,
    instructions: Option<String>,
    code: Option<String>,
    dependencies: Option<Vec<String>>,
}

impl RecipeExtension {
    /// Creates a platform extension.
    pub(super) fn platform(name: &str) -> Self {
        Self(Fields { kind: Some("platform".to_owned()), name: Some(name.to_owned()), ..Fields::default() })
    }

    /// Returns true if the extension has this type and name.
    pub(super) fn is(&self, kind: &str, name: &str) -> bool {
        self.0.kind.as_deref() == Some(kind) && self.0.name.as_deref() == Some(name)
    }

    /// Returns the extension as the configuration has it.
    ///
    /// # Errors
    ///
    /// Fails if a field is missing. The message says which.
    pub fn config(&self) -> Result<ExtensionConfig, ConfigError> {
        let name = self.0.name.clone().unwrap_or_default();
        let unreadable = |error: serde_json::Error| ConfigError::extension(&name, error.to_string());
        serde_json::from_value(serde_json::to_value(self).map_err(unreadable)?).map_err(unreadable)
    }

    /// Returns the names of the fields that are written for the type, in their order.
    fn written(&self) -> impl Iterator<Item = &'static str> {
        let of_type: &[&str] = match self.0.kind.as_deref() {
            Some("stdio") => &["cmd", "args", "envs", "env_keys", "timeout", "cwd"],
            Some("streamable_http" | "sse") => &["uri", "envs", "env_keys", "headers", "timeout", "socket"],
            Some("inline_python") => &["code", "timeout", "dependencies"],
            Some("frontend") => &["tools", "instructions"],
            Some("platform") => &["display_name"],
            _ => &["display_name", "timeout"],
        };
        let has_tools = self.0.available_tools.as_ref().is_some_and(|tools| !tools.is_empty());
        let last = ["bundled"].into_iter().chain(has_tools.then_some("available_tools"));
        ["type", "name", "description"].into_iter().chain(of_type.iter().copied()).chain(last)
    }
}

impl Serialize for RecipeExtension {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = serde_json::to_value(&self.0).map_err(S::Error::custom)?;
        let mut map = serializer.serialize_map(None)?;
        for name in self.written() {
            let value = match (&fields[name], name) {
                (Value::Null, "description") => json!(""),
                (Value::Null, "args" | "env_keys" | "dependencies" | "tools") => json!([]),
                (Value::Null, "envs" | "headers") => json!({}),
                (value, _) => value.clone(),
            };
            map.serialize_entry(name, &value)?;
        }
        map.end()
    }
}
