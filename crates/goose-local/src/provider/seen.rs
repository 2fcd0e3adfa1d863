//! [`Seen`]: what the model has seen of the files. Only that is changed. Files that were not seen whole are not written over:
//! small models do so when they mean to change a line, and everything else in the file would be lost. The tool itself looks
//! whether the file is there.

use std::{collections::HashSet, sync::Arc};

use goose_extension::{JsonObject, Message};
use goose_providers::{Arguments, ToolCall};
use serde_json::Value;

use super::{
    found,
    known::{EDIT, READ, SEARCH, WRITE},
    page::Page,
    steps::{Step, is_asked},
};

/// The argument that tells the tool whether to spare a file. The model does not see it; without leave it is no.
pub(super) const OVERWRITE: &str = "overwrite";

/// Which part of the lines of a file must be left where it is written anew.
const LEAST_KEPT: usize = 3;

/// How `read` says that there is nothing in a file.
const IS_EMPTY: &str = " is empty";

/// The shortest line that is known again, in bytes.
const LEAST_REPEATED: usize = 10;

/// How many files are remembered, the last ones.
const MAX_FILES: usize = 12;

/// How much of a file is remembered, in characters.
const MAX_TEXT_CHARS: usize = 12_000;

/// What the model has seen of the files.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The files that were shown whole, or made.
    whole: HashSet<String>,
    /// The files that the model itself has written.
    made: HashSet<String>,
    /// What was seen of files, the last one at the end.
    texts: Vec<(String, String)>,
    /// What is not replaced in a file: it could not be found, or was just put there.
    refused: Vec<(String, String)>,
}

impl Seen {
    /// What was seen in a conversation.
    pub(super) fn of(messages: &[Arc<Message>]) -> Self {
        let mut seen = Self::default();
        let asked = messages.iter().rposition(|message| is_asked(message)).unwrap_or_default();
        let (before, since) = messages.split_at(asked);
        Step::all(before).iter().for_each(|step| seen.add(step));
        seen.is_asked_anew();
        Step::all(since).iter().for_each(|step| seen.add(step));
        seen
    }

    /// A person has spoken: what was not to be replaced may be now.
    pub(super) fn is_asked_anew(&mut self) {
        self.refused.clear();
    }

    /// What was seen of files.
    pub(super) fn texts(&self) -> &[(String, String)] {
        &self.texts
    }

    /// Whether something was seen of a file.
    pub(super) fn has(&self, path: &str) -> bool {
        self.texts.iter().any(|(file, _)| file == path)
    }

    /// Whether a file was shown whole, or made.
    pub(super) fn is_whole(&self, path: &str) -> bool {
        self.whole.contains(path)
    }

    /// Whether the model itself has written a file.
    pub(super) fn is_made(&self, path: &str) -> bool {
        self.made.contains(path)
    }

    /// What is not replaced in a file.
    pub(super) fn refused(&self, path: &str) -> Vec<String> {
        let own = self.refused.iter().filter(|(file, _)| file == path);
        own.map(|(_, text)| text.clone()).collect()
    }

    /// Takes in what a step showed.
    pub(super) fn add(&mut self, step: &Step<'_>) {
        let argument = |name: &str| step.arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let path = step.path().unwrap_or_default();
        match (step.tool, step.is_done()) {
            (READ, true) => {
                let text = step.text();
                let page = Page::of(&text);
                if page.goes_on.is_none() && step.arguments.get("offset").is_none() {
                    self.whole.insert(path.to_owned());
                }
                // The lines of a file come with numbers and tabs.
                let is_empty = text.ends_with(IS_EMPTY) && !text.contains('\t');
                let is_rest = step.arguments.get("offset").is_some() && self.is_whole(path);
                if !is_rest {
                    self.set(path, if is_empty { String::new() } else { page.lines().to_owned() });
                }
            }
            (WRITE, true) => {
                self.whole.insert(path.to_owned());
                self.made.insert(path.to_owned());
                self.set(path, argument("content").to_owned());
            }
            (EDIT, true) => {
                let known = self.texts.iter().find(|(file, _)| file == path).map(|(_, text)| text.as_str());
                let changed = known.unwrap_or_default().replace(argument("before"), argument("after"));
                self.set(path, changed);
                self.refused.retain(|(file, _)| file != path);
                // What was just written is not taken back.
                let after = argument("after");
                self.refused.push((path.to_owned(), after.to_owned()));
                self.refused.push((path.to_owned(), format!("{after}\n")));
            }
            (EDIT, false) => self.refused.push((path.to_owned(), argument("before").to_owned())),
            (SEARCH, true) => {
                for (file, lines) in found::lines(&step.text()).unwrap_or_default() {
                    if self.texts.iter().all(|(known, _)| *known != file) {
                        self.set(&file, lines);
                    }
                }
            }
            _ => {}
        }
    }

    fn set(&mut self, path: &str, text: String) {
        self.texts.retain(|(file, _)| file != path);
        self.texts.push((path.to_owned(), text.chars().take(MAX_TEXT_CHARS).collect()));
        let surplus = self.texts.len().saturating_sub(MAX_FILES);
        self.texts.drain(..surplus);
    }

    /// Whether enough is left of a file where this is written over it. Who adds a line does not mean to lose the others.
    fn keeps(&self, path: &str, content: &str) -> bool {
        let Some((_, old)) = self.texts.iter().find(|(file, _)| file == path) else {
            return self.is_made(path);
        };
        let lines = || old.lines().filter(|line| !line.trim().is_empty());
        let kept = lines().filter(|line| content.lines().any(|new| new == *line)).count();
        self.is_made(path) || kept * LEAST_KEPT >= lines().count()
    }

    /// The call as it is meant: it may write over what was seen, and a line that is taken away leaves no empty one.
    pub(super) fn as_meant(&self, mut call: ToolCall) -> ToolCall {
        let Arguments::Object(arguments) = &mut call.arguments else { return call };
        let path = arguments.get("path").and_then(Value::as_str).unwrap_or_default();
        let path = path.trim_start_matches("./").to_owned();
        let content = arguments.get("content").and_then(Value::as_str).unwrap_or_default();
        if call.name == WRITE && self.whole.contains(&path) && self.keeps(&path, content) {
            arguments.insert(OVERWRITE.to_owned(), Value::Bool(true));
        }
        if call.name == EDIT
            && let Some((_, text)) = self.texts.iter().find(|(file, _)| *file == path)
        {
            with_line_end(arguments, text);
        }
        call
    }

    /// The change that a model quoted: what it writes again is replaced.
    pub(super) fn unrepeated(&self, mut call: ToolCall) -> ToolCall {
        let Arguments::Object(arguments) = &mut call.arguments else { return call };
        let path = arguments.get("path").and_then(Value::as_str).unwrap_or_default();
        let path = path.trim_start_matches("./").to_owned();
        let known = self.texts.iter().find(|(file, _)| *file == path).map(|(_, text)| text);
        if let Some(text) = known.filter(|_| call.name == EDIT) {
            with_what_is_repeated(arguments, text);
        }
        call
    }
}

/// A change that writes lines again which come after the place that it replaces is meant to replace them, too: they would be
/// there twice.
fn with_what_is_repeated(arguments: &mut JsonObject, text: &str) {
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let (before, after) = (argument("before"), argument("after"));
    let Some(added) = after.strip_prefix(before.trim_end()).filter(|_| !before.trim().is_empty()) else {
        return;
    };
    let Some(start) = text.find(before) else { return };
    let rest = &text[start + before.len()..];
    let is_again = |line: &&str| {
        line.trim().len() >= LEAST_REPEATED && added.lines().any(|other| other.trim_end() == line.trim_end())
    };
    let Some(last) = rest.lines().rev().find(is_again) else { return };
    let end = rest.rfind(last).map_or(0, |at| at + last.len());
    // Where most of what would go is not written again, a line only happens to be the same.
    let lines = || rest[..end].lines().filter(|line| !line.trim().is_empty());
    let again = lines().filter(|line| added.lines().any(|other| other.trim_end() == line.trim_end())).count();
    if again * 2 < lines().count() {
        return;
    }
    let whole = text[start..start + before.len() + end].to_owned();
    arguments.insert("before".to_owned(), Value::from(whole));
}

/// A change that takes away a whole line takes its end away too.
fn with_line_end(arguments: &mut JsonObject, text: &str) {
    let before = arguments.get("before").and_then(Value::as_str).unwrap_or_default();
    let is_line = !before.is_empty()
        && text.match_indices(before).any(|(at, _)| {
            let starts = at == 0 || text[..at].ends_with('\n');
            starts && text[at + before.len()..].starts_with('\n')
        });
    if is_line && arguments.get("after").is_some_and(|after| after == "") {
        let line = format!("{before}\n");
        arguments.insert("before".to_owned(), Value::from(line));
    }
}

#[cfg(test)]
mod tests {
    use goose_extension::ToolOutput;
    use serde_json::json;

    use super::{
        super::examples::{call, conversation, passed},
        *,
    };

    fn spares(messages: &[Arc<Message>], path: &str) -> bool {
        let call = call(WRITE, &json!({ "path": path, "content": "one", OVERWRITE: false }));
        passed(Seen::of(messages).as_meant(call), OVERWRITE) == false
    }

    fn step(tool: &str, path: &str, output: ToolOutput) -> Vec<Arc<Message>> {
        conversation("Go.", &[(tool, json!({ "path": path }), output)])
    }

    #[test]
    fn only_what_was_shown_whole_or_made_may_be_replaced() {
        assert!(spares(&[Arc::new(Message::user("Go."))], "a.txt"));
        let read = step(READ, "./a.txt", ToolOutput::text("1\tone"));
        assert!(!spares(&read, "a.txt") && !spares(&read, "./a.txt") && spares(&read, "b.txt"));
        assert!(!spares(&step(WRITE, "a.txt", ToolOutput::text("Created")), "a.txt"));
        assert!(spares(&step(READ, "a.txt", ToolOutput::error("There is no file")), "a.txt"));
        let long = format!("1\t{}\n2\tend", "x".repeat(9_000));
        assert!(spares(&step(READ, "a.txt", ToolOutput::text(long)), "a.txt"));
        assert!(spares(&step("developer__edit", "a.txt", ToolOutput::text("Edited")), "a.txt"));
    }

    #[test]
    fn a_file_is_not_replaced_by_what_was_to_be_added() {
        let read = step(READ, "a.csv", ToolOutput::text("1\tname,town\n2\tada,leeds\n3\tbob,ghent"));
        let spares = |content: &str| {
            let call = call(WRITE, &json!({ "path": "a.csv", "content": content, OVERWRITE: false }));
            passed(Seen::of(&read).as_meant(call), OVERWRITE) == false
        };
        assert!(spares("eve,riga\n"));
        assert!(!spares("name,town\nada,leeds\nbob,ghent\neve,riga\n"));
        assert!(!spares("name,town\neve,riga\n"));
    }

    #[test]
    fn of_an_empty_file_there_is_nothing_to_quote() {
        let seen = Seen::of(&step(READ, "a.txt", ToolOutput::text("a.txt is empty")));
        assert_eq!(seen.texts(), [("a.txt".to_owned(), String::new())]);
        assert!(seen.is_whole("a.txt"));
        let seen = Seen::of(&step(READ, "a.txt", ToolOutput::text("1\tThe fridge is empty")));
        assert_eq!(seen.texts(), [("a.txt".to_owned(), "The fridge is empty".to_owned())]);
    }

    #[test]
    fn a_line_that_is_taken_away_leaves_no_empty_one() {
        let read = step(READ, "a.csv", ToolOutput::text("1\tid\n2\tada\n3\tbob"));
        let taken = |before: &str, after: &str| {
            let call = call(EDIT, &json!({ "path": "a.csv", "before": before, "after": after }));
            passed(Seen::of(&read).as_meant(call), "before")
        };
        assert_eq!(taken("ada", ""), "ada\n");
        assert_eq!(taken("ada", "eve"), "ada");
        assert_eq!(taken("da", ""), "da");
        assert_eq!(taken("bob", ""), "bob");
    }

    #[test]
    fn lines_that_are_written_again_are_replaced() {
        let read = step(
            READ,
            "a.py",
            ToolOutput::text(
                "1\tdef mean(all):\n2\t    total = 0\n3\t    return total / 2\n4\tone\n5\ttwo\n6\tprint(\"the end\")",
            ),
        );
        let replaced = |before: &str, after: &str| {
            let call = call(EDIT, &json!({ "path": "a.py", "before": before, "after": after }));
            passed(Seen::of(&read).unrepeated(call), "before")
        };
        let whole = "def mean(all):\n    total = 0\n    return total / 2";
        assert_eq!(replaced("def mean(all):", "def mean(all):\n    total = 1\n    return total / 2"), whole);
        assert_eq!(replaced("def mean(all):", "def mean(all):\n    print(all)"), "def mean(all):");
        assert_eq!(
            replaced("def mean(all):", "def mean(all):\n    print(1)\nprint(\"the end\")"),
            "def mean(all):"
        );
        assert_eq!(replaced("def mean(all):", "def sum(all):\n    return total / 2"), "def mean(all):");
    }
}
