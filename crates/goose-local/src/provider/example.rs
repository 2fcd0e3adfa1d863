//! A literal call of a tool, made from its schema: what it needs, with values that look like what is meant.

use goose_extension::{JsonObject, Tool};
use serde_json::{Map, Value, json};

/// How deep examples go into objects.
const MAX_DEPTH: usize = 3;

/// Values by what an argument's name has in it.
const BY_NAME: [(&str, &str); 12] = [
    ("path", "docs/notes.txt"),
    ("file", "docs/notes.txt"),
    ("dir", "docs"),
    ("folder", "docs"),
    ("url", "https://example.com"),
    ("command", "ls"),
    ("query", "lost luggage"),
    ("pattern", "lost"),
    ("name", "notes"),
    ("title", "Notes"),
    ("category", "work"),
    ("id", "42"),
];

/// The arguments of an example.
pub(super) fn arguments(tool: &Tool) -> JsonObject {
    object(tool.input_schema(), tool.input_schema(), 0)
}

fn object(schema: &JsonObject, root: &JsonObject, depth: usize) -> JsonObject {
    let Some(Value::Object(properties)) = schema.get("properties") else { return Map::new() };
    let required = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let is_needed = |name: &str| required.iter().any(|needed| needed == name);
    let needed = properties.iter().filter(|(name, _)| is_needed(name));
    needed.map(|(name, schema)| (name.clone(), value(name, schema, root, depth + 1))).collect()
}

fn value(name: &str, schema: &Value, root: &JsonObject, depth: usize) -> Value {
    let schema = resolved(schema, root);
    if let Some(given) = given(schema) {
        return given;
    }
    match kind(schema) {
        Some("integer") => schema.get("minimum").cloned().unwrap_or(json!(3)),
        Some("number") => schema.get("minimum").cloned().unwrap_or(json!(1.5)),
        Some("boolean") => json!(true),
        Some("array") if depth < MAX_DEPTH => {
            json!([schema.get("items").map_or(json!("one"), |items| value(name, items, root, depth + 1))])
        }
        Some("array") => json!([]),
        Some("object") if depth < MAX_DEPTH => {
            Value::Object(schema.as_object().map(|schema| object(schema, root, depth)).unwrap_or_default())
        }
        Some("object") => json!({}),
        _ => json!(text(name)),
    }
}

/// A value that the schema itself shows.
fn given(schema: &Value) -> Option<Value> {
    let first = |key: &str| schema.get(key).and_then(Value::as_array).and_then(|list| list.first()).cloned();
    schema.get("const").cloned().or_else(|| first("examples")).or_else(|| first("enum"))
}

fn kind(schema: &Value) -> Option<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => Some(kind),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        _ if schema.get("properties").is_some() => Some("object"),
        _ => None,
    }
}

/// What a reference stands for; one step, for examples need no more.
fn resolved<'a>(schema: &'a Value, root: &'a JsonObject) -> &'a Value {
    let alternatives = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema.get(*key)?.as_array());
    let schema = alternatives.and_then(|list| list.first()).unwrap_or(schema);
    let place = schema.get("$ref").and_then(Value::as_str).and_then(|place| place.strip_prefix("#/"));
    let Some(place) = place else { return schema };
    let mut steps = place.split('/');
    let start = steps.next().and_then(|step| root.get(step));
    steps.fold(start, |at, step| at.and_then(|at| at.get(step))).unwrap_or(schema)
}

fn text(name: &str) -> &'static str {
    let name = name.to_lowercase();
    BY_NAME.iter().find(|(part, _)| name.contains(part)).map_or("some text", |(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_has_what_is_needed_and_fits() {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"}, "depth": {"type": "integer", "minimum": 1}, "quiet": {"type": "boolean"},
                "mode": {"enum": ["fast", "slow"]}, "who": {"$ref": "#/$defs/Who"}, "tags": {"type": "array", "items": {"type": "string"}},
                "kind": {"type": ["string", "null"]}
            },
            "required": ["path", "depth", "mode", "who", "tags", "kind"],
            "$defs": {"Who": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}
        });
        let schema_object = schema.as_object().cloned().unwrap();
        let example = Value::Object(arguments(&Tool::new("t", "", schema_object)));
        let expected = json!({"path": "docs/notes.txt", "depth": 1, "mode": "fast", "who": {"name": "notes"},
            "tags": ["some text"], "kind": "some text"});
        assert_eq!(example, expected);
        assert!(jsonschema::is_valid(&schema, &example));
    }

    #[test]
    fn odd_schemas_give_something() {
        for schema in [
            json!({}),
            json!({"properties": []}),
            json!({"properties": {"a": true}, "required": ["a"]}),
            json!({"properties": {"a": {"$ref": "#/nowhere/at/all"}}, "required": ["a", 3]}),
        ] {
            arguments(&Tool::new("t", "", schema.as_object().cloned().unwrap()));
        }
    }
}
