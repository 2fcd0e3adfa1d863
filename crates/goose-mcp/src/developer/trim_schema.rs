//! Descriptions that cost the model little: a tool's schema without what the model does not need to read.
//!
//! Every request carries all schemas. What goes here is still checked when the arguments are read into their types:
//! unknown arguments, and how large integers may be.

use goose_extension::{JsonObject, Tool};
use serde_json::Value;

/// The tool without the parts of its schema that the model does not need. Descriptions stay.
pub(super) fn trim_schema(tool: Tool) -> Tool {
    let schema = trim_object(tool.input_schema());
    tool.with_input_schema(schema)
}

fn trim_object(schema: &JsonObject) -> JsonObject {
    let kept = schema.iter().filter(|(key, value)| is_needed(key, value));
    kept.map(|(key, value)| (key.clone(), trim_value(key, value))).collect()
}

fn is_needed(key: &str, value: &Value) -> bool {
    match key {
        "$schema" | "title" | "format" | "maximum" => false,
        "additionalProperties" | "default" => value.is_object(),
        _ => true,
    }
}

/// An optional argument is left out, so the model need not know that it may also be `null`; where it is, it counts as left
/// out (see `Tool::check`).
fn trim_value(key: &str, value: &Value) -> Value {
    match value {
        Value::Array(kinds) if key == "type" => match kinds.as_slice() {
            [kind, null] if null == "null" => kind.clone(),
            _ => value.clone(),
        },
        // The names in here are arguments, not keywords.
        Value::Object(arguments) if key == "properties" => {
            let trimmed = arguments.iter().map(|(name, schema)| (name.clone(), trim_value("", schema)));
            Value::Object(trimmed.collect())
        }
        Value::Object(schema) => Value::Object(trim_object(schema)),
        _ => value.clone(),
    }
}
