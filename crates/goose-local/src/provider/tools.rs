//! [`Tools`]: the few tools that a small model is offered, under short names, each with a literal call as an example.

use std::{collections::HashSet, sync::LazyLock};

use goose_extension::{JsonObject, Tool};
use serde::Deserialize;
use serde_json::{Value, json};

/// The most tools that a small model can tell apart.
const MAX_TOOLS: usize = 8;

/// The tool through which the loop takes answers of a given form. It takes the place of the final answer.
pub(super) const FINAL_OUTPUT: &str = "recipe__final_output";

/// The name of the final answer among the calls.
pub(super) const FINAL_ANSWER: &str = "final_answer";

/// The argument of the final answer.
pub(super) const TEXT: &str = "text";

/// The argument of the tool that runs commands.
pub(super) const COMMAND: &str = "command";

/// The longest description that is shown, in characters.
const MAX_DESCRIPTION_CHARS: usize = 80;

/// The effect of a tool, as far as the provider treats it in its own way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Capability {
    Read,
    Search,
    Edit,
    Write,
    Run,
    Other,
}

/// A tool of `developer` as a small model sees it.
#[derive(Clone, Deserialize)]
struct DeveloperTool {
    name: String,
    capability: Capability,
    description: String,
    /// The arguments of the example, which are all required.
    example: JsonObject,
    /// Arguments that the model may also use.
    #[serde(default)]
    optional: Vec<String>,
    /// Arguments that are passed without the model's doing.
    #[serde(default)]
    fixed: JsonObject,
}

/// The tools that are always offered, in this order.
static DEVELOPER_TOOLS: LazyLock<Vec<DeveloperTool>> =
    LazyLock::new(|| serde_json::from_str(include_str!("developer_tools.json")).unwrap_or_default());

/// The tools of one request.
#[derive(Debug)]
pub(super) struct Tools {
    pub(super) offered: Vec<OfferedTool>,
    /// True if a plain text may be the answer.
    pub(super) takes_text: bool,
}

/// One tool, as the model sees it.
#[derive(Debug)]
pub(super) struct OfferedTool {
    pub(super) capability: Capability,
    /// The name that the model uses.
    pub(super) short: String,
    /// The name that the loop knows.
    pub(super) name: String,
    pub(super) description: String,
    pub(super) example: JsonObject,
    /// The schema of the arguments that the model may pass.
    pub(super) schema: JsonObject,
    fixed: JsonObject,
}

impl Tools {
    /// Chooses tools by all requests of a conversation: what was offered stays, since other tools would be another beginning of the
    /// conversation, which would have to be read again.
    pub(super) fn new(tools: &[Tool], requests: &[String]) -> Self {
        let chosen = choose(tools, requests);
        let takes_text = !chosen.iter().any(|tool| tool.name() == FINAL_OUTPUT);
        Self { offered: chosen.iter().map(|tool| OfferedTool::new(tool, &chosen)).collect(), takes_text }
    }

    pub(super) fn by_short(&self, short: &str) -> Option<&OfferedTool> {
        self.offered.iter().find(|tool| tool.short == short)
    }

    pub(super) fn by_name(&self, name: &str) -> Option<&OfferedTool> {
        self.offered.iter().find(|tool| tool.name == name)
    }

    pub(super) fn by_capability(&self, capability: Capability) -> Option<&OfferedTool> {
        self.offered.iter().find(|tool| tool.capability == capability)
    }

    /// The call as the model writes it, without what it does not pass itself.
    pub(super) fn literal(&self, name: &str, arguments: &JsonObject) -> String {
        let tool = self.by_name(name);
        let short = tool.map_or_else(|| bare(name), |tool| &tool.short);
        let is_own = |argument: &str| tool.is_none_or(|tool| !tool.fixed.contains_key(argument));
        let mut call = JsonObject::from_iter([("tool".to_owned(), Value::from(short))]);
        let own = arguments.iter().filter(|(name, _)| is_own(name));
        call.extend(own.map(|(name, value)| (name.clone(), value.clone())));
        Value::Object(call).to_string()
    }
}

impl OfferedTool {
    fn new(tool: &Tool, all: &[&Tool]) -> Self {
        let (name, short) = (tool.name().to_owned(), short(tool.name(), all));
        let schema = tool.input_schema();
        let Some(known) = DEVELOPER_TOOLS.iter().find(|known| known.name == name) else {
            let (capability, fixed, schema) = (Capability::Other, JsonObject::new(), schema.clone());
            let (description, example) = (description(tool), example(&schema));
            return Self { capability, short, name, description, example, schema, fixed };
        };
        let own = |name: &str| schema.get("properties").and_then(|own| own.get(name)).cloned();
        let shown = |name: &String| (name.clone(), own(name).unwrap_or(json!({ "type": "string" })));
        let properties: JsonObject = known.example.keys().chain(&known.optional).map(shown).collect();
        let required: Vec<&String> = known.example.keys().collect();
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        let schema = schema.as_object().cloned().unwrap_or_default();
        let DeveloperTool { capability, description, example, fixed, .. } = known.clone();
        Self { capability, short, name, description, example, schema, fixed }
    }

    /// The arguments as the tool gets them.
    pub(super) fn complete(&self, mut arguments: JsonObject) -> JsonObject {
        for (name, value) in &self.fixed {
            arguments.entry(name.as_str()).or_insert_with(|| value.clone());
        }
        arguments
    }
}

/// The tools of `developer` and the final output, then those of which the requests have half of the name.
fn choose<'a>(tools: &'a [Tool], requests: &[String]) -> Vec<&'a Tool> {
    let place = |tool: &&Tool| DEVELOPER_TOOLS.iter().position(|known| known.name == tool.name());
    let is_always = |tool: &&Tool| tool.name() == FINAL_OUTPUT || place(tool).is_some();
    let (mut chosen, mut others): (Vec<&Tool>, Vec<&Tool>) = tools.iter().partition(is_always);
    chosen.sort_by_key(|tool| place(tool).unwrap_or(DEVELOPER_TOOLS.len()));
    if !chosen.is_empty() {
        let common: HashSet<String> = DEVELOPER_TOOLS.iter().flat_map(|known| words(&known.name)).collect();
        let asked = words(&requests.join(" "));
        others.retain(|tool| {
            let own: HashSet<String> = words(tool.name()).difference(&common).cloned().collect();
            !own.is_empty() && own.intersection(&asked).count() * 2 >= own.len()
        });
    }
    chosen.extend(others);
    chosen.truncate(MAX_TOOLS);
    chosen
}

fn words(text: &str) -> HashSet<String> {
    let words = text.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

fn bare(name: &str) -> &str {
    name.rsplit_once("__").map_or(name, |(_, bare)| bare)
}

/// The tool's own name if no other has it, else the whole.
fn short(name: &str, all: &[&Tool]) -> String {
    let own = bare(name);
    let is_taken =
        own == FINAL_ANSWER || all.iter().any(|tool| tool.name() != name && bare(tool.name()) == own);
    if is_taken || own.is_empty() { name.to_owned() } else { own.to_owned() }
}

/// The first sentence of the description.
fn description(tool: &Tool) -> String {
    let line = tool.description().lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let sentence = line.split_once(". ").map_or(line, |(first, _)| first).trim_end_matches('.');
    goose_fs::head_chars(sentence, MAX_DESCRIPTION_CHARS).to_lowercase()
}

/// The required arguments, with values that the schema shows or that have the right type.
fn example(schema: &JsonObject) -> JsonObject {
    let Some(Value::Object(properties)) = schema.get("properties") else { return JsonObject::new() };
    let required = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let value = |name: &str, schema: &Value| {
        let first = |key: &str| schema.get(key)?.as_array()?.first().cloned();
        let shown = schema.get("const").cloned().or_else(|| first("examples")).or_else(|| first("enum"));
        shown.unwrap_or_else(|| match schema.get("type").and_then(Value::as_str) {
            Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(3)),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => json!(name),
        })
    };
    let needed = properties.iter().filter(|(name, _)| required.iter().any(|needed| needed == name.as_str()));
    needed.map(|(name, schema)| (name.clone(), value(name, schema))).collect()
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
