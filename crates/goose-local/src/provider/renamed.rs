//! After a name was changed in one place: where it still is, as far as that was seen. Small models stop too early.

use goose_providers::{Arguments, ToolCall};
use serde_json::Value;

use super::{
    known::{EDIT, SEARCH},
    seen::Seen,
    steps::Step,
    wording::names,
};

/// How many places are told.
const MAX_PLACES: usize = 5;

/// How much of a line is shown, in characters.
const MAX_LINE_CHARS: usize = 80;

/// How people say that something is to be changed in all places.
const EVERYWHERE: [&str; 7] = ["rename", "renamed", "everywhere", "all", "every", "each", "instead"];

/// What there is to say after a change was made.
pub(super) fn remark(step: &Step<'_>, seen: &Seen, task: &str) -> String {
    let Some((name, _)) = meant(step, task) else { return String::new() };
    let told = left(name, seen).take(MAX_PLACES).map(|(path, line)| {
        let line: String = line.trim().chars().take(MAX_LINE_CHARS).collect();
        format!("\n{name} is still in {path}: {line}")
    });
    told.collect()
}

/// A name that was changed in some places and is to be changed in the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unfinished {
    pub(super) from: String,
    pub(super) to: String,
    /// The files in which it still is.
    pub(super) files: Vec<String>,
}

impl Unfinished {
    /// What a step left to do, where the task wants the name changed everywhere.
    pub(super) fn of(step: &Step<'_>, seen: &Seen, task: &str) -> Option<Self> {
        let (from, to) = meant(step, task)?;
        let mut files: Vec<String> = left(from, seen).map(|(path, _)| path.to_owned()).collect();
        files.dedup();
        files.retain(|file| is_only_a_name(from, file, seen));
        (!files.is_empty()).then(|| Self { from: from.to_owned(), to: to.to_owned(), files })
    }
}

/// The name that a step changed, where it is to be changed everywhere and was not looked for yet.
pub(super) fn unsearched(step: &Step<'_>, steps: &[Step<'_>], task: &str) -> Option<String> {
    let (name, _) = meant(step, task)?;
    let has = |step: &Step<'_>| {
        let pattern = step.arguments.get("pattern").and_then(Value::as_str).unwrap_or_default();
        step.tool == SEARCH && pattern.contains(name)
    };
    (!steps.iter().any(has)).then(|| name.to_owned())
}

/// The name that a step changed, and into what, where the task wants that everywhere.
fn meant<'a>(step: &Step<'a>, task: &str) -> Option<(&'a str, &'a str)> {
    let argument = |name: &str| step.arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let (from, to) = renamed(argument("before"), argument("after")).filter(|_| step.is_done())?;
    is_asked_for(from, to, task).then_some((from, to))
}

/// Whether a task wants a name changed in all places.
fn is_asked_for(from: &str, to: &str, task: &str) -> bool {
    let is_named = |name: &str| names(task).any(|word| word == name);
    let is_everywhere = names(task).any(|word| EVERYWHERE.contains(&word.to_lowercase().as_str()));
    is_named(from) && is_named(to) && is_everywhere
}

/// Whether a name is nowhere a part of another, as far as a file was seen: `edit` does not look at words.
fn is_only_a_name(name: &str, path: &str, seen: &Seen) -> bool {
    let text = seen.texts().iter().find(|(file, _)| file == path).map_or("", |(_, text)| text.as_str());
    text.matches(name).count() == names(text).filter(|word| *word == name).count()
}

/// The call as it is meant: a name that is to be changed everywhere is changed in the whole file.
pub(super) fn as_meant(mut call: ToolCall, seen: &Seen, task: &str) -> ToolCall {
    let Arguments::Object(arguments) = &mut call.arguments else { return call };
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let (from, to) = (argument("before"), argument("after"));
    let path = argument("path").trim_start_matches("./");
    let is_safe = seen.is_whole(path) && is_only_a_name(from, path, seen);
    if call.name == EDIT && renamed(from, to) == Some((from, to)) && is_asked_for(from, to, task) && is_safe {
        arguments.insert("replace_all".to_owned(), Value::Bool(true));
    }
    call
}

/// The lines in which a name still is, as far as they were seen.
fn left<'a>(name: &'a str, seen: &'a Seen) -> impl Iterator<Item = (&'a str, &'a str)> {
    let lines =
        seen.texts().iter().flat_map(|(path, text)| text.lines().map(move |line| (path.as_str(), line)));
    lines.filter(move |(_, line)| names(line).any(|word| word == name))
}

/// The one name that became another, and that other, where nothing else was changed.
fn renamed<'a>(before: &'a str, after: &'a str) -> Option<(&'a str, &'a str)> {
    let (old, new): (Vec<&str>, Vec<&str>) = (names(before).collect(), names(after).collect());
    let mut changed = old.iter().zip(&new).filter(|(old, new)| old != new);
    let (name, to) = changed.next().filter(|_| old.len() == new.len())?;
    let is_name = name.starts_with(|first: char| first.is_alphabetic() || first == '_');
    (is_name && changed.all(|(other, new)| other == name && new == to)).then_some((*name, *to))
}

#[cfg(test)]
mod tests {
    use goose_extension::ToolOutput;
    use serde_json::json;

    use super::{
        super::{
            examples::{call, conversation, passed},
            known::READ,
        },
        *,
    };

    #[test]
    fn a_name_that_is_changed_everywhere_is_changed_in_the_whole_file() {
        let is_all = |task: &str, before: &str, after: &str| {
            let arguments = json!({ "path": "a", "before": before, "after": after });
            let read =
                [(READ, json!({ "path": "a" }), ToolOutput::text("1\told()\n2\told(1)\n3\tid, width"))];
            let seen = Seen::of(&conversation(task, &read));
            passed(as_meant(call(EDIT, &arguments), &seen, task), "replace_all") == true
        };
        assert!(is_all("Rename old to new.", "old", "new"));
        assert!(!is_all("Rename old to new.", "old(1)", "new(1)"));
        assert!(!is_all("Change old to new in line 3.", "old", "new"));
        assert!(!is_all("Rename one to new.", "old", "new"));
        assert!(!is_all("Rename id to key.", "id", "key"));
    }

    #[test]
    fn a_name_is_one_word_that_became_another() {
        assert_eq!(renamed("def calc_sum(a, b):", "def add(a, b):"), Some(("calc_sum", "add")));
        assert_eq!(renamed("x = f(f(1))", "x = g(g(1))"), Some(("f", "g")));
        assert_eq!(renamed("port = 80", "port = 81"), None);
        assert_eq!(renamed("a b", "a b c"), None);
        assert_eq!(renamed("a b", "c d"), None);
        assert_eq!(renamed("same", "same"), None);
    }
}
