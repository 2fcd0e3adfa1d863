//! [`Form`]: what the model may write next: one of the calls, or the final answer. As a grammar for the engine, or as a JSON Schema
//! for a server.

use goose_extension::JsonObject;
use serde_json::{Value, json};

use super::{
    goals::Goal,
    situation::Situation,
    tools::{Does, FINAL_ANSWER, Offered, TEXT, Tools},
};

/// The longest text of one argument, in characters.
pub(super) const MAX_TEXT_CHARS: usize = 6_000;

/// The most lines of a file that a schema lists.
const MAX_LISTED_LINES: usize = 300;

/// The argument with which a file is read on.
const OFFSET: &str = "offset";

/// The calls that may be made, and the final answer.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Form {
    /// The schemas of the calls.
    calls: Vec<Value>,
    edits: Vec<Edit>,
}

/// A change of a file whose old text is a part of what was read: small models quote inexactly, and what is not there cannot be
/// replaced.
#[derive(Debug, PartialEq)]
struct Edit {
    tool: String,
    path: String,
    text: String,
}

impl Form {
    /// The calls that may come next for a goal. A model that repeats itself can only answer.
    pub(super) fn new(tools: &Tools, situation: &Situation<'_>, goal: Goal) -> Self {
        let mut form = Self::default();
        let (is_stuck, exhausted) = (situation.is_stuck(), situation.exhausted());
        let is_allowed = |tool: &&Offered| goal.allows(tool.does) && exhausted != Some(tool.name.as_str());
        let has_partial_page = situation.pages.iter().any(|page| !page.is_whole);
        for tool in tools.offered.iter().filter(is_allowed).filter(|tool| !is_stuck || tool.is_final()) {
            match tool.does {
                Does::Edit if tools.that(Does::Read).is_some() => form.edits = Edit::all(tool, situation),
                _ => form.calls.push(call(tool, has_partial_page)),
            }
        }
        if tools.takes_text && (is_stuck || situation.may_answer(goal, tools)) {
            form.calls.push(final_answer());
        }
        form
    }

    /// Only changes of this file.
    pub(super) fn edit_of(tools: &Tools, situation: &Situation<'_>, path: &str) -> Option<Self> {
        let mut edits = Edit::all(tools.that(Does::Edit)?, situation);
        edits.retain(|edit| edit.path == path);
        (!edits.is_empty()).then(|| Self { edits, ..Self::default() })
    }

    /// As a grammar in the notation of Lark. Keys come in order, with nothing between them.
    pub(super) fn grammar(&self) -> String {
        let calls = (0..self.calls.len()).map(|index| format!("call_{index}"));
        let edits = (0..self.edits.len()).map(|index| format!("edit_{index}"));
        let mut lines = vec![format!("start: {}", calls.chain(edits).collect::<Vec<_>>().join(" | "))];
        for (index, call) in self.calls.iter().enumerate() {
            lines.push(format!("call_{index}: %json {}", strict(call.clone())));
        }
        lines.extend(self.edits.iter().enumerate().map(|(index, edit)| edit.rules(index)));
        if !self.edits.is_empty() {
            lines.push(format!(
                "text: %json {}",
                strict(json!({ "type": "string", "maxLength": MAX_TEXT_CHARS }))
            ));
        }
        lines.join("\n") + "\n"
    }

    /// As a JSON Schema. Servers know no parts of texts, so changes replace whole lines.
    pub(super) fn schema(&self) -> Value {
        let edits = self.edits.iter().map(Edit::schema);
        json!({ "anyOf": self.calls.iter().cloned().chain(edits).collect::<Vec<_>>() })
    }
}

impl Edit {
    fn all(tool: &Offered, situation: &Situation<'_>) -> Vec<Self> {
        let pages = situation.pages.iter().filter(|page| !page.text.trim().is_empty());
        pages
            .map(|page| Self { tool: tool.short.clone(), path: page.path.clone(), text: page.text.clone() })
            .collect()
    }

    /// The rules of a grammar. What is a token in other calls is one here, so that calls can be told apart.
    fn rules(&self, index: usize) -> String {
        let (tool, path) =
            (Value::from(self.tool.as_str()).to_string(), Value::from(self.path.as_str()).to_string());
        let start = ["{", "\"tool\"", ":", &tool, ",", "\"path\"", ":", &path, ",", "\"before\"", ":"];
        let start = start.map(|part| Value::from(part).to_string());
        let quoted = Value::from(self.text.as_str()).to_string();
        let chunks = json!({ "substring_chunks": chunks(&quoted[1..quoted.len() - 1]) });
        format!(
            r#"edit_{index}: {} QUOTED_{index} "," "\"after\"" ":" text ("," "\"replace_all\"" ":" "true")? "}}"
PART_{index}: %regex {chunks}
FULL_{index}: PART_{index} & /(?s:.+)/
QUOTED_{index}: "\"" FULL_{index} "\"""#,
            start.join(" ")
        )
    }

    fn schema(&self) -> Value {
        let mut lines: Vec<&str> = self.text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines.dedup();
        lines.truncate(MAX_LISTED_LINES);
        object(
            &self.tool,
            [
                ("path", json!({ "const": self.path })),
                ("before", json!({ "enum": lines })),
                ("after", json!({ "type": "string", "maxLength": MAX_TEXT_CHARS })),
            ],
        )
    }
}

/// The characters of a JSON text; an escape is one.
fn chunks(text: &str) -> Vec<&str> {
    let mut chunks = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match (first, rest.as_bytes().get(1)) {
            ('\\', Some(b'u')) => 6,
            ('\\', Some(_)) => 2,
            _ => first.len_utf8(),
        };
        let (chunk, after) = rest.split_at(length.min(rest.len()));
        chunks.push(chunk);
        rest = after;
    }
    chunks
}

/// The schema without anything between the parts of a document.
fn strict(mut schema: Value) -> Value {
    schema["x-guidance"] =
        json!({ "whitespace_flexible": false, "lenient": true, "json_allowed_escapes": "nrt\\\"" });
    schema
}

fn final_answer() -> Value {
    object(FINAL_ANSWER, [(TEXT, json!({ "type": "string", "minLength": 1, "maxLength": MAX_TEXT_CHARS }))])
}

fn object<const N: usize>(tool: &str, arguments: [(&str, Value); N]) -> Value {
    let all = [("tool", json!({ "const": tool }))].into_iter().chain(arguments);
    let properties: JsonObject = all.map(|(name, schema)| (name.to_owned(), schema)).collect();
    let required: Vec<&String> = properties.keys().collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// A call: the tool's name, then its arguments. Only a file that goes on is read from elsewhere than its beginning.
fn call(tool: &Offered, has_partial_page: bool) -> Value {
    let mut call = object(&tool.short, []);
    if let Some(Value::Object(own)) = tool.schema.get("properties") {
        let is_taken =
            |name: &str| name != "tool" && (name != OFFSET || tool.does != Does::Read || has_partial_page);
        for (name, schema) in own.iter().filter(|(name, _)| is_taken(name)) {
            call["properties"][name] = bounded(schema);
        }
    }
    let required = tool.schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    if let Some(all) = call["required"].as_array_mut() {
        all.extend(required);
    }
    for key in ["$defs", "definitions"] {
        if let Some(own) = tool.schema.get(key) {
            call[key] = bounded(own);
        }
    }
    call
}

/// The schema, with an end for every text.
fn bounded(schema: &Value) -> Value {
    match schema {
        Value::Object(object) => {
            let mut copy: JsonObject =
                object.iter().map(|(key, value)| (key.clone(), bounded(value))).collect();
            let has_end = ["maxLength", "enum", "const", "pattern", "format"]
                .iter()
                .any(|key| object.contains_key(*key));
            if object.get("type").is_some_and(|kind| kind == "string") && !has_end {
                copy.insert("maxLength".to_owned(), json!(MAX_TEXT_CHARS));
            }
            Value::Object(copy)
        }
        Value::Array(list) => Value::Array(list.iter().map(bounded).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
#[path = "form_tests.rs"]
mod tests;
