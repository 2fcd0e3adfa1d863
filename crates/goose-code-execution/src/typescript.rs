//! TypeScript declarations of functions, from the JSON Schemas of their tools.
//!
//! References are expanded where they are used. Types that are recursive, too deep or too large become
//! `unknown`: the tool checks its arguments anyway.

use std::fmt::Write as _;

use goose_extension::{Tool, visible};
use serde_json::{Map, Value};

use crate::functions::{Function, Functions, is_identifier};

/// Maximum depth of a type.
const MAX_DEPTH: usize = 10;

/// Maximum number of types in one function.
const MAX_TYPES: usize = 2000;

/// Maximum length of a type in a list of functions; of longer ones only the names of arguments are shown.
const MAX_LISTED_TYPE: usize = 200;

/// Maximum length of a description in a list of functions.
const MAX_LISTED_CHARS: usize = 80;

/// Maximum length of a description in a declaration.
const MAX_DOC_CHARS: usize = 4000;

const INDENT: &str = "  ";

/// Returns one line about a function: its signature, and the first sentence of its description.
pub(crate) fn listed(function: &Function) -> String {
    let tool = &function.tool;
    let mut arguments = parameters(tool, Layout::Line);
    if arguments.len() > MAX_LISTED_TYPE {
        arguments = format!("args{}: {{{}}}", optional_mark(tool), names(tool).join(", "));
    }
    let description = visible(tool.description());
    let first = description.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    let sentence = first.split_once(". ").map_or(first.as_str(), |(sentence, _)| sentence);
    let sentence = goose_fs::truncate_chars(sentence.trim_end_matches('.'), MAX_LISTED_CHARS);
    let result = result(tool, Layout::Line);
    let result = if result.len() > MAX_LISTED_TYPE { "object".to_owned() } else { result };
    format!("{}({arguments}): Promise<{result}> // {sentence}", function.path())
}

/// Returns declarations of functions, with doc comments.
pub(crate) fn declarations<'a>(functions: impl IntoIterator<Item = &'a Function>) -> String {
    let mut text = String::new();
    for (namespace, functions) in Functions::by_namespace(functions) {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "declare namespace {namespace} {{");
        for function in functions {
            let tool = &function.tool;
            doc(&mut text, tool.description(), 1);
            let (arguments, result) = (parameters(tool, Layout::Block(1)), result(tool, Layout::Block(1)));
            let _ = writeln!(text, "{INDENT}function {}({arguments}): Promise<{result}>;", function.name);
        }
        text.push_str("}\n");
    }
    text
}

/// Returns the names of the arguments; optional ones end with `?`.
fn names(tool: &Tool) -> Vec<String> {
    let schema = tool.input_schema();
    let properties = schema.get("properties").and_then(Value::as_object);
    let names = properties.into_iter().flatten();
    names.map(|(name, _)| format!("{name}{}", if is_required(schema, name) { "" } else { "?" })).collect()
}

fn parameters(tool: &Tool, layout: Layout) -> String {
    let schema = tool.input_schema();
    let has_properties =
        schema.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
    let is_open = ["anyOf", "oneOf", "allOf", "$ref"].iter().any(|key| schema.contains_key(*key))
        || schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false));
    if !has_properties && !is_open {
        return String::new();
    }
    format!("args{}: {}", optional_mark(tool), Types::new(schema).object_or_other(schema, layout))
}

/// Returns a `?` if all arguments may be left out.
fn optional_mark(tool: &Tool) -> &'static str {
    let required = tool.input_schema().get("required").and_then(Value::as_array);
    if required.is_none_or(Vec::is_empty) { "?" } else { "" }
}

/// Returns the type of the result: the declared one, or a text.
fn result(tool: &Tool, layout: Layout) -> String {
    match tool.output_schema() {
        Some(schema) => Types::new(schema).object_or_other(schema, layout),
        None => "string".to_owned(),
    }
}

/// Layout of a type: on one line, or with one line for each property, indented by this level.
#[derive(Clone, Copy, PartialEq)]
enum Layout {
    Line,
    Block(usize),
}

impl Layout {
    fn deeper(self) -> Self {
        match self {
            Self::Line => Self::Line,
            Self::Block(indent) => Self::Block(indent + 1),
        }
    }
}

/// Writer of the types of one schema.
struct Types<'a> {
    root: &'a Map<String, Value>,
    left: usize,
    depth: usize,
}

impl<'a> Types<'a> {
    fn new(root: &'a Map<String, Value>) -> Self {
        Self { root, left: MAX_TYPES, depth: 0 }
    }

    fn any(&mut self, schema: &Value, layout: Layout) -> String {
        match schema {
            Value::Bool(false) => "never".to_owned(),
            Value::Object(schema) => self.object_or_other(schema, layout),
            _ => "unknown".to_owned(),
        }
    }

    fn object_or_other(&mut self, schema: &Map<String, Value>, layout: Layout) -> String {
        if self.left == 0 || self.depth >= MAX_DEPTH {
            return "unknown".to_owned();
        }
        self.left -= 1;
        self.depth += 1;
        let written = self.write(schema, layout);
        self.depth -= 1;
        written
    }

    fn write(&mut self, schema: &Map<String, Value>, layout: Layout) -> String {
        if let Some(Value::String(target)) = schema.get("$ref") {
            return match self.resolve(target) {
                Some(target) => self.any(target, layout),
                None => "unknown".to_owned(),
            };
        }
        if let Some(value) = schema.get("const") {
            return literal(value);
        }
        if let Some(Value::Array(values)) = schema.get("enum") {
            return union(values.iter().map(literal).collect());
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::Array(choices)) = schema.get(key) {
                let choices = choices.iter().map(|choice| self.any(choice, layout)).collect();
                let choice = union(choices);
                // Properties beside the choices apply to all of them.
                return match schema.contains_key("properties") {
                    true => format!("({choice}) & {}", self.properties(schema, layout)),
                    false => choice,
                };
            }
        }
        if let Some(Value::Array(parts)) = schema.get("allOf") {
            let mut parts: Vec<String> =
                parts.iter().map(|part| in_parentheses(self.any(part, layout))).collect();
            if schema.contains_key("properties") {
                parts.push(self.properties(schema, layout));
            }
            return parts.join(" & ");
        }
        match schema.get("type") {
            Some(Value::String(name)) => self.named(name, schema, layout),
            Some(Value::Array(names)) => {
                let names = names.iter().filter_map(Value::as_str);
                union(names.map(|name| self.named(name, schema, layout)).collect())
            }
            _ if schema.contains_key("properties") => self.properties(schema, layout),
            _ if schema.contains_key("items") => self.named("array", schema, layout),
            _ => "unknown".to_owned(),
        }
    }

    fn named(&mut self, name: &str, schema: &Map<String, Value>, layout: Layout) -> String {
        match name {
            "string" | "boolean" | "null" | "number" => name.to_owned(),
            "integer" => "number".to_owned(),
            "array" => self.array(schema, layout),
            "object" => self.properties(schema, layout),
            _ => "unknown".to_owned(),
        }
    }

    fn array(&mut self, schema: &Map<String, Value>, layout: Layout) -> String {
        if let Some(Value::Array(items)) = schema.get("prefixItems") {
            let items: Vec<String> = items.iter().map(|item| self.any(item, layout)).collect();
            return format!("[{}]", items.join(", "));
        }
        let item = schema.get("items").map_or_else(|| "unknown".to_owned(), |items| self.any(items, layout));
        match item.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            true => format!("{item}[]"),
            false => format!("Array<{item}>"),
        }
    }

    fn properties(&mut self, schema: &Map<String, Value>, layout: Layout) -> String {
        let none = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let more = match schema.get("additionalProperties") {
            Some(more @ Value::Object(_)) => Some(self.any(more, layout.deeper())),
            Some(Value::Bool(false)) => None,
            _ if properties.is_empty() => Some("unknown".to_owned()),
            _ => None,
        };
        if properties.is_empty() {
            return format!("Record<string, {}>", more.as_deref().unwrap_or("never"));
        }
        let mut fields: Vec<String> = Vec::with_capacity(properties.len());
        for (name, property) in properties {
            let mark = if is_required(schema, name) { "" } else { "?" };
            let written = self.any(property, layout.deeper());
            let key = if is_identifier(name) { name.clone() } else { literal(&Value::String(name.clone())) };
            let mut field = String::new();
            if let Layout::Block(indent) = layout {
                doc(&mut field, &description(property), indent + 1);
                field.push_str(&INDENT.repeat(indent + 1));
            }
            field.push_str(&format!("{key}{mark}: {written}"));
            fields.push(field);
        }
        let open = more.map(|_| "[key: string]: unknown".to_owned());
        match layout {
            Layout::Line => {
                fields.extend(open);
                format!("{{{}}}", fields.join("; "))
            }
            Layout::Block(indent) => {
                fields.extend(open.map(|open| INDENT.repeat(indent + 1) + &open));
                format!("{{\n{};\n{}}}", fields.join(";\n"), INDENT.repeat(indent))
            }
        }
    }

    /// Returns the target of a reference within the same schema.
    fn resolve(&self, target: &str) -> Option<&'a Value> {
        let mut parts = target.strip_prefix("#/")?.split('/');
        let first = self.root.get(&unescape(parts.next()?))?;
        parts.try_fold(first, |schema, part| schema.get(unescape(part)))
    }
}

/// Decodes a part of a JSON pointer.
fn unescape(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

fn is_required(schema: &Map<String, Value>, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|required| required.iter().any(|required| required == name))
}

/// Returns the description of a property, with its default.
fn description(property: &Value) -> String {
    let text = property.get("description").and_then(Value::as_str).unwrap_or_default();
    match property.get("default") {
        Some(default) if !default.is_null() => format!("{text} (default {default})").trim_start().to_owned(),
        _ => text.to_owned(),
    }
}

/// Returns a JSON value as a literal type. Arrays and objects are `unknown`.
fn literal(value: &Value) -> String {
    match value {
        // JSON's escapes, and the two line separators that JSON allows unescaped in strings.
        Value::String(_) => value.to_string().replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029"),
        Value::Array(_) | Value::Object(_) => "unknown".to_owned(),
        other => other.to_string(),
    }
}

fn union(mut types: Vec<String>) -> String {
    let mut seen = std::collections::HashSet::new();
    types.retain(|one| seen.insert(one.clone()));
    match types.is_empty() {
        true => "never".to_owned(),
        false => types.join(" | "),
    }
}

fn in_parentheses(written: String) -> String {
    if written.contains('|') { format!("({written})") } else { written }
}

/// Adds a doc comment.
fn doc(text: &mut String, description: &str, indent: usize) {
    let description = visible(description.trim()).replace("*/", "*\\/");
    let description = goose_fs::truncate_chars(&description, MAX_DOC_CHARS);
    if description.is_empty() {
        return;
    }
    let indent = INDENT.repeat(indent);
    let lines: Vec<&str> = description.lines().map(str::trim_end).collect();
    // Writing into a string cannot fail.
    let _ = match lines.as_slice() {
        [line] => writeln!(text, "{indent}/** {line} */"),
        lines => {
            let lines: String =
                lines.iter().map(|line| format!("{indent} * {line}").trim_end().to_owned() + "\n").collect();
            writeln!(text, "{indent}/**\n{lines}{indent} */")
        }
    };
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn function(input: Value, output: Option<Value>) -> Function {
        let object = |value: Value| value.as_object().cloned().unwrap_or_default();
        let mut tool = Tool::new("a__b", "Does it. More of it.\n\nAnd */ more.", object(input));
        if let Some(output) = output {
            tool = tool.with_output_schema(object(output));
        }
        Functions::new(&[tool]).get(0).unwrap().clone()
    }

    #[test]
    fn function_is_listed_on_one_line() {
        let input = json!({
            "properties": {"path": {"type": "string"}, "lines": {"type": ["integer", "null"]}},
            "required": ["path"],
        });
        assert_eq!(
            listed(&function(input, None)),
            "a.b(args: {path: string; lines?: number | null}): Promise<string> // Does it"
        );
        assert_eq!(
            listed(&function(
                json!({"type": "object"}),
                Some(json!({"type": "array", "items": {"type": "number"}}))
            )),
            "a.b(): Promise<number[]> // Does it"
        );
    }

    #[test]
    fn long_arguments_are_listed_by_name() {
        let many: Map<String, Value> =
            (0..20).map(|n| (format!("argument_{n:02}"), json!({"type": "string"}))).collect();
        let line = listed(&function(json!({"properties": many, "required": ["argument_01"]}), None));
        assert!(line.starts_with("a.b(args: {argument_00?, argument_01, argument_02?"), "{line}");
    }

    #[test]
    fn declarations_have_doc_comments_and_all_types() {
        let input = json!({
            "type": "object",
            "properties": {
                "mode": {"enum": ["a", "b\"c"], "description": "Line one\nline two"},
                "not-a-name": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
                "limit": {"type": "integer", "description": "At most", "default": 10},
                "node": {"$ref": "#/$defs/Node"},
                "both": {
                    "allOf": [{"type": "object", "properties": {"x": {"const": 1}}}, {"type": "object"}],
                },
                "pair": {"type": "array", "prefixItems": [{"type": "number"}, true]},
                "map": {"type": "object", "additionalProperties": {"type": "boolean"}},
                "lost": {"$ref": "#/$defs/Missing"},
            },
            "required": ["mode"],
            "$defs": {"Node": {"type": "object", "properties": {"next": {"type": "string"}}}},
        });
        insta::assert_snapshot!(declarations([&function(input, None)]), @r#"
        declare namespace a {
          /**
           * Does it. More of it.
           *
           * And *\/ more.
           */
          function b(args: {
            /**
             * Line one
             * line two
             */
            mode: "a" | "b\"c";
            "not-a-name"?: Array<string | null>;
            /** At most (default 10) */
            limit?: number;
            node?: {
              next?: string;
            };
            both?: {
              x?: 1;
            } & Record<string, unknown>;
            pair?: [number, unknown];
            map?: Record<string, boolean>;
            lost?: unknown;
          }): Promise<string>;
        }
        "#);
    }

    #[test]
    fn recursive_and_huge_schemas_are_limited() {
        let recursive = json!({
            "properties": {"node": {"$ref": "#/$defs/Node"}},
            "$defs": {
                "Node": {"properties": {"left": {"$ref": "#/$defs/Node"}, "right": {"$ref": "#/$defs/Node"}}},
            },
        });
        let text = declarations([&function(recursive, None)]);
        assert!(text.contains("unknown") && text.len() < 200_000, "{}", text.len());
        let endless = json!({"properties": {"a": {"$ref": "#/properties/a"}}});
        assert!(declarations([&function(endless, None)]).contains("a?: unknown"));
    }
}
