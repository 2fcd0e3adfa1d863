//! The rule for descriptions of goose's own tools, as [`description_problems`] checks it.
//!
//! A model decides by the description alone whether to call a tool, and what to do when that fails.

use goose_extension::{JsonObject, Tool, macros::as_words};
use serde_json::Value;

/// Words that a tool's description has at least. Shorter ones do not say what it does, returns and fails for.
const MIN_TOOL_WORDS: usize = 10;

/// Words that a parameter's description has at least.
const MIN_PARAMETER_WORDS: usize = 2;

/// Words that say what an optional parameter is when it is left out.
const OMITTED: [&str; 4] = ["default", "without", "unless", "instead"];

/// Words that say what a number counts.
const UNITS: [&str; 13] = [
    "bytes",
    "characters",
    "entries",
    "levels",
    "line",
    "lines",
    "matches",
    "milliseconds",
    "percent",
    "pixels",
    "seconds",
    "sessions",
    "turns",
];

/// Returns what the descriptions of a tool and of its parameters do not say:
///
/// - a tool has a sentence that starts with "Returns" and one with "Fails" (or "Never fails");
/// - a parameter says more than its name;
/// - an optional one also says what it is when left out: a default, the same as in the schema, or what it is "without",
///   "unless" or "instead";
/// - a number also has a unit or a range ("1 to 50").
pub fn description_problems(tool: &Tool) -> Vec<String> {
    let mut problems = Vec::new();
    let description = tool.description();
    if description.split_whitespace().count() < MIN_TOOL_WORDS {
        problems.push(format!("the tool is described in less than {MIN_TOOL_WORDS} words"));
    }
    if !has_sentence(description, &["Returns "]) {
        problems.push("the tool does not say what it \"Returns\"".to_owned());
    }
    if !has_sentence(description, &["Fails ", "Never fails"]) {
        problems.push("the tool does not say when it \"Fails\"".to_owned());
    }
    let root = tool.input_schema();
    Parameters { root, problems: &mut problems }.check(root, "");
    problems
}

/// Returns whether a sentence of the text starts in one of these ways.
fn has_sentence(text: &str, starts: &[&str]) -> bool {
    let text = text.replace('\n', " ");
    starts.iter().any(|start| text.starts_with(start) || text.contains(&format!(". {start}")))
}

struct Parameters<'a> {
    root: &'a JsonObject,
    problems: &'a mut Vec<String>,
}

impl Parameters<'_> {
    /// Checks the properties of a schema, also those inside of lists and objects.
    fn check(&mut self, schema: &JsonObject, path: &str) {
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let required = schema.get("required").and_then(Value::as_array);
        for (name, property) in properties {
            let path = format!("{path}{name}");
            let Some(property) = property.as_object() else {
                self.problems.push(format!("`{path}` has no schema"));
                continue;
            };
            let is_required = required.is_some_and(|names| names.iter().any(|it| it == name));
            self.check_one(name, &path, property, is_required);
            self.check(property, &format!("{path}."));
            if let Some(items) = property.get("items").and_then(Value::as_object) {
                self.check(items, &format!("{path}[]."));
            }
        }
    }

    fn check_one(&mut self, name: &str, path: &str, property: &JsonObject, is_required: bool) {
        let description = self.description(property).to_lowercase();
        let words: Vec<&str> = description
            .split(|letter: char| !letter.is_alphanumeric() && letter != '.')
            .map(|word| word.trim_matches('.'))
            .filter(|word| !word.is_empty())
            .collect();
        let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(word));
        if words.len() < MIN_PARAMETER_WORDS || words.join(" ") == as_words(name).to_lowercase() {
            self.problems.push(format!("`{path}` says no more than its name: {description:?}"));
        }
        if !is_required && !has(&OMITTED) {
            self.problems.push(format!("`{path}` does not say its default: {description:?}"));
        }
        if let Some(Value::Number(default)) = property.get("default")
            && !has(&[&default.to_string()])
        {
            self.problems
                .push(format!("`{path}` does not say that its default is {default}: {description:?}"));
        }
        if is_number(property) && !has(&UNITS) && !has_range(&words) {
            self.problems.push(format!("`{path}` has no unit or range: {description:?}"));
        }
    }

    /// The description of a property, else that of the type that it refers to.
    fn description<'a>(&'a self, property: &'a JsonObject) -> &'a str {
        let referred = || {
            let name = property.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
            self.root.get("$defs")?.get(name)?.get("description")
        };
        property.get("description").or_else(referred).and_then(Value::as_str).unwrap_or_default()
    }
}

fn is_number(property: &JsonObject) -> bool {
    let kinds = match property.get("type") {
        Some(Value::Array(kinds)) => kinds.as_slice(),
        Some(kind) => std::slice::from_ref(kind),
        None => &[],
    };
    kinds.iter().any(|kind| kind == "integer" || kind == "number")
}

fn has_range(words: &[&str]) -> bool {
    let is_number = |word: &str| word.parse::<f64>().is_ok();
    words.windows(3).any(|three| is_number(three[0]) && three[1] == "to" && is_number(three[2]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const GOOD: &str = "Read a file. Returns its lines with\nnumbers. Fails if it is missing.";

    fn problems(description: &'static str, schema: Value) -> Vec<String> {
        let schema = schema.as_object().cloned().unwrap_or_default();
        description_problems(&Tool::new("read", description, schema))
    }

    #[test]
    fn good_descriptions_pass() {
        let schema = json!({
            "properties": {
                "path": { "type": "string", "description": "File to read" },
                "limit": { "type": ["integer", "null"], "description": "Lines at most, default 100" },
                "heat": { "type": "number", "description": "0.5 to 2" },
                "mode": { "$ref": "#/$defs/Mode" },
                "edits": {
                    "type": "array",
                    "description": "Changes instead of a text",
                    "items": {
                        "properties": { "to": { "type": "string", "description": "New text" } },
                        "required": ["to"],
                    },
                },
            },
            "required": ["path", "heat", "mode"],
            "$defs": { "Mode": { "type": "string", "description": "How to read" } },
        });
        assert_eq!(problems(GOOD, schema), Vec::<String>::new());
        assert_eq!(
            problems("List all of them, as far as known. Returns names. Never fails.", json!({})),
            [""; 0]
        );
    }

    #[test]
    fn tools_say_what_they_return_and_when_they_fail() {
        assert_eq!(problems("Read a file.", json!({})).len(), 3);
        let returned =
            "Read a file, which returns its text with the numbers of lines. Fails if it is missing.";
        assert_eq!(problems(returned, json!({})), ["the tool does not say what it \"Returns\""]);
    }

    #[test]
    fn parameters_say_more_than_their_name() {
        let parameter = |parameter: Value, required: bool| {
            let required: &[&str] = if required { &["max_depth"] } else { &[] };
            problems(GOOD, json!({ "properties": { "max_depth": parameter }, "required": required }))
        };
        for (description, is_integer, is_required, expected) in [
            ("", false, true, "says no more than its name"),
            ("Max depth", false, true, "says no more than its name"),
            ("Depth", false, true, "says no more than its name"),
            ("How deep it is", false, false, "does not say its default"),
            ("How deep it is", true, true, "has no unit or range"),
            ("Levels at most", true, false, "does not say its default"),
        ] {
            let kind = if is_integer { "integer" } else { "string" };
            let found = parameter(json!({ "type": kind, "description": description }), is_required);
            assert!(matches!(found.as_slice(), [one] if one.contains(expected)), "{description}: {found:?}");
        }
        let levels = json!({ "type": "integer", "default": 3, "description": "Levels, default 2" });
        assert_eq!(
            parameter(levels, false),
            ["`max_depth` does not say that its default is 3: \"levels, default 2\""]
        );
        let items = json!({ "items": { "properties": { "to": {} }, "required": ["to"] }, "description": "Any of these" });
        assert_eq!(parameter(items, true), ["`max_depth[].to` says no more than its name: \"\""]);
    }
}
