//! Short description of a tool: the first sentence of its description, and arguments as an example.

use rmcp::model::JsonObject;
use serde_json::{Value, json};

use crate::tool::Tool;

impl Tool {
    /// Returns the first sentence of the description. A line break does not end a sentence.
    pub fn summary(&self) -> String {
        let paragraph = self.description().trim().lines().take_while(|line| !line.trim().is_empty());
        let paragraph = paragraph.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
        let ends = |at: usize| paragraph[at + 2..].starts_with(char::is_uppercase);
        match paragraph.match_indices(". ").map(|(at, _)| at).find(|at| ends(*at)) {
            Some(at) => paragraph[..=at].to_owned(),
            None => paragraph,
        }
    }

    /// Returns the required arguments with values from the schema, or else with values of the right type.
    pub fn example_arguments(&self) -> JsonObject {
        let schema = self.input_schema();
        let Some(Value::Object(properties)) = schema.get("properties") else { return JsonObject::new() };
        let required =
            schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let is_required = |name: &str| required.iter().any(|required| required == name);
        let needed = properties.iter().filter(|(name, _)| is_required(name));
        needed.map(|(name, schema)| (name.clone(), example(name, schema))).collect()
    }
}

fn example(name: &str, schema: &Value) -> Value {
    let first = |key: &str| schema.get(key)?.as_array()?.first().cloned();
    let shown = schema.get("const").cloned().or_else(|| first("examples")).or_else(|| first("enum"));
    shown.unwrap_or_else(|| match schema.get("type").and_then(Value::as_str) {
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(3)),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!(name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_the_first_sentence() {
        let cases = [
            ("Says hello. Then goes.", "Says hello."),
            ("Says hello to\n  everybody.\n\nMore.", "Says hello to everybody."),
            ("Takes e.g. a name", "Takes e.g. a name"),
            ("  \n", ""),
        ];
        for (description, expected) in cases {
            assert_eq!(Tool::new("x", description, JsonObject::new()).summary(), expected);
        }
    }

    #[test]
    fn examples_have_all_required_arguments() {
        let schema = json!({
            "type": "object",
            "properties": {
                "query": { "type": "string" },
                "days": { "type": "integer", "minimum": 1 },
                "unit": { "enum": ["mm", "inch"] },
                "place": { "type": "object" },
                "more": { "type": "string" },
            },
            "required": ["query", "days", "unit", "place"],
        });
        let tool = Tool::new("x", "", schema.as_object().cloned().unwrap_or_default());
        let expected = json!({ "query": "query", "days": 1, "unit": "mm", "place": {} });
        assert_eq!(Value::Object(tool.example_arguments()), expected);
    }
}
