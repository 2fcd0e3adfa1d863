//! Tools of strangers: each is looked at by itself. One that no model could be given is dropped, with the reason; the
//! others work.

use std::collections::HashSet;

use goose_extension::{
    JsonObject, Tool,
    adapter::{Validator, allows_object, json_len},
};
use rmcp::model as mcp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{options::ConnectOptions, strangers};

/// How long a tool's name may be.
const MAX_NAME_BYTES: usize = 128;

/// How large the schema of a tool may be, as JSON.
const MAX_SCHEMA_BYTES: usize = 256 * 1024;

/// How deep the schema of a tool may nest.
const MAX_SCHEMA_DEPTH: usize = 64;

/// How many different patterns of a server are tried; a hostile one can make each of them costly. Later ones are taken
/// to be right, and cost a call at most.
const MAX_PATTERNS: usize = 128;

/// How many dropped tools are remembered by name; of the rest, how many.
const MAX_DROPPED: usize = 100;

/// How much of a dropped tool's name, and of the reason, is shown.
const MAX_SHOWN_NAME_CHARS: usize = 80;
const MAX_REASON_CHARS: usize = 300;

/// A tool that a server announced and that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DroppedTool {
    /// Its name, made printable and cut.
    pub name: String,
    /// What is wrong with it.
    pub reason: String,
}

impl DroppedTool {
    pub(super) fn new(name: &str, reason: &str) -> Self {
        let name = name.escape_debug().take(MAX_SHOWN_NAME_CHARS).collect();
        let printable = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
        Self { name, reason: reason.chars().take(MAX_REASON_CHARS).map(printable).collect() }
    }
}

/// A tool as a server announced it, as far as it could be read.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Found {
    Readable(Box<mcp::Tool>),
    Unreadable(DroppedTool),
}

impl Found {
    /// Reads one entry of a list whose others may be fine.
    pub(super) fn read(value: Value) -> Self {
        match serde_json::from_value(value.clone()) {
            Ok(tool) => Self::Readable(Box::new(tool)),
            Err(error) => {
                let name = value.get("name").and_then(Value::as_str).unwrap_or("(no name)");
                Self::Unreadable(DroppedTool::new(name, &format!("its description cannot be read: {error}")))
            }
        }
    }
}

/// Takes the tools of a server one by one.
pub(super) struct Vetting {
    trust_groups: bool,
    names: HashSet<String>,
    /// The patterns that were found to be right.
    patterns: HashSet<String>,
    tools: Vec<Tool>,
    dropped: Vec<DroppedTool>,
    more_dropped: usize,
}

impl Vetting {
    pub(super) fn of(options: &ConnectOptions) -> Self {
        Self {
            trust_groups: options.trust_groups,
            names: HashSet::new(),
            patterns: HashSet::new(),
            tools: Vec::new(),
            dropped: Vec::new(),
            more_dropped: 0,
        }
    }

    pub(super) fn take(&mut self, found: Found) {
        match found {
            Found::Unreadable(dropped) => self.drop_tool(dropped),
            Found::Readable(tool) => match self.fault_of(&tool) {
                Some(reason) => self.drop_tool(DroppedTool::new(&tool.name, &reason)),
                None => self.keep(*tool),
            },
        }
    }

    /// The tools that can be used, and those that cannot.
    pub(super) fn finish(mut self) -> (Vec<Tool>, Vec<DroppedTool>) {
        if self.more_dropped > 0 {
            let reason = format!("and {} more tools that cannot be used", self.more_dropped);
            self.dropped.push(DroppedTool::new("…", &reason));
        }
        (self.tools, self.dropped)
    }

    fn keep(&mut self, mut tool: mcp::Tool) {
        self.names.insert(tool.name.to_string());
        tool.description = tool.description.map(|text| strangers::prose(text.into_owned()).into());
        tool.output_schema = tool.output_schema.filter(|schema| fault_of_size(schema).is_none());
        let tool = Tool::from_mcp(tool);
        self.tools.push(if self.trust_groups { tool } else { tool.with_groups([]) });
    }

    fn drop_tool(&mut self, dropped: DroppedTool) {
        if self.dropped.len() < MAX_DROPPED {
            tracing::warn!(
                tool = dropped.name,
                reason = dropped.reason,
                "a tool cannot be used and was dropped"
            );
            self.dropped.push(dropped);
        } else {
            self.more_dropped += 1;
        }
    }

    /// Why a tool cannot be used.
    fn fault_of(&mut self, tool: &mcp::Tool) -> Option<String> {
        fault_of_name(&tool.name)
            .or_else(|| self.names.contains(&*tool.name).then(|| "another tool has the same name".to_owned()))
            .or_else(|| fault_of_size(&tool.input_schema))
            .or_else(|| self.fault_of_schema(&tool.input_schema))
    }

    /// Why a schema cannot be used. Compiling it would tell too, at many times the price.
    fn fault_of_schema(&mut self, schema: &JsonObject) -> Option<String> {
        let value = Value::Object(schema.clone());
        if let Some(reason) = fault_of_shape(schema, &value) {
            return Some(reason);
        }
        let parts = Parts::of(&value);
        if let Some(target) = parts.dangling(&value) {
            return Some(format!("its schema is not valid: it refers to `#{target}`, which is not there"));
        }
        let pattern = parts.patterns.into_iter().find(|pattern| !self.knows_pattern(pattern))?;
        Some(format!("its schema is not valid: `{pattern}` is no regular expression"))
    }

    /// Whether a text is a pattern. Tools of one server often share theirs.
    fn knows_pattern(&mut self, text: &str) -> bool {
        if self.patterns.len() >= MAX_PATTERNS || self.patterns.contains(text) {
            return true;
        }
        let is_pattern = is_pattern(text);
        if is_pattern {
            self.patterns.insert(text.to_owned());
        }
        is_pattern
    }
}

fn fault_of_name(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("it has no name".to_owned());
    }
    if name.len() > MAX_NAME_BYTES {
        return Some(format!("its name has {} bytes, at most {MAX_NAME_BYTES} are allowed", name.len()));
    }
    let odd = name.chars().find(|c| c.is_control() || c.is_whitespace())?;
    Some(format!("its name contains {odd:?}"))
}

fn fault_of_size(schema: &JsonObject) -> Option<String> {
    if schema.values().any(|value| is_deeper(value, MAX_SCHEMA_DEPTH - 1)) {
        return Some(format!("its schema nests deeper than {MAX_SCHEMA_DEPTH} levels"));
    }
    let bytes = json_len(schema);
    (bytes > MAX_SCHEMA_BYTES)
        .then(|| format!("its schema has {bytes} bytes, at most {MAX_SCHEMA_BYTES} are allowed"))
}

fn is_deeper(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(|item| is_deeper(item, levels - 1)),
        Value::Object(map) => levels == 0 || map.values().any(|item| is_deeper(item, levels - 1)),
        _ => false,
    }
}

/// Why the schema of arguments is none, by its shape.
fn fault_of_shape(schema: &JsonObject, value: &Value) -> Option<String> {
    if schema.get("type").is_some_and(|declared| !allows_object(declared)) {
        return Some("its schema is not that of an object".to_owned());
    }
    if is_older_dialect(schema) && jsonschema::draft7::meta::is_valid(value) {
        return None;
    }
    let error = jsonschema::draft202012::meta::validate(value).err()?;
    let place = error.instance_path().to_string();
    Some(format!("its schema is not valid at `{place}`: {}", error.masked_with("the value")))
}

/// Whether a schema says that it is written in a dialect before 2019.
fn is_older_dialect(schema: &JsonObject) -> bool {
    let dialect = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    ["draft-04", "draft-06", "draft-07"].iter().any(|older| dialect.contains(older))
}

/// What the shape of a schema does not tell: its patterns, and its references within itself. A reference to elsewhere
/// is never followed, and costs the tool nothing.
#[derive(Default)]
struct Parts<'a> {
    patterns: Vec<&'a str>,
    references: Vec<&'a str>,
}

impl<'a> Parts<'a> {
    fn of(schema: &'a Value) -> Self {
        let mut parts = Self::default();
        parts.visit(schema);
        parts
    }

    fn visit(&mut self, value: &'a Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.visit(item)),
            Value::Object(map) => map.iter().for_each(|(key, item)| {
                self.note(key, item);
                self.visit(item);
            }),
            _ => {}
        }
    }

    fn note(&mut self, key: &str, value: &'a Value) {
        match (key, value) {
            ("pattern", Value::String(pattern)) => self.patterns.push(pattern),
            ("patternProperties", Value::Object(map)) => self.patterns.extend(map.keys().map(String::as_str)),
            ("$ref", Value::String(target)) => self.references.extend(target.strip_prefix('#')),
            _ => {}
        }
    }

    /// The first reference that leads nowhere. One by another name than its place is taken to be right.
    fn dangling(&self, schema: &Value) -> Option<&'a str> {
        let is_place = |target: &&&str| target.starts_with('/') && !target.contains('%');
        self.references.iter().filter(is_place).find(|target| schema.pointer(target).is_none()).copied()
    }
}

fn is_pattern(text: &str) -> bool {
    let schema = json!({ "pattern": text });
    schema.as_object().is_some_and(|schema| Validator::compile(schema).fault().is_none())
}
