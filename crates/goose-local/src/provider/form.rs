//! [`Form`]: what an answer must fit: one of the calls, or the final answer. Keys come in order, nothing is between them,
//! and nothing else may be there.

use std::fmt::Write as _;

use goose_extension::JsonObject;
use serde_json::{Value, json};

use super::{
    claims::Doubt,
    known::{EDIT, MAX_TEXT_CHARS, READ, SEARCH, Use},
    offer::{FINAL_ANSWER, FINAL_OUTPUT, Offer, Offered, TEXT},
    progress::{Progress, Stage},
    quoting::Quoting,
    renamed::Unfinished,
    seen::Seen,
};

/// The argument with which a file is read on.
const OFFSET: &str = "offset";

/// After how many calls an answer is handed out that has no foundation, with a remark.
const MAX_DOUBTED: usize = 4;

/// What a sentence can end with.
const LAST: &str = r"[^\s\[({=:,]";

/// The calls that may be made, and the final answer where it may come.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Form {
    /// The schemas of documents.
    documents: Vec<Value>,
    /// The changes that quote what was seen.
    edits: Vec<Quoting>,
}

impl Form {
    /// What may come next, as far as the model is.
    pub(super) fn of(offer: &Offer, progress: &Progress, seen: &Seen) -> Self {
        if let Some(form) = progress.unsearched.as_ref().and_then(|name| Self::search(offer, name)) {
            return form;
        }
        let mut form = Self::calls(offer, progress, seen, |tool| may_be_called(offer, tool, progress.stage));
        let must_go_on = matches!(progress.stage, Stage::Missed | Stage::Undone);
        if offer.takes_text && (!must_go_on || form.is_empty()) {
            form.documents.push(final_answer("."));
        }
        form
    }

    /// What may come in place of an answer that was not believed; none where there is nothing.
    pub(super) fn instead(offer: &Offer, progress: &Progress, seen: &Seen, doubt: Doubt) -> Option<Self> {
        match doubt {
            Doubt::Undone => {
                let acts = |tool: &Offered| tool.used_to != Use::Look || tool.name == READ;
                let may_act = |tool: &Offered| acts(tool) && may_be_called(offer, tool, progress.stage);
                Some(Self::calls(offer, progress, seen, may_act)).filter(|form| !form.is_empty())
            }
            Doubt::Elsewhere(file) => Self::read(offer, &file),
            Doubt::Unfounded(_) => {
                let may_look = |tool: &Offered| {
                    matches!(tool.used_to, Use::Look | Use::Run) && may_be_called(offer, tool, progress.stage)
                };
                let form = Self::calls(offer, progress, seen, may_look);
                Some(form).filter(|form| !form.is_empty() && progress.calls < MAX_DOUBTED)
            }
            Doubt::Quoting(path) => {
                let tool = offer.tools.iter().find(|tool| tool.name == EDIT)?;
                let mut edits = Quoting::of(&tool.short, seen);
                edits.retain(|edit| edit.path() == path);
                Some(Self { documents: Vec::new(), edits }).filter(|form| !form.is_empty())
            }
            Doubt::Hasty => None,
            // Whoever does not speak of themselves says what they saw.
            Doubt::Empty => Some(Self { documents: vec![final_answer("[^I]")], edits: Vec::new() }),
        }
    }

    /// Only a look into a file.
    pub(super) fn read(offer: &Offer, file: &str) -> Option<Self> {
        Self::only(offer, READ, "path", file)
    }

    /// Only a search for a word.
    fn search(offer: &Offer, word: &str) -> Option<Self> {
        Self::only(offer, SEARCH, "pattern", word)
    }

    fn only(offer: &Offer, tool: &str, argument: &str, value: &str) -> Option<Self> {
        let tool = offer.tools.iter().find(|offered| offered.name == tool)?;
        let mut only = call(tool, &[OFFSET]);
        only["properties"][argument] = json!({ "const": value });
        Some(Self { documents: vec![only], edits: Vec::new() })
    }

    fn calls(offer: &Offer, progress: &Progress, seen: &Seen, is_allowed: impl Fn(&Offered) -> bool) -> Self {
        if let Some(unfinished) = &progress.unfinished
            && let Some(tool) = offer.tools.iter().find(|tool| tool.name == EDIT)
        {
            return Self { documents: vec![finishing(tool, unfinished)], edits: Vec::new() };
        }
        let mut form = Self::default();
        let is_left =
            |tool: &&Offered| is_allowed(tool) && progress.exhausted.as_deref() != Some(tool.name.as_str());
        for tool in offer.tools.iter().filter(is_left) {
            match tool.name.as_str() {
                EDIT if progress.lacks_file => {}
                // What was not looked at is edited from memory, which is wrong.
                EDIT if offer.can_read() => form.edits = Quoting::of(&tool.short, seen),
                READ if !progress.may_page => form.documents.push(call(tool, &[OFFSET])),
                _ => form.documents.push(call(tool, &[])),
            }
        }
        form
    }

    fn is_empty(&self) -> bool {
        self.documents.is_empty() && self.edits.is_empty()
    }

    /// As a grammar.
    pub(super) fn grammar(&self) -> String {
        let documents = (0..self.documents.len()).map(|index| format!("document_{index}"));
        let edits = (0..self.edits.len()).map(|index| format!("edit_{index}"));
        let all: Vec<String> = documents.chain(edits).collect();
        // Writing to a string cannot fail.
        let mut grammar = format!("start: {}\n", all.join(" | "));
        for (index, schema) in self.documents.iter().enumerate() {
            let _ = writeln!(grammar, "document_{index}: %json {}", guided(schema.clone()));
        }
        for (index, edit) in self.edits.iter().enumerate() {
            let _ = writeln!(grammar, "{}", edit.rules(&format!("edit_{index}"), index));
        }
        if !self.edits.is_empty() {
            let text = json!({ "type": "string", "maxLength": MAX_TEXT_CHARS });
            let _ = writeln!(grammar, "text: %json {}", guided(text));
        }
        grammar
    }
}

/// The schema of a document without anything between its parts.
fn guided(mut schema: Value) -> Value {
    schema["x-guidance"] =
        json!({ "whitespace_flexible": false, "lenient": true, "json_allowed_escapes": "nrt\\\"" });
    schema
}

fn may_be_called(offer: &Offer, tool: &Offered, stage: Stage) -> bool {
    match stage {
        Stage::Missed => tool.used_to == Use::Look,
        Stage::Begun | Stage::Going | Stage::Undone => true,
        Stage::Stuck => !offer.takes_text && tool.name == FINAL_OUTPUT,
    }
}

/// The final answer, whose text begins with a character of this class. It does not end as no sentence ends: there a small
/// model has forgotten to escape a quotation mark.
fn final_answer(first: &str) -> Value {
    let rest = MAX_TEXT_CHARS - 2;
    let text = format!("^(?s:{first}.{{0,{rest}}}{LAST}|\\d)$");
    json!({
        "type": "object",
        "properties": { "tool": { "const": FINAL_ANSWER }, TEXT: { "type": "string", "pattern": text } },
        "required": ["tool", TEXT],
        "additionalProperties": false,
    })
}

/// The change that was begun, in the files that are left.
fn finishing(tool: &Offered, unfinished: &Unfinished) -> Value {
    json!({
        "type": "object",
        "properties": {
            "tool": { "const": tool.short },
            "path": { "enum": unfinished.files },
            "before": { "const": unfinished.from },
            "after": { "const": unfinished.to },
            "replace_all": { "const": true },
        },
        "required": ["tool", "path", "before", "after", "replace_all"],
        "additionalProperties": false,
    })
}

/// A call: the tool's name, then what the tool takes, but for what is left out.
fn call(tool: &Offered, left_out: &[&str]) -> Value {
    let mut properties = JsonObject::from_iter([("tool".to_owned(), json!({ "const": tool.short }))]);
    if let Some(Value::Object(own)) = tool.schema.get("properties") {
        let is_taken = |name: &str| name != "tool" && !left_out.contains(&name);
        let own = own.iter().filter(|(name, _)| is_taken(name));
        properties.extend(own.map(|(name, schema)| (name.clone(), ended(schema))));
    }
    let mut required = vec![json!("tool")];
    if let Some(Value::Array(own)) = tool.schema.get("required") {
        let is_there = |name: &&Value| name.as_str().is_some_and(|name| properties.contains_key(name));
        required.extend(own.iter().filter(is_there).cloned());
    }
    let mut call = json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    for key in ["$defs", "definitions"] {
        if let Some(own) = tool.schema.get(key) {
            call[key] = ended(own);
        }
    }
    call
}

/// The schema, with no text in it that may be of any length.
fn ended(schema: &Value) -> Value {
    match schema {
        Value::Object(object) => {
            let mut copy: JsonObject =
                object.iter().map(|(key, value)| (key.clone(), ended(value))).collect();
            if is_endless(object) {
                copy.insert("maxLength".to_owned(), json!(MAX_TEXT_CHARS));
            }
            Value::Object(copy)
        }
        Value::Array(list) => Value::Array(list.iter().map(ended).collect()),
        other => other.clone(),
    }
}

/// Whether it is a text that may be of any length.
fn is_endless(schema: &JsonObject) -> bool {
    let says = |key: &str| schema.contains_key(key);
    let has_end = ["maxLength", "enum", "const", "pattern", "format"].into_iter().any(says);
    schema.get("type").is_some_and(|kind| kind == "string") && !has_end
}

#[cfg(test)]
#[path = "form_tests.rs"]
mod tests;
