//! Tools of strangers: each is looked at by itself. One that no model could be given is dropped, with the reason; the
//! others work.

use std::collections::HashSet;

use rmcp::model as mcp;
use serde::Serialize;
use serde_json::Value;

use super::{options::ConnectOptions, strangers};
use crate::{
    arguments::{Validator, json_len},
    schema::allows_object,
    tool::{JsonObject, Tool},
};

/// How long a tool's name may be.
const MAX_NAME_BYTES: usize = 128;

/// How large the schema of a tool may be, as JSON.
const MAX_SCHEMA_BYTES: usize = 256 * 1024;

/// How deep the schema of a tool may nest.
const MAX_SCHEMA_DEPTH: usize = 64;

/// How many dropped tools are remembered by name; of the rest, how many.
const MAX_DROPPED: usize = 100;

/// How much of a dropped tool's name, and of the reason, is shown.
const MAX_SHOWN_NAME_CHARS: usize = 80;
const MAX_REASON_CHARS: usize = 300;

/// A tool that a server announced and that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
        Self { name, reason: reason.chars().take(MAX_REASON_CHARS).collect() }
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
    tools: Vec<Tool>,
    dropped: Vec<DroppedTool>,
    more_dropped: usize,
}

impl Vetting {
    pub(super) fn of(options: &ConnectOptions) -> Self {
        Self {
            trust_groups: options.trust_groups,
            names: HashSet::new(),
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
        tracing::warn!(tool = dropped.name, reason = dropped.reason, "a tool cannot be used and was dropped");
        if self.dropped.len() < MAX_DROPPED {
            self.dropped.push(dropped);
        } else {
            self.more_dropped += 1;
        }
    }

    /// Why a tool cannot be used.
    fn fault_of(&self, tool: &mcp::Tool) -> Option<String> {
        fault_of_name(&tool.name)
            .or_else(|| self.names.contains(&*tool.name).then(|| "another tool has the same name".to_owned()))
            .or_else(|| fault_of_size(&tool.input_schema))
            .or_else(|| fault_of_schema(&tool.input_schema))
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

/// Why a schema is none. Compiling costs more than the check against the schema of schemas, so that is left to those
/// parts that only compiling can judge: patterns and references. A reference to the network is never followed, and such
/// a tool stays usable.
fn fault_of_schema(schema: &JsonObject) -> Option<String> {
    if schema.get("type").is_some_and(|declared| !allows_object(declared)) {
        return Some("its schema is not that of an object".to_owned());
    }
    let value = Value::Object(schema.clone());
    if is_older_dialect(schema) && jsonschema::draft7::meta::is_valid(&value) {
        return None;
    }
    if let Err(error) = jsonschema::draft202012::meta::validate(&value) {
        let place = error.instance_path().to_string();
        let reason = error.masked_with("the value").to_string();
        return Some(format!("its schema is not valid at `{place}`: {reason}"));
    }
    let mut parts = Parts::default();
    parts.visit(&value);
    if parts.needs_compiling && !parts.refers_elsewhere {
        return Validator::compile(schema).fault().map(|reason| format!("its schema is not valid: {reason}"));
    }
    None
}

/// Whether a schema says that it is written in a dialect before 2019.
fn is_older_dialect(schema: &JsonObject) -> bool {
    let dialect = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    ["draft-04", "draft-06", "draft-07"].iter().any(|older| dialect.contains(older))
}

/// What occurs in a schema.
#[derive(Default)]
struct Parts {
    needs_compiling: bool,
    refers_elsewhere: bool,
}

impl Parts {
    fn visit(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.visit(item)),
            Value::Object(map) => map.iter().for_each(|(key, item)| {
                self.note(key, item);
                self.visit(item);
            }),
            _ => {}
        }
    }

    fn note(&mut self, key: &str, value: &Value) {
        match key {
            "pattern" | "patternProperties" => self.needs_compiling = true,
            "$ref" | "$dynamicRef" => {
                self.needs_compiling = true;
                self.refers_elsewhere |= value.as_str().is_some_and(|target| !target.starts_with('#'));
            }
            _ => {}
        }
    }
}
