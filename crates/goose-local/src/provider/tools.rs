//! [`Tools`]: the few tools that a small model is offered, with short names and a literal call of each as
//! an example.

use std::{collections::HashSet, sync::LazyLock};

use goose_extension::{JsonObject, Tool};
use serde::Deserialize;
use serde_json::{Value, json};

/// Maximum number of tools that a small model can tell apart.
const MAX_TOOLS: usize = 8;

/// Tool through which the loop takes answers in a given form. It replaces the final answer.
pub(super) const FINAL_OUTPUT: &str = "recipe__final_output";

/// Name of the final answer among the calls.
pub(super) const FINAL_ANSWER: &str = "final_answer";

/// Argument of the final answer.
pub(super) const TEXT: &str = "text";

/// Argument of the tool that runs commands.
pub(super) const COMMAND: &str = "command";

/// Maximum length of a description, in characters.
const MAX_DESCRIPTION_CHARS: usize = 80;

/// Effect of a tool, as far as the provider treats it specially.
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

/// Tool of `developer` in the words for a small model.
#[derive(Clone, Deserialize)]
struct DeveloperTool {
    name: String,
    capability: Capability,
    description: String,
    /// Arguments of the example. All are required.
    example: JsonObject,
    /// Other arguments that the model may use.
    #[serde(default)]
    optional: Vec<String>,
    /// Arguments that goose adds to every call.
    #[serde(default)]
    fixed: JsonObject,
}

/// Tools that are always offered, in this order.
static DEVELOPER_TOOLS: LazyLock<Vec<DeveloperTool>> =
    LazyLock::new(|| serde_json::from_str(include_str!("developer_tools.json")).unwrap_or_default());

/// Tools of one request.
#[derive(Debug)]
pub(super) struct Tools {
    pub(super) offered: Vec<OfferedTool>,
    /// True if the answer may be plain text.
    pub(super) takes_text: bool,
}

/// Tool in the form that the model sees.
#[derive(Debug)]
pub(super) struct OfferedTool {
    pub(super) capability: Capability,
    /// Name that the model uses.
    pub(super) short: String,
    /// Name that the loop uses.
    pub(super) name: String,
    pub(super) description: String,
    pub(super) example: JsonObject,
    /// Schema of the arguments that the model may pass.
    pub(super) schema: JsonObject,
    fixed: JsonObject,
}

impl Tools {
    /// Chooses tools by all requests of a conversation. Offered tools stay, because other tools would
    /// change the beginning of the prompt, and all of it would have to be computed again.
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

    /// Returns the call as the model writes it, without the arguments that goose adds.
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
            let summary = tool.summary();
            let description =
                goose_fs::head_chars(summary.trim_end_matches('.'), MAX_DESCRIPTION_CHARS).to_lowercase();
            let example = tool.example_arguments();
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

    /// Returns the arguments that the tool gets.
    pub(super) fn complete(&self, mut arguments: JsonObject) -> JsonObject {
        for (name, value) in &self.fixed {
            arguments.entry(name.as_str()).or_insert_with(|| value.clone());
        }
        arguments
    }
}

/// Returns the tools of `developer` and the final output, then other tools if the requests contain half
/// of the words of their name.
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

/// Returns the tool's name without its extension if that is unique, else the full name.
fn short(name: &str, all: &[&Tool]) -> String {
    let own = bare(name);
    let is_taken =
        own == FINAL_ANSWER || all.iter().any(|tool| tool.name() != name && bare(tool.name()) == own);
    if is_taken || own.is_empty() { name.to_owned() } else { own.to_owned() }
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
