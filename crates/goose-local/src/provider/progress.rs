//! [`Progress`]: how far the model is with what it was asked, which says what it may do next.

use std::sync::Arc;

use goose_extension::Message;
use serde_json::Value;

use super::{
    history::NO_MATCH,
    known::{EDIT, READ, SEARCH, SHELL},
    page::Page,
    renamed::{self, Unfinished},
    seen::Seen,
    steps::{Step, last_asked},
    wanted,
};

/// What is left of a command that failed without a word.
const ONLY_CODE: &str = "[exit code ";

/// How many calls in a row may be the same.
const MAX_SAME: usize = 2;

/// How many calls in all may be the same, with the same result.
const MAX_IN_ALL: usize = 3;

/// After how many calls that found nothing the model may give up.
const MAX_MISSED: usize = 2;

/// How many calls after a change that failed the model must go on.
const MAX_UNDONE: usize = 2;

/// After how many calls a change may stay unfinished.
const MAX_UNFINISHED: usize = 12;

/// How many calls a small model may need for one thing that it was asked.
const MAX_CALLS: usize = 24;

/// How far the model is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) stage: Stage,
    /// Whether the last call was an edit that went well, and not many came before it.
    pub(super) has_changed: bool,
    /// How many calls were made.
    pub(super) calls: usize,
    /// The name that is still to be changed in other places.
    pub(super) unfinished: Option<Unfinished>,
    /// The tool whose last call brought nothing. It is not called again at once.
    pub(super) exhausted: Option<String>,
    /// A name that was changed and is to be looked for elsewhere.
    pub(super) unsearched: Option<String>,
    /// Whether a file is asked for that is not there yet.
    pub(super) lacks_file: bool,
    /// Whether a file was shown of which there is more.
    pub(super) may_page: bool,
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has seen nothing yet.
    Begun,
    /// It has made calls.
    Going,
    /// It has searched for something that is not there, and should look elsewhere.
    Missed,
    /// A change that it wanted to make was not made.
    Undone,
    /// Its calls lead nowhere.
    Stuck,
}

impl Progress {
    /// Since a person last spoke.
    pub(super) fn of(messages: &[Arc<Message>], seen: &Seen) -> Self {
        let steps = Step::since_asked(messages);
        let last = steps.last().filter(|step| step.tool == EDIT && steps.len() < MAX_UNFINISHED);
        let unfinished = last.and_then(|step| Unfinished::of(step, seen, &last_asked(messages)));
        let unsearched = last.and_then(|step| renamed::unsearched(step, &steps, &last_asked(messages)));
        let lacks_file = wanted::is_missing(messages, &steps);
        let may_page = steps.iter().any(|step| step.tool == READ && Page::of(&step.text()).goes_on.is_some());
        let has_changed = last.is_some_and(Step::is_done);
        let stage = match Stage::of(&steps) {
            Stage::Going if unfinished.is_some() => Stage::Undone,
            stage => stage,
        };
        let unfinished = unfinished.filter(|_| stage == Stage::Undone);
        Self {
            stage,
            calls: steps.len(),
            unsearched,
            has_changed,
            unfinished,
            exhausted: exhausted(&steps).map(str::to_owned),
            lacks_file,
            may_page,
        }
    }
}

impl Stage {
    fn of(steps: &[Step<'_>]) -> Self {
        let Some(last) = steps.last() else { return Self::Begun };
        if is_stuck(steps) {
            Self::Stuck
        } else if has_missed(last) && steps.len() <= MAX_MISSED {
            Self::Missed
        } else if is_undone(steps) || is_unknown(last) && steps.len() <= MAX_UNDONE {
            Self::Undone
        } else {
            Self::Going
        }
    }
}

/// Whether nothing was found where something was looked for.
fn has_missed(step: &Step<'_>) -> bool {
    let text = step.text();
    match step.tool {
        SEARCH => text.starts_with(NO_MATCH),
        // A command that failed without a word.
        SHELL => !step.is_done() && text.trim_start().starts_with(ONLY_CODE),
        _ => false,
    }
}

/// Whether the command itself is not there.
fn is_unknown(step: &Step<'_>) -> bool {
    let program =
        step.arguments.get("command").and_then(Value::as_str).and_then(|it| it.split_whitespace().next());
    let says_so = |program: &str| step.text().contains(&format!(" {program}: not found"));
    step.tool == SHELL && !step.is_done() && program.is_some_and(says_so)
}

/// The tool whose last call brought nothing new.
fn exhausted<'a>(steps: &[Step<'a>]) -> Option<&'a str> {
    let (last, before) = steps.split_last()?;
    let is_same = |step: &Step<'_>| step.is_same_call(last) && step.text() == last.text();
    let changes_nothing = last.tool == EDIT && last.arguments.get("before") == last.arguments.get("after");
    (changes_nothing || before.iter().any(is_same)).then_some(last.tool)
}

fn is_stuck(steps: &[Step<'_>]) -> bool {
    let Some(last) = steps.last() else { return false };
    let in_a_row = steps.iter().rev().take_while(|step| step.is_same_call(last)).count();
    let in_all = steps.iter().filter(|step| step.is_same_call(last) && step.text() == last.text()).count();
    in_a_row > MAX_SAME || in_all > MAX_IN_ALL || steps.len() >= MAX_CALLS
}

/// Whether the last change that was tried failed, and not long ago.
fn is_undone(steps: &[Step<'_>]) -> bool {
    // What was passed is a text only where the call was not made.
    let is_tried =
        |step: &Step<'_>| step.may_change() && (step.path().is_some() || step.arguments.is_string());
    let tried = steps.iter().rev().position(is_tried);
    tried.is_some_and(|ago| {
        let step = &steps[steps.len() - 1 - ago];
        let is_mended = steps[steps.len() - ago..].iter().any(|step| step.may_change() && step.is_done());
        ago < MAX_UNDONE && !step.is_done() && !is_mended
    })
}

#[cfg(test)]
mod tests {
    use goose_extension::ToolOutput;
    use serde_json::json;

    use super::{
        super::examples::{self, Done},
        *,
    };

    fn conversation(calls: &[Done<'_>]) -> Vec<Arc<Message>> {
        examples::conversation("Go.", calls)
    }

    fn progress(messages: &[Arc<Message>]) -> Progress {
        Progress::of(messages, &Seen::of(messages))
    }

    fn stage(calls: &[Done<'_>]) -> Stage {
        progress(&conversation(calls)).stage
    }

    fn shell(command: &str) -> (&'static str, Value, ToolOutput) {
        ("developer__shell", json!({ "command": command }), ToolOutput::text("same"))
    }

    fn edit(output: ToolOutput) -> (&'static str, Value, ToolOutput) {
        (EDIT, json!({ "path": "a", "before": "b", "after": "c" }), output)
    }

    #[test]
    fn the_same_call_three_times_is_too_often_until_somebody_speaks() {
        assert_eq!(stage(&[]), Stage::Begun);
        assert_eq!(stage(&[shell("ls"), shell("ls")]), Stage::Going);
        assert_eq!(stage(&[shell("ls"), shell("ls"), shell("pwd"), shell("ls")]), Stage::Going);
        let mut stuck = conversation(&[shell("pwd"), shell("ls"), shell("ls"), shell("ls")]);
        assert_eq!(progress(&stuck).stage, Stage::Stuck);
        let round =
            |times: usize| -> Vec<_> { (0..times).flat_map(|_| [shell("ls"), shell("pwd")]).collect() };
        assert_eq!(stage(&round(3)), Stage::Going);
        assert_eq!(stage(&round(4)), Stage::Stuck);
        stuck.push(Arc::new(Message::user("Go on.")));
        assert_eq!(progress(&stuck).stage, Stage::Begun);
    }

    #[test]
    fn who_finds_nothing_does_not_give_up_at_once() {
        let searched = || {
            (SEARCH, json!({ "pattern": "x" }), ToolOutput::text("No match. Hidden files are not searched."))
        };
        let other = (SEARCH, json!({ "pattern": "y" }), ToolOutput::text("No match in any file's text"));
        assert_eq!(stage(&[searched()]), Stage::Missed);
        assert_eq!(stage(&[other.clone(), searched()]), Stage::Missed);
        assert_eq!(stage(&[other, searched(), searched()]), Stage::Going);
        let silent = (SHELL, json!({ "command": "grep x a" }), ToolOutput::error("[exit code 1]"));
        assert_eq!(stage(&[silent]), Stage::Missed);
        let failed = (SHELL, json!({ "command": "make" }), ToolOutput::error("no rule\n[exit code 2]"));
        assert_eq!(stage(&[failed]), Stage::Going);
        let unknown = |command: &str| {
            let said = ToolOutput::error("/bin/sh: 1: pytest: not found\n[exit code 127]");
            stage(&[(SHELL, json!({ "command": command }), said)])
        };
        assert_eq!([unknown("pytest -q"), unknown("sh run.sh")], [Stage::Undone, Stage::Going]);
    }

    #[test]
    fn a_change_that_failed_is_tried_again() {
        let failed = || edit(ToolOutput::error("not there"));
        let read = || (READ, json!({ "path": "a" }), ToolOutput::text("1\tone"));
        assert_eq!(stage(&[failed()]), Stage::Undone);
        assert_eq!(stage(&[failed(), read()]), Stage::Undone);
        assert_eq!(stage(&[failed(), read(), read()]), Stage::Going);
        assert_eq!(stage(&[failed(), edit(ToolOutput::text("Edited"))]), Stage::Going);
        assert_eq!(stage(&[failed(), shell("sed")]), Stage::Going);
        let not_made = (SHELL, json!("{\"command\":\"sed -i …\"}"), ToolOutput::error("Not run"));
        assert_eq!(stage(&[not_made, read()]), Stage::Undone);
    }

    #[test]
    fn a_call_that_brought_nothing_new_exhausts_its_tool() {
        let exhausted = |calls: &[_]| progress(&conversation(calls)).exhausted;
        assert_eq!(exhausted(&[shell("ls"), shell("pwd")]), None);
        assert_eq!(exhausted(&[shell("ls"), shell("pwd"), shell("ls")]).as_deref(), Some("developer__shell"));
        let other = ("developer__shell", json!({ "command": "ls" }), ToolOutput::text("another"));
        assert_eq!(exhausted(&[shell("ls"), other]), None);
        let same = (EDIT, json!({ "path": "a", "before": "b", "after": "b" }), ToolOutput::error("the same"));
        assert_eq!(exhausted(&[same]).as_deref(), Some(EDIT));
    }

    #[test]
    fn a_name_that_was_asked_for_is_changed_everywhere() {
        let found = (SEARCH, json!({ "pattern": "old" }), ToolOutput::text("a.py\n1:old()\n\nb.py\n1:old()"));
        let edit = |path: &str| {
            let arguments = json!({ "path": path, "before": "old()", "after": "new()" });
            (EDIT, arguments, ToolOutput::text("Edited"))
        };
        let renaming = |task: &str, calls: &[_]| progress(&examples::conversation(task, calls)).stage;
        let half = [found.clone(), edit("a.py")];
        assert_eq!(renaming("Rename old to new.", &half), Stage::Undone);
        assert_eq!(renaming("Call the other one.", &half), Stage::Going);
        assert_eq!(renaming("Rename old to new.", &[found, edit("a.py"), edit("b.py")]), Stage::Going);
    }

    #[test]
    fn very_many_calls_lead_nowhere() {
        let calls: Vec<_> = (0..MAX_CALLS).map(|number| shell(&format!("echo {number}"))).collect();
        assert_eq!(stage(&calls), Stage::Stuck);
        assert_eq!(stage(&calls[1..]), Stage::Going);
    }

    #[test]
    fn only_a_file_that_goes_on_is_read_on() {
        let read = |text: &str| conversation(&[(READ, json!({ "path": "a" }), ToolOutput::text(text))]);
        assert!(!progress(&read("1\tone")).may_page);
        assert!(progress(&read("1\tone\n[lines 1-1 of 9; go on with offset 2]")).may_page);
    }
}
