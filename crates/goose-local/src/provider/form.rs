//! The JSON Schema that an answer must fit: one of the calls, or the final answer. Keys come in order, nothing is between
//! them, and nothing else may be there.

use goose_extension::JsonObject;
use serde_json::{Value, json};

use super::{
    known::{EDIT, READ},
    offer::{FINAL_ANSWER, FINAL_OUTPUT, Offer, Offered, TEXT},
    progress::Progress,
};

/// How long a text may get for which the tool says nothing, in characters.
const MAX_TEXT_CHARS: usize = 20_000;

/// Where schemas keep what they refer to.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// The schema of an answer to this offer, as far as the model is.
pub(super) fn schema(offer: &Offer, progress: Progress) -> Value {
    let mut definitions = JsonObject::new();
    let allowed = offer.tools.iter().enumerate().filter(|(_, tool)| may_be_called(offer, tool, progress));
    let mut calls: Vec<Value> = allowed.map(|(index, tool)| call(index, tool, &mut definitions)).collect();
    if offer.takes_text && (progress != Progress::Missed || calls.is_empty()) {
        calls.push(final_answer());
    }
    let mut schema = json!({
        "anyOf": calls,
        "x-guidance": { "whitespace_flexible": false, "lenient": true, "json_allowed_escapes": "nrt\\\"" },
    });
    if !definitions.is_empty() {
        schema["$defs"] = Value::Object(definitions);
    }
    schema
}

fn may_be_called(offer: &Offer, tool: &Offered, progress: Progress) -> bool {
    match progress {
        // What was not looked at is edited from memory, which is wrong.
        Progress::Begun => tool.name != EDIT || offer.tools.iter().all(|tool| tool.name != READ),
        Progress::Going | Progress::Missed => true,
        Progress::Stuck => !offer.takes_text && tool.name == FINAL_OUTPUT,
    }
}

fn final_answer() -> Value {
    json!({
        "type": "object",
        "properties": {
            "tool": { "const": FINAL_ANSWER },
            TEXT: { "type": "string", "minLength": 1, "maxLength": MAX_TEXT_CHARS },
        },
        "required": ["tool", TEXT],
        "additionalProperties": false,
    })
}

/// A call: the tool's name, then what the tool takes. What its schema refers to moves to the top, under a name of its own.
fn call(index: usize, tool: &Offered, definitions: &mut JsonObject) -> Value {
    let mut properties = JsonObject::from_iter([("tool".to_owned(), json!({ "const": tool.short }))]);
    if let Some(Value::Object(own)) = tool.schema.get("properties") {
        let own = own.iter().filter(|(name, _)| name.as_str() != "tool");
        properties.extend(own.map(|(name, schema)| (name.clone(), moved(schema, index))));
    }
    for key in DEFINITIONS {
        if let Some(Value::Object(own)) = tool.schema.get(key) {
            definitions
                .extend(own.iter().map(|(name, schema)| (format!("{index}_{name}"), moved(schema, index))));
        }
    }
    let mut required = vec![json!("tool")];
    if let Some(Value::Array(own)) = tool.schema.get("required") {
        required.extend(
            own.iter()
                .filter(|name| name.as_str().is_some_and(|name| properties.contains_key(name)))
                .cloned(),
        );
    }
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// The schema with its references pointing to where their targets have moved.
fn moved(schema: &Value, index: usize) -> Value {
    match schema {
        Value::Object(object) => {
            let moved_entry = |(key, value): (&String, &Value)| {
                let target =
                    value.as_str().filter(|_| key == "$ref").and_then(|place| moved_place(place, index));
                (key.clone(), target.map_or_else(|| moved(value, index), Value::from))
            };
            Value::Object(object.iter().map(moved_entry).collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(|item| moved(item, index)).collect()),
        other => other.clone(),
    }
}

fn moved_place(place: &str, index: usize) -> Option<String> {
    let name = DEFINITIONS.iter().find_map(|key| place.strip_prefix(&format!("#/{key}/")))?;
    Some(format!("#/$defs/{index}_{name}"))
}

#[cfg(test)]
mod tests {
    use goose_extension::Tool;

    use super::*;

    #[test]
    fn calls_and_the_answer_fit_and_others_do_not() {
        let tools = ["developer__read", "developer__edit"].map(|name| Tool::new(name, "", JsonObject::new()));
        let offer = Offer::of(&tools, "");
        let fits = |progress: Progress, value: Value| jsonschema::is_valid(&schema(&offer, progress), &value);
        let answer = || json!({"tool": "final_answer", "text": "Done."});
        let edit = || json!({"tool": "edit", "path": "a.txt", "before": "a", "after": "b"});
        for progress in [Progress::Begun, Progress::Going] {
            assert!(fits(progress, answer()));
            assert!(fits(progress, json!({"tool": "read", "path": "a.txt"})));
            assert!(fits(progress, json!({"tool": "read", "path": "a.txt", "offset": 3})));
            assert!(!fits(progress, json!({"tool": "read"})));
            assert!(!fits(progress, json!({"tool": "shell", "command": "ls"})));
            assert!(!fits(progress, json!({"tool": "final_answer", "text": "Done.", "path": "x"})));
        }
        assert!(!fits(Progress::Begun, edit()));
        assert!(fits(Progress::Going, edit()));
        assert!(!fits(Progress::Missed, answer()));
        assert!(fits(Progress::Missed, edit()));
        assert!(fits(Progress::Stuck, answer()));
        assert!(!fits(Progress::Stuck, json!({"tool": "read", "path": "a.txt"})));
    }

    #[test]
    fn what_a_schema_refers_to_moves_with_it() {
        let own = json!({
            "type": "object", "properties": {"who": {"$ref": "#/$defs/Who"}}, "required": ["who"],
            "$defs": {"Who": {"type": "string", "enum": ["ada"]}}
        });
        let offer = Offer::of(&[Tool::new("a__greet", "", own.as_object().cloned().unwrap())], "greet");
        let schema = schema(&offer, Progress::Begun);
        assert!(jsonschema::is_valid(&schema, &json!({"tool": "greet", "who": "ada"})), "{schema}");
        assert!(!jsonschema::is_valid(&schema, &json!({"tool": "greet", "who": "bob"})));
    }
}
