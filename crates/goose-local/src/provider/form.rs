//! [`Form`]: the calls that the model may write next, and the final answer. A grammar for the engine, or
//! a JSON Schema for a server.

use serde_json::{Value, json};

use super::{
    plan::{Goal, Plan},
    request_state::{Page, RequestState},
    tools::{COMMAND, Capability, FINAL_ANSWER, FINAL_OUTPUT, OfferedTool, TEXT, Tools},
};

/// Maximum number of lines of a file that can be quoted.
const MAX_LINES: usize = 300;

/// Argument for the first line to read.
const OFFSET: &str = "offset";

/// Schemas of the allowed calls, and of the final answer.
#[derive(Debug, PartialEq)]
pub(crate) struct Form(Vec<Value>);

impl Form {
    /// Builds the form of the next step. A model that repeats itself can only answer.
    pub(super) fn new(tools: &Tools, state: &RequestState<'_>, plan: &Plan) -> Self {
        let mut calls = Vec::new();
        let (goal, is_stuck, exhausted) = (plan.goal(), state.is_stuck(), state.exhausted());
        // A run without planned files changes none: models fix a program that they should only run, and the
        // text of a file that they should rename. Other runs end with a command, once the files are written.
        let is_command = goal == Goal::Run
            && (plan.files().next().is_none()
                || !state.has_run() && state.has_written() && state.unwritten(plan).is_none());
        let has_shell = tools.by_capability(Capability::Run).is_some();
        let may_write = goal != Goal::Answer && !(is_command && has_shell);
        let is_allowed = |tool: &&OfferedTool| {
            // Reading and running commands help with every goal.
            (may_write || !matches!(tool.capability, Capability::Edit | Capability::Write))
                && (tool.name == FINAL_OUTPUT || !is_stuck && exhausted != Some(tool.name.as_str()))
        };
        for tool in tools.offered.iter().filter(is_allowed) {
            let mut call = call(tool, state.pages.iter().any(|page| !page.is_whole));
            if tool.capability == Capability::Run && goal == Goal::Answer {
                // A question needs the output of a command, never a file with it.
                call["properties"][COMMAND]["pattern"] = json!("^[^>]+$");
            }
            match tool.capability {
                Capability::Edit if tools.by_capability(Capability::Read).is_some() => {
                    calls.extend(state.pages.iter().filter_map(|page| edit(tool, page)));
                }
                _ => calls.push(call),
            }
        }
        // Without a shell, a change is all that a run can be.
        let served = if has_shell || goal != Goal::Run { goal } else { Goal::Change };
        if tools.takes_text && (is_stuck || calls.is_empty() || state.may_answer(served)) {
            let answer = object(FINAL_ANSWER, [(TEXT, json!({ "type": "string", "minLength": 1 }))]);
            calls.push(answer);
        }
        Self(calls)
    }

    /// Returns the form as a grammar in Lark notation, without whitespace between JSON tokens.
    pub(crate) fn grammar(&self) -> String {
        let names: Vec<String> = (0..self.0.len()).map(|index| format!("call_{index}")).collect();
        let mut grammar = format!("start: {}\n", names.join(" | "));
        for (name, call) in names.iter().zip(&self.0) {
            let mut call = call.clone();
            // Escapes such as \u003e would smuggle a `>` past the pattern of commands.
            call["x-guidance"] =
                json!({ "whitespace_flexible": false, "lenient": true, "json_allowed_escapes": "nrt\\\"" });
            grammar.push_str(&format!("{name}: %json {call}\n"));
        }
        grammar
    }

    /// Returns the form as a JSON Schema.
    pub(crate) fn schema(&self) -> Value {
        json!({ "anyOf": self.0 })
    }
}

/// Returns the schema of an edit that replaces one line of a known file. Small models quote inexactly,
/// and an inexact quote cannot be replaced.
fn edit(tool: &OfferedTool, page: &Page) -> Option<Value> {
    let mut lines: Vec<&str> = Vec::new();
    for line in page.text.lines().filter(|line| !line.trim().is_empty()).take(MAX_LINES) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    let arguments = [
        ("path", json!({ "const": page.path })),
        ("before", json!({ "enum": lines })),
        ("after", json!({ "type": "string" })),
    ];
    (!lines.is_empty()).then(|| object(&tool.short, arguments))
}

fn object<const N: usize>(tool: &str, arguments: [(&str, Value); N]) -> Value {
    let mut object = json!({
        "type": "object",
        "properties": { "tool": { "const": tool } },
        "additionalProperties": false,
    });
    let names: Vec<&str> = std::iter::once("tool").chain(arguments.iter().map(|(name, _)| *name)).collect();
    object["required"] = json!(names);
    for (name, schema) in arguments {
        object["properties"][name] = schema;
    }
    object
}

/// Returns the schema of a call: the tool's name, then its arguments. The first line to read is allowed
/// only if a file was not read to its end.
fn call(tool: &OfferedTool, has_partial_page: bool) -> Value {
    let mut call = object(&tool.short, []);
    let own = |key: &str| tool.schema.get(key).cloned();
    for (name, schema) in own("properties").as_ref().and_then(Value::as_object).into_iter().flatten() {
        if name != "tool" && (name != OFFSET || tool.capability != Capability::Read || has_partial_page) {
            call["properties"][name] = schema.clone();
        }
    }
    if let (Some(all), Some(Value::Array(required))) = (call["required"].as_array_mut(), own("required")) {
        all.extend(required);
    }
    for key in ["$defs", "definitions"] {
        if let Some(own) = own(key) {
            call[key] = own;
        }
    }
    call
}

#[cfg(test)]
#[path = "form_tests.rs"]
mod tests;
