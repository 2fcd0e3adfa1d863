//! Tools as services want them described: a schema that is an object with properties, without what only costs tokens.

use goose_extension::{JsonObject, Tool};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};

/// Keys at the top of a schema that tell a model nothing.
const IDLE_KEYS: [&str; 3] = ["$schema", "title", "$id"];

/// A schema to be written.
pub(super) struct Schema<'a>(pub(super) &'a JsonObject);

impl Serialize for Schema<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if !self.0.contains_key("type") {
            map.serialize_entry("type", "object")?;
        }
        for (key, value) in self.0.iter().filter(|(key, _)| !IDLE_KEYS.contains(&key.as_str())) {
            map.serialize_entry(key, value)?;
        }
        if !self.0.contains_key("properties") {
            map.serialize_entry("properties", &Value::Object(Map::new()))?;
        }
        map.end()
    }
}

/// A tool as OpenAI chat and Ollama describe it.
#[derive(Serialize)]
pub(super) struct ToolEntry<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

/// The tool itself.
#[derive(Serialize)]
pub(super) struct Function<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters: Schema<'a>,
}

impl<'a> From<&'a Tool> for Function<'a> {
    fn from(tool: &'a Tool) -> Self {
        let parameters = Schema(tool.input_schema());
        Self { name: tool.name(), description: tool.description(), parameters }
    }
}

impl<'a> From<&'a Tool> for ToolEntry<'a> {
    fn from(tool: &'a Tool) -> Self {
        Self { r#type: "function", function: tool.into() }
    }
}
