//! [`RequestState`]: the state of the current request, from the fields of messages, calls and results:
//! the task, the listed files, the steps since then, and the known texts of files.

use std::{collections::HashMap, sync::Arc};

use goose_extension::{
    EXIT_CODE, FIRST_LINE, LAST_LINE, Message, MessageContent, Opaque, Role, TOTAL_LINES, ToolOutput,
};
use serde_json::Value;

use super::{
    plan::{Goal, Plan},
    tools::{COMMAND, Capability, Tools},
};

/// Metadata key of the list of files, in the block that shows it.
const FILES: &str = "files";

/// Field of a result: number of matches of a search.
const MATCHES: &str = "matches";

/// Number of calls after which the model may give up. The first reads do not count.
const MAX_ATTEMPTS: usize = 3;

/// Maximum number of files that are read in one step without asking the model.
pub(super) const MAX_AT_ONCE: usize = 6;

/// Maximum number of calls for one request, and of repeated calls with the same result.
const MAX_CALLS: usize = 24;
const MAX_REPEATED: usize = 2;

/// Call and its result.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step<'a> {
    /// Plan that the call carries.
    pub(super) plan: Option<&'a Opaque>,
    pub(super) tool: &'a str,
    pub(super) capability: Capability,
    pub(super) arguments: &'a Value,
    pub(super) output: Option<&'a ToolOutput>,
}

/// Known text of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) path: String,
    pub(super) text: String,
    /// True if this is the whole file.
    pub(super) is_whole: bool,
}

/// State of a request.
#[derive(Debug, Default)]
pub(super) struct RequestState<'a> {
    /// Last request of the user.
    pub(super) task: String,
    /// Files and folders in the working folder, as far as they are listed.
    pub(super) files: Vec<String>,
    /// Calls since the request.
    pub(super) steps: Vec<Step<'a>>,
    /// Files that were read or written, the latest last.
    pub(super) pages: Vec<Page>,
}

impl<'a> RequestState<'a> {
    pub(super) fn new(messages: &'a [Arc<Message>], tools: &Tools) -> Self {
        let parts = messages.iter().flat_map(|message| &message.content);
        let outputs: HashMap<&str, &ToolOutput> = parts
            .filter_map(|part| match part {
                MessageContent::ToolResult { id, output } => Some((id.as_str(), output)),
                _ => None,
            })
            .collect();
        let mut state = Self::default();
        for message in messages {
            let asked = user_text(message);
            if !asked.trim().is_empty() {
                state.task = asked;
                state.steps.clear();
            }
            for part in &message.content {
                if let Some(files) = listed_files(part) {
                    state.files = files;
                }
                if let MessageContent::ToolCall { id, name, arguments, opaque } = part {
                    let capability = tools.by_name(name).map_or(Capability::Other, |tool| tool.capability);
                    let output = outputs.get(id.as_str()).copied();
                    state.take(Step { plan: opaque.as_ref(), tool: name, capability, arguments, output });
                }
            }
        }
        state
    }

    /// Adds a step, and updates the known text of its file.
    fn take(&mut self, step: Step<'a>) {
        let argument = |name: &str| step.arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let page = match step.capability {
            Capability::Read | Capability::Write if step.is_done() => step.page(),
            Capability::Edit if step.is_done() => self.page(step.path().unwrap_or_default()).map(|page| {
                let text = page.text.replace(argument("before"), argument("after"));
                Page { text, ..page.clone() }
            }),
            _ => None,
        };
        if let Some(page) = page {
            self.pages.retain(|known| known.path != page.path);
            self.pages.push(page);
        }
        self.steps.push(step);
    }

    /// Returns the known text of a file.
    pub(super) fn page(&self, path: &str) -> Option<&Page> {
        self.pages.iter().find(|page| page.path == path)
    }

    /// Returns the unread files that the request names. With `in_folders`, a named folder stands for its
    /// files, unless they are too many.
    pub(super) fn unread(&self, in_folders: bool) -> Vec<&str> {
        let is_named = |file: &&str| is_named(file, &self.task, in_folders);
        let mut named: Vec<&str> = self.names().filter(is_named).collect();
        if in_folders && named.len() > MAX_AT_ONCE {
            return self.unread(false);
        }
        named.truncate(MAX_AT_ONCE);
        let is_tried = |file: &str| self.steps.iter().any(|step| step.path() == Some(file));
        named.retain(|file| self.page(file).is_none() && !is_tried(file));
        named
    }

    /// Returns the files, without folders.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.files.iter().map(String::as_str).filter(|file| !file.ends_with('/'))
    }

    /// Returns true if an answer makes sense: a step served the goal, or the model has tried often
    /// enough.
    pub(super) fn may_answer(&self, goal: Goal) -> bool {
        let is_served = match goal {
            Goal::Answer if self.has_done(&[Capability::Read]) => true,
            Goal::Answer => !self.steps.last().is_some_and(Step::found_nothing),
            Goal::Run => self.has_run(),
            _ => self.has_written() || self.has_done(&[Capability::Run]),
        };
        let reads = self.steps.iter().filter(|step| step.capability == Capability::Read).count();
        is_served || self.steps.len() - reads.min(MAX_AT_ONCE) > MAX_ATTEMPTS
    }

    /// Returns a planned file that is not written yet, if it is new or its text is known. After a
    /// command, the known text may be outdated.
    pub(super) fn unwritten<'b>(&'b self, plan: &'b Plan) -> Option<&'b str> {
        let is_tried = |step: &Step<'_>, file: &str| match step.capability {
            Capability::Edit | Capability::Write => step.path() == Some(file),
            Capability::Run if step.is_done() && self.page(file).is_some() => true,
            Capability::Run => {
                words(step.arguments[COMMAND].as_str().unwrap_or_default()).any(|word| word == file)
            }
            _ => false,
        };
        // For a new file, existing files are the sources of its text.
        let is_ready = |file: &str| match self.page(file) {
            Some(_) => plan.goal() != Goal::Create,
            None => self.files.iter().all(|other| other != file),
        };
        let mut planned = plan.files().filter_map(|name| self.planned(name));
        planned.find(|file| is_ready(file) && !self.steps.iter().any(|step| is_tried(step, file)))
    }

    /// Returns the path of a planned file: a listed file, or a new one that the request names with an
    /// extension. Models also list files that were not meant.
    fn planned<'b>(&'b self, name: &'b str) -> Option<&'b str> {
        let same = |file: &&str| file.rsplit('/').next() == Some(name);
        let mut files = self.names();
        let listed = files.clone().find(|file| *file == name).or_else(|| files.find(same));
        listed.or_else(|| words(&self.task).find(|word| *word == name && word.contains('.')))
    }

    /// Returns true if a command was run or refused. With the exit codes 126 and 127, the shell could not start it.
    pub(super) fn has_run(&self) -> bool {
        let has_begun = |step: &Step<'_>| !matches!(step.field(EXIT_CODE), Some(126 | 127));
        self.steps.iter().any(|step| step.capability == Capability::Run && has_begun(step))
    }

    /// Returns true if a file was written since the request.
    pub(super) fn has_written(&self) -> bool {
        self.has_done(&[Capability::Edit, Capability::Write])
    }

    /// Returns true if a step since the request succeeded with one of these.
    pub(super) fn has_done(&self, any: &[Capability]) -> bool {
        self.steps.iter().any(|step| step.is_done() && any.contains(&step.capability))
    }

    /// Returns the tool of the last call if that call gave nothing new. Another tool has to be used next.
    pub(super) fn exhausted(&self) -> Option<&str> {
        let (last, earlier) = self.steps.split_last()?;
        let is_repeated = earlier.iter().any(|step| step.is_same(last));
        (is_repeated || last.found_nothing()).then_some(last.tool)
    }

    /// Returns true if the model makes no progress and can only answer.
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

    /// Returns true for a search without matches.
    fn found_nothing(&self) -> bool {
        self.field(MATCHES) == Some(0)
    }

    fn field(&self, name: &str) -> Option<u64> {
        self.output?.structured.as_ref()?.get(name)?.as_u64()
    }

    fn is_same(&self, other: &Step<'_>) -> bool {
        let text = |step: &Step<'_>| step.output.map(ToolOutput::as_text);
        self.tool == other.tool && self.arguments == other.arguments && text(self) == text(other)
    }

    /// Returns the path argument.
    pub(super) fn path(&self) -> Option<&str> {
        self.arguments.get("path").and_then(Value::as_str).map(|path| path.trim_start_matches("./"))
    }

    /// Returns the text of the file that was read or written.
    pub(super) fn page(&self) -> Option<Page> {
        let (text, is_whole) = match self.capability {
            Capability::Write if self.is_done() => {
                (self.arguments.get("content")?.as_str()?.to_owned(), true)
            }
            _ => lines(self.output?)?,
        };
        Some(Page { path: self.path()?.to_owned(), text, is_whole })
    }
}

/// Returns the lines of a file in a result, without their numbers, and whether they are the whole file.
pub(super) fn lines(output: &ToolOutput) -> Option<(String, bool)> {
    let number = |name: &str| output.structured.as_ref()?.get(name)?.as_u64();
    let (first, last, total) = (number(FIRST_LINE)?, number(LAST_LINE)?, number(TOTAL_LINES)?);
    let shown = usize::try_from(last + 1 - first).unwrap_or(usize::MAX);
    let text = output.as_text();
    let lines = text.lines().take(shown).map(|line| line.split_once('\t').map_or(line, |(_, rest)| rest));
    Some((lines.collect::<Vec<_>>().join("\n"), first == 1 && last == total))
}

/// Returns the user's text in a message.
pub(super) fn user_text(message: &Message) -> String {
    if message.role == Role::User { message.own_text() } else { String::new() }
}

/// Returns true if the request contains the path of a file, or its name with or without its extension. The
/// first word is rather a verb or a greeting than a name without its extension: `hello, …`. With `in_folders`, the name
/// of a folder above the file is enough.
fn is_named(file: &str, task: &str, in_folders: bool) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let stem = name.split('.').find(|part| !part.is_empty()).unwrap_or(name);
    let is_around = |word: &str| in_folders && format!("/{file}").contains(&format!("/{word}/"));
    let is_name = |at: usize, word: &str| word == file || word == name || at > 0 && word == stem;
    words(task).enumerate().any(|(at, word)| is_name(at, word) || is_around(word))
}

/// Returns the words of a text. Characters of file names do not separate words.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |sign: char| sign.is_alphanumeric() || matches!(sign, '.' | '_' | '/' | '-');
    let words = text.split(move |sign: char| !is_part(sign));
    words
        .map(|word| word.trim_end_matches(['.', '/']).trim_start_matches("./"))
        .filter(|word| !word.is_empty())
}

fn listed_files(part: &MessageContent) -> Option<Vec<String>> {
    let MessageContent::Block(block) = part else { return None };
    let files = block.as_text()?.meta.as_ref()?.get(FILES)?.as_array()?;
    Some(files.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

#[cfg(test)]
#[path = "request_state_tests.rs"]
mod tests;
