//! Shortens the schemas of goose's own tools for the model.
//!
//! Every request carries all schemas. Calls are checked against the full schema, so the rules that are left
//! out here still apply: unknown arguments, and limits of size and length.

use goose_extension::{JsonObject, Tool};
use serde_json::Value;

/// Returns the tool without the parts of its schema that the model does not need. Descriptions stay.
pub(super) fn trim_schema(tool: &Tool) -> Tool {
    let schema = trim_object(tool.input_schema());
    tool.clone().with_input_schema(schema)
}

fn trim_object(schema: &JsonObject) -> JsonObject {
    let kept = schema.iter().filter(|(key, value)| is_needed(key, value));
    kept.map(|(key, value)| (key.clone(), trim_value(key, value))).collect()
}

fn is_needed(key: &str, value: &Value) -> bool {
    match key {
        "$schema" | "title" | "format" | "maximum" | "maxItems" | "maxLength" => false,
        "minimum" => value.as_f64() != Some(0.0),
        "additionalProperties" | "default" => value.is_object(),
        _ => true,
    }
}

/// Trims one value of a schema. An optional argument may also be `null`, which counts as absent (see
/// `Tool::check`), so the model need not know about that.
fn trim_value(key: &str, value: &Value) -> Value {
    match value {
        Value::Array(kinds) if key == "type" => match kinds.as_slice() {
            [kind, null] if null == "null" => kind.clone(),
            _ => value.clone(),
        },
        // The keys in here are arguments, not keywords.
        Value::Object(arguments) if key == "properties" => {
            let trimmed = arguments.iter().map(|(name, schema)| (name.clone(), trim_value("", schema)));
            Value::Object(trimmed.collect())
        }
        Value::Object(schema) => Value::Object(trim_object(schema)),
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use goose_extension::Extension as _;
    use goose_mcp::{BuiltinOptions, Developer, Memory};
    use serde_json::json;

    use super::*;

    #[test]
    fn the_default_tools_cost_little() {
        let (developer, memory) =
            (Developer::new(&BuiltinOptions::new("/nowhere")), Memory::new("/nowhere".into()));
        let sent: Vec<Value> = developer
            .tools()
            .iter()
            .chain(memory.tools())
            .map(|tool| json!([tool.name(), tool.description(), trim_schema(tool).input_schema()]))
            .collect();
        let text = json!(sent).to_string();
        assert!(text.len() < 6_250, "{} bytes: {text}", text.len());
        for word in [
            "$schema",
            "\"title\"",
            "\"format\"",
            "additionalProperties",
            "$ref",
            "\"null\"",
            "\"minimum\":0",
        ] {
            assert!(!text.contains(word), "{word} in {text}");
        }
    }
}
