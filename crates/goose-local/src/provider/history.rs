//! The conversation as turns. Each earlier call is the literal JSON that the model wrote, each result a short text; the
//! same history gives the same turns, so what was computed for it can be used again.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use goose_engine::{Speaker, Turn};
use goose_extension::{ContentBlock, JsonObject, Message, MessageContent, Role, ToolOutput};
use serde_json::{Value, json};

use super::{
    found,
    known::{EDIT, READ, SEARCH, SHELL},
    offer::{FINAL_ANSWER, Offer, TEXT, literal},
    page::{MAX_FILE_CHARS, Page},
    renamed,
    seen::Seen,
    shorten::shortened,
    steps::Step,
};

/// How much of a result is shown, in characters.
const MAX_RESULT_CHARS: usize = 1_500;

/// How long a message of the user may be, in characters; beyond it can only be a mistake for a model of this size.
const MAX_MESSAGE_CHARS: usize = 200_000;

/// How much of a page is shown where its lines are very long.
const MAX_PAGE_CHARS: usize = MAX_FILE_CHARS * 2;

/// How a search says that it found nothing, and what a small model can do about it.
pub(super) const NO_MATCH: &str = "No match";
const NOTHING_FOUND: &str = "No match. Try another word, or read the files. Ignored and hidden files are not searched; `grep -r` in the \
                             shell does that.";
const AFTER_NO_MATCH: &str = "No match. Try another word, or read the files.";

/// Advice after an edit that failed. A small model that follows it loses what else is in the file.
const WRITE_INSTEAD: &str = ", or write the whole file with `write`";

/// What the loop says around the reason why a call was not made; the reason alone is clearer.
const NOT_RUN: (&str, &str) = (" cannot be read: ", " Call it again with one JSON object.");

/// How the shell says that a file is no program.
const NO_PROGRAM: &str = "[exit code 126]";

/// How the shell says that there is no such program.
const NOT_THERE: &str = "[exit code 127]";

/// Programs that people often do not have, and others that do the same.
const STAND_INS: [(&str, &str); 4] =
    [("pytest", "python3 -m unittest"), ("python", "python3"), ("pip", "python3 -m pip"), ("rg", "grep -rn")];

/// How the loop begins its list of files.
pub(super) const LISTED: &str = "Files here: ";

/// How much of the task is repeated with each result, in characters.
const MAX_TASK_CHARS: usize = 300;

/// What a model is told that makes a call again.
const AGAIN: &str =
    "You made this call before, and this is the same result. Do something else, or end the task.";

/// The conversation after what was told before it. Where it happens is part of what the user says first.
pub(super) fn turns(
    offer: &Offer,
    opening: Vec<Turn>,
    surroundings: &str,
    messages: &[Arc<Message>],
) -> Vec<Turn> {
    let mut history = History {
        offer,
        calls: HashMap::new(),
        seen: Seen::default(),
        made: HashSet::new(),
        task: String::new(),
    };
    let mut turns = opening;
    let mut surroundings = Some(surroundings.trim()).filter(|text| !text.is_empty());
    for message in messages {
        let speaker = if message.role == Role::Assistant { Speaker::Model } else { Speaker::User };
        let mut texts: Vec<String> =
            message.content.iter().filter_map(|part| history.shown(part, speaker)).collect();
        if speaker == Speaker::User {
            texts.splice(0..0, surroundings.take().map(|text| format!("{text}\n")));
        }
        add(&mut turns, speaker, texts.join("\n"));
    }
    turns
}

/// Two messages of one speaker are one turn.
fn add(turns: &mut Vec<Turn>, speaker: Speaker, text: String) {
    match turns.last_mut() {
        Some(last) if last.speaker == speaker => {
            last.text.push_str("\n\n");
            last.text.push_str(&text);
        }
        _ => turns.push(Turn { speaker, text }),
    }
}

struct History<'a> {
    offer: &'a Offer,
    /// The calls by their ids: the tool, what was passed, and the call as it was written.
    calls: HashMap<&'a str, (&'a str, &'a Value, String)>,
    /// What was seen of the files.
    seen: Seen,
    /// The calls that were answered since the user last spoke, with what was answered.
    made: HashSet<(String, String)>,
    /// What the user last asked for.
    task: String,
}

impl<'a> History<'a> {
    fn shown(&mut self, part: &'a MessageContent, speaker: Speaker) -> Option<String> {
        match part {
            MessageContent::Block(block) => {
                let text = said(block, speaker, self.offer)?;
                if speaker == Speaker::User && block.as_text().is_some() && !part.is_aside() {
                    self.task = shortened(text.trim(), MAX_TASK_CHARS);
                    self.made.clear();
                    self.seen.is_asked_anew();
                }
                Some(text)
            }
            MessageContent::ToolCall { id, name, arguments, .. } => {
                let call = literal(self.offer, name, &passed(arguments));
                self.calls.insert(id, (name, arguments, call.clone()));
                Some(call)
            }
            MessageContent::ToolResult { id, output } => Some(self.result(id, output)),
            _ => None,
        }
    }

    fn result(&mut self, id: &str, output: &ToolOutput) -> String {
        let (tool, arguments, call) =
            self.calls.get(id).cloned().unwrap_or(("", &Value::Null, String::new()));
        let step = Step { tool, arguments, output: Some(output) };
        self.seen.add(&step);
        let text = reason_alone(result_text(output));
        let text = match (tool, output.is_error) {
            (READ, false) => shortened(&Page::of(&text).text, MAX_PAGE_CHARS),
            (SEARCH, false) if text == NOTHING_FOUND => AFTER_NO_MATCH.to_owned(),
            (SEARCH, false) => shortened(&found::told(&text).unwrap_or(text), MAX_RESULT_CHARS),
            (EDIT, false) => format!("{text}{}", renamed::remark(&step, &self.seen, &self.task)),
            (EDIT, true) => shortened(&text.replace(WRITE_INSTEAD, ""), MAX_RESULT_CHARS),
            (SHELL, true) if text.contains(NOT_THERE) => format!("{text}\n{}", stand_in(arguments)),
            (SHELL, true) if text.contains(NO_PROGRAM) => {
                shortened(&with_program(&text, &call), MAX_RESULT_CHARS)
            }
            _ => shortened(&text, MAX_RESULT_CHARS),
        };
        let text = text.trim_end();
        let text = if text.is_empty() { "(nothing)" } else { text };
        let mut shown = match output.is_error {
            true => format!("Error: {text}"),
            false => format!("Result:\n{text}"),
        };
        if !self.made.insert((call, shown.clone())) {
            shown.push_str(&format!("\n\n{AGAIN}"));
        }
        shown.push_str(&reminder(&self.task));
        shown
    }
}

/// What was passed; where a call was not made, as far as it can be read.
fn passed(arguments: &Value) -> JsonObject {
    match arguments {
        Value::Object(arguments) => arguments.clone(),
        Value::String(raw) => serde_json::from_str(raw).unwrap_or_default(),
        _ => JsonObject::new(),
    }
}

/// What somebody said besides calls. The model's own text was its final answer.
fn said(block: &ContentBlock, speaker: Speaker, offer: &Offer) -> Option<String> {
    let Some(text) = block.as_text() else {
        return Some("[an image or a file, which this model cannot see]".to_owned());
    };
    let text = shortened(&text.text, MAX_MESSAGE_CHARS);
    match speaker {
        Speaker::Model if text.is_empty() => None,
        Speaker::Model if offer.takes_text && !offer.tools.is_empty() => {
            Some(json!({ "tool": FINAL_ANSWER, TEXT: text }).to_string())
        }
        _ => Some(text),
    }
}

fn result_text(output: &ToolOutput) -> String {
    let shown = |block: &ContentBlock| match block.as_text() {
        Some(text) => text.text.clone(),
        None => "[an image or a file, which this model cannot see]".to_owned(),
    };
    match (&output.structured, output.content.is_empty()) {
        (Some(value), true) => value.to_string(),
        _ => output.content.iter().map(shown).collect::<Vec<_>>().join("\n"),
    }
}

/// The task, after a result: what came long ago is easily forgotten.
pub(super) fn reminder(task: &str) -> String {
    if task.is_empty() { String::new() } else { format!("\n\nTask: {task}") }
}

/// A script that cannot be started by itself, with the way it can.
fn with_program(text: &str, call: &str) -> String {
    let command = serde_json::from_str::<Value>(call)
        .ok()
        .and_then(|call| Some(call.get("command")?.as_str()?.to_owned()));
    let file = command.as_deref().and_then(|command| command.split_whitespace().next());
    let program = file.filter(|file| file.starts_with("./")).and_then(|file| program(file));
    match program.zip(command.as_deref()) {
        Some((program, command)) => format!("{text}\nRun it as: {program} {command}"),
        None => text.to_owned(),
    }
}

/// What can be run in place of a program that is not there.
fn stand_in(arguments: &Value) -> String {
    let command = arguments.get("command").and_then(Value::as_str).unwrap_or_default();
    let program = command.split_whitespace().next().unwrap_or_default();
    let other = STAND_INS.iter().find(|(missing, _)| *missing == program).map(|(_, other)| *other);
    other.map(|other| format!("{program} is not installed here. Use {other}.")).unwrap_or_default()
}

/// What runs a script, by its name.
fn program(script: &str) -> Option<&'static str> {
    let (_, ending) = script.trim_start_matches("./").rsplit_once('.').unwrap_or((script, "sh"));
    Some(match ending {
        "sh" => "sh",
        "bash" => "bash",
        "py" => "python3",
        "js" => "node",
        "rb" => "ruby",
        "pl" => "perl",
        _ => return None,
    })
}

fn reason_alone(text: String) -> String {
    let is_not_run = text.starts_with("Not run: ");
    let reason =
        text.split_once(NOT_RUN.0).and_then(|(_, rest)| rest.split_once(NOT_RUN.1)).map(|(reason, _)| reason);
    reason.filter(|_| is_not_run).map(str::to_owned).unwrap_or(text)
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
