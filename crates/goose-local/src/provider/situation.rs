//! [`Situation`]: the state of a task, from the fields of messages, calls and results: what is asked, which files there are, what
//! was done since, and what was read of files.

use std::{collections::HashMap, sync::Arc};

use goose_extension::{JsonObject, Message, MessageContent, Role, ToolOutput};
use serde_json::Value;

use super::{
    goals::Goal,
    tools::{Does, Tools},
};

/// The key of the list of files in the metadata of the block that shows it.
const FILES: &str = "files";

/// The fields of a result that shows lines of a file.
const FIRST_LINE: &str = "first_line";
const LAST_LINE: &str = "last_line";
const TOTAL_LINES: &str = "total_lines";

/// The field of a result with the number of matches of a search.
const MATCHES: &str = "matches";

/// The number of calls after which the model may give up.
const MAX_TRIES: usize = 3;

/// The most files that a request can point to; with more it speaks of a kind of file, not of these.
const MAX_NAMED: usize = 4;

/// The maximum number of calls for one request, and of those that were made before with the same result.
const MAX_CALLS: usize = 24;
const MAX_REPEATED: usize = 2;

/// One call and its result.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step<'a> {
    pub(super) id: &'a str,
    pub(super) tool: &'a str,
    pub(super) arguments: &'a Value,
    pub(super) output: Option<&'a ToolOutput>,
}

/// The known text of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) path: String,
    pub(super) text: String,
    /// True if this is the whole file.
    pub(super) is_whole: bool,
}

/// The state of a task.
#[derive(Debug, Default)]
pub(super) struct Situation<'a> {
    /// The last request of a person.
    pub(super) task: String,
    /// The files in the working folder, as far as they are listed.
    pub(super) files: Vec<String>,
    /// The calls since then.
    pub(super) steps: Vec<Step<'a>>,
    /// The files that were read or written, the last one at the end.
    pub(super) pages: Vec<Page>,
}

impl<'a> Situation<'a> {
    pub(super) fn new(messages: &'a [Arc<Message>], tools: &Tools) -> Self {
        let outputs: HashMap<&str, &ToolOutput> = parts(messages).filter_map(result).collect();
        let mut situation = Self::default();
        for message in messages {
            let asked = asked(message);
            if !asked.trim().is_empty() {
                situation.task = asked;
                situation.steps.clear();
            }
            for part in &message.content {
                if let Some(files) = listed(part) {
                    situation.files = files;
                }
                if let MessageContent::ToolCall { id, name, arguments, .. } = part {
                    let step = Step { id, tool: name, arguments, output: outputs.get(id.as_str()).copied() };
                    situation.look(&step, tools);
                    situation.steps.push(step);
                }
            }
        }
        situation
    }

    /// Keeps what a step shows of a file.
    fn look(&mut self, step: &Step<'_>, tools: &Tools) {
        let Some(tool) = tools.by_name(step.tool).filter(|_| step.is_done()) else { return };
        let argument = |name: &str| step.arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let path = step.path().unwrap_or_default();
        match tool.does {
            Does::Read => self.pages.extend(step.page()),
            Does::Write => {
                let text = argument("content").to_owned();
                self.pages.push(Page { path: path.to_owned(), text, is_whole: true });
            }
            Does::Edit => {
                if let Some(page) = self.pages.iter_mut().rev().find(|page| page.path == path) {
                    page.text = page.text.replace(argument("before"), argument("after"));
                }
            }
            Does::Run | Does::Other | Does::Answer => return,
        }
        let (path, mut seen) = (path.to_owned(), false);
        self.pages.reverse();
        self.pages.retain(|page| page.path != path || !std::mem::replace(&mut seen, true));
        self.pages.reverse();
    }

    /// The file's text, as far as it was read.
    pub(super) fn page(&self, path: &str) -> Option<&Page> {
        self.pages.iter().find(|page| page.path == path)
    }

    /// A file that the request names and that no step has dealt with yet.
    pub(super) fn unread(&self) -> Option<&str> {
        let files = self.files.iter().map(String::as_str).filter(|file| !file.ends_with('/'));
        let is_new =
            |file: &&str| self.page(file).is_none() && !self.steps.iter().any(|step| step.deals_with(file));
        files.filter(|file| is_named(file, &self.task)).take(MAX_NAMED).find(is_new)
    }

    /// True if an answer can be right: something was done for the goal, or found; or it was tried often enough.
    pub(super) fn may_answer(&self, goal: Goal, tools: &Tools) -> bool {
        let does = |step: &Step<'_>| tools.by_name(step.tool).map(|tool| tool.does);
        let any = |wanted: &[Does]| {
            self.steps
                .iter()
                .any(|step| step.is_done() && does(step).is_some_and(|does| wanted.contains(&does)))
        };
        let is_served = match goal {
            Goal::Answer => !self.steps.last().is_some_and(Step::is_fruitless),
            Goal::Change => any(&[Does::Edit, Does::Write]),
            Goal::Create => any(&[Does::Write, Does::Edit, Does::Run]),
            Goal::Run => self.steps.iter().any(|step| does(step) == Some(Does::Run)),
        };
        is_served || self.steps.len() > MAX_TRIES
    }

    /// True if a step since the request changed a file.
    pub(super) fn has_changed(&self, tools: &Tools) -> bool {
        let changes = |step: &Step<'_>| {
            tools.by_name(step.tool).is_some_and(|tool| matches!(tool.does, Does::Write | Does::Edit))
        };
        self.steps.iter().any(|step| step.is_done() && changes(step))
    }

    /// True if the last step ran a command: what that printed is short, and the examples show how to tell it.
    pub(super) fn has_just_run(&self, tools: &Tools) -> bool {
        let last = self.steps.last().and_then(|step| tools.by_name(step.tool));
        last.is_some_and(|tool| tool.does == Does::Run)
    }

    /// The tool of the last call, if that brought nothing: another one has to help.
    pub(super) fn exhausted(&self) -> Option<&str> {
        let (last, earlier) = self.steps.split_last()?;
        let is_repeated = earlier.iter().any(|step| step.is_same(last));
        (is_repeated || last.is_fruitless()).then_some(last.tool)
    }

    /// True if it leads nowhere: only an answer is left.
    pub(super) fn is_stuck(&self) -> bool {
        let repeated = (1..self.steps.len())
            .filter(|at| self.steps[..*at].iter().any(|step| step.is_same(&self.steps[*at])));
        repeated.count() >= MAX_REPEATED || self.steps.len() >= MAX_CALLS
    }
}

impl Step<'_> {
    pub(super) fn is_done(&self) -> bool {
        self.output.is_some_and(|output| !output.is_error)
    }

    /// True if it was a search without matches.
    fn is_fruitless(&self) -> bool {
        let structured = self.output.and_then(|output| output.structured.as_ref());
        structured.and_then(|fields| fields.get(MATCHES)).is_some_and(|matches| matches == 0)
    }

    fn is_same(&self, other: &Step<'_>) -> bool {
        let text = |step: &Step<'_>| step.output.map(ToolOutput::as_text);
        self.tool == other.tool && self.arguments == other.arguments && text(self) == text(other)
    }

    /// The path that was passed.
    pub(super) fn path(&self) -> Option<&str> {
        self.arguments.get("path").and_then(Value::as_str).map(|path| path.trim_start_matches("./"))
    }

    /// True if it was about this file: it tried to read it, or it succeeded with its name.
    fn deals_with(&self, file: &str) -> bool {
        if self.path() == Some(file) {
            return true;
        }
        let name = file.rsplit('/').next().unwrap_or(file);
        let stem = name.split('.').find(|part| !part.is_empty()).unwrap_or(name);
        let has_word = |text: &str| text.contains(name) || words(text).any(|word| word == stem);
        self.is_done() && strings(self.arguments).any(has_word)
    }

    /// The lines that were read, without their numbers.
    pub(super) fn page(&self) -> Option<Page> {
        let output = self.output?;
        let number = |name: &str| output.structured.as_ref()?.get(name)?.as_u64();
        let (first, last, total) = (number(FIRST_LINE)?, number(LAST_LINE)?, number(TOTAL_LINES)?);
        let shown = usize::try_from(last + 1 - first).unwrap_or(usize::MAX);
        let text = output.as_text();
        let lines = text.lines().take(shown).map(|line| line.split_once('\t').map_or(line, |(_, rest)| rest));
        let text = lines.collect::<Vec<_>>().join("\n");
        Some(Page { path: self.path()?.to_owned(), text, is_whole: first == 1 && last == total })
    }
}

/// The text of a person in a message.
pub(super) fn asked(message: &Message) -> String {
    let is_person = |part: &&MessageContent| message.role == Role::User && !part.is_aside();
    let said = message.content.iter().filter(is_person).filter_map(MessageContent::as_text);
    said.collect::<Vec<_>>().join("\n")
}

/// True if a request has the path of a file, or its name, with or without its ending, among its words.
fn is_named(file: &str, task: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let stem = name.split('.').find(|part| !part.is_empty()).unwrap_or(name);
    words(task).any(|word| word == file || word == name || word == stem)
}

/// The words of a text, as names of files are written.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |sign: char| sign.is_alphanumeric() || matches!(sign, '.' | '_' | '/' | '-');
    let words = text.split(move |sign: char| !is_part(sign));
    words
        .map(|word| word.trim_end_matches(['.', '/']).trim_start_matches("./"))
        .filter(|word| !word.is_empty())
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value.as_object().into_iter().flat_map(JsonObject::values).filter_map(Value::as_str)
}

fn parts(messages: &[Arc<Message>]) -> impl Iterator<Item = &MessageContent> {
    messages.iter().flat_map(|message| &message.content)
}

fn result(part: &MessageContent) -> Option<(&str, &ToolOutput)> {
    match part {
        MessageContent::ToolResult { id, output } => Some((id, output)),
        _ => None,
    }
}

fn listed(part: &MessageContent) -> Option<Vec<String>> {
    let MessageContent::Block(block) = part else { return None };
    let files = block.as_text()?.meta.as_ref()?.get(FILES)?.as_array()?;
    Some(files.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

#[cfg(test)]
#[path = "situation_tests.rs"]
mod tests;
