//! [`RecipeExtension`]: an extension as a recipe writes it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap as _};
use serde_json::Value;

use crate::config::{ConfigError, ExtensionConfig};

/// Extension of a recipe. It keeps fields that goose itself does not use, so that links stay the same.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct RecipeExtension {
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
        Self { kind: Some("platform".to_owned()), name: Some(name.to_owned()), ..Self::default() }
    }

    /// Returns true if the extension has this type and name.
    pub(super) fn is(&self, kind: &str, name: &str) -> bool {
        self.kind.as_deref() == Some(kind) && self.name.as_deref() == Some(name)
    }

    /// Returns the extension as the configuration has it.
    ///
    /// # Errors
    ///
    /// Fails if a field is missing. The message says which.
    pub fn config(&self) -> Result<ExtensionConfig, ConfigError> {
        let name = self.name.clone().unwrap_or_default();
        let unreadable = |error: serde_json::Error| ConfigError::extension(&name, error.to_string());
        serde_json::from_value(serde_json::to_value(self).map_err(unreadable)?).map_err(unreadable)
    }

    /// Returns the fields of the type, in the order in which they are written.
    fn fields(&self) -> Vec<(&'static str, Value)> {
        let text = |value: &Option<String>| Value::from(value.clone());
        let list = |value: &Option<Vec<String>>| Value::from(value.clone().unwrap_or_default());
        let map =
            |value: &Option<BTreeMap<String, String>>| serde_json::json!(value.clone().unwrap_or_default());
        let mut fields = vec![
            ("type", text(&self.kind)),
            ("name", text(&self.name)),
            ("description", Value::from(self.description.clone().unwrap_or_default())),
        ];
        let timeout = ("timeout", Value::from(self.timeout));
        let display_name = ("display_name", text(&self.display_name));
        match self.kind.as_deref() {
            Some("stdio") => fields.extend([
                ("cmd", text(&self.cmd)),
                ("args", list(&self.args)),
                ("envs", map(&self.envs)),
                ("env_keys", list(&self.env_keys)),
                timeout,
                ("cwd", text(&self.cwd)),
            ]),
            Some("streamable_http" | "sse") => fields.extend([
                ("uri", text(&self.uri)),
                ("envs", map(&self.envs)),
                ("env_keys", list(&self.env_keys)),
                ("headers", map(&self.headers)),
                timeout,
                ("socket", text(&self.socket)),
            ]),
            Some("inline_python") => fields.extend([
                ("code", text(&self.code)),
                timeout,
                ("dependencies", list(&self.dependencies)),
            ]),
            Some("frontend") => fields.extend([
                ("tools", Value::from(self.tools.clone().unwrap_or_default())),
                ("instructions", text(&self.instructions)),
            ]),
            Some("platform") => fields.push(display_name),
            _ => fields.extend([display_name, timeout]),
        }
        fields.push(("bundled", Value::from(self.bundled)));
        if self.available_tools.as_ref().is_some_and(|tools| !tools.is_empty()) {
            fields.push(("available_tools", list(&self.available_tools)));
        }
        fields
    }
}

impl Serialize for RecipeExtension {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = self.fields();
        let mut map = serializer.serialize_map(Some(fields.len()))?;
        fields.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.end()
    }
}
