//! [`Schema`]: a tool's schema as services want it: an object with properties, without what only costs tokens.

use goose_extension::JsonObject;
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
