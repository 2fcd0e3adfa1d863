//! Prompts for one thing, without tools and examples, in which a small model is much better than in the whole conversation:
//! answering from what was found, writing a command or a new file, and writing a small file again with the change that is asked for.

use goose_engine::{Speaker, Turn};
use serde_json::{Value, json};

use super::{
    history::shown,
    plan::Goal,
    request_state::{Page, RequestState, Step},
    tools::{COMMAND, Capability},
};

/// The most that is shown of all results, in characters; the last ones count most.
const MAX_FOUND_CHARS: usize = 10_000;

/// The longest answer, in tokens.
pub(super) const MAX_ANSWER_TOKENS: usize = 600;

/// The longest file that is written again, in characters.
const MAX_FILE_CHARS: usize = 1_600;

const FENCE: &str = "```";

/// The request for commands, after what was found.
pub(super) fn running(state: &RequestState<'_>, goal: Goal) -> Vec<Turn> {
    let (files, found, task) = (state.files.join(", "), found(state, ""), state.task.trim());
    let commands = match goal {
        Goal::Answer => "the shell commands that show it and change no file",
        _ if state.has_done(&[Capability::Edit, Capability::Write, Capability::Run]) => {
            "the shell commands for what is left of this"
        }
        _ => "the shell commands that do this",
    };
    let end = format!("Write {commands}, in one code block, and nothing else.");
    let text = format!("Files here: {files}\n\n{found}\n\nTask: {task}\n{end}");
    asking("You are a careful programmer.", text)
}

/// The question after what was found.
pub(super) fn answering(state: &RequestState<'_>) -> Vec<Turn> {
    let text = format!(
        "{}\n\nQuestion: {}\nThink step by step: look at each line above that matters, then give the answer in one sentence, \
         with the names and numbers from above.",
        found(state, ""),
        state.task.trim()
    );
    asking("You are a careful assistant.", text)
}

/// The request for a new file, after what was found.
pub(super) fn creating(path: &str, state: &RequestState<'_>) -> Vec<Turn> {
    let (task, found) = (state.task.trim(), found(state, path));
    let end = format!("Write the whole content of {path} in one code block, and nothing else.");
    asking("You are a careful programmer.", format!("Task: {task}\n\n{found}\n\nTask: {task}\n{end}"))
}

/// The results since the request, each with its call, but for those about one path.
fn found(state: &RequestState<'_>, but: &str) -> String {
    let mut found: Vec<String> = Vec::new();
    let mut chars = 0;
    for step in state.steps.iter().rev().filter(|step| step.path() != Some(but)) {
        let Some(result) = result(step) else { continue };
        chars += result.chars().count();
        if chars > MAX_FOUND_CHARS && !found.is_empty() {
            break;
        }
        if !found.contains(&result) {
            found.push(result);
        }
    }
    found.reverse();
    found.join("\n\n")
}

fn result(step: &Step<'_>) -> Option<String> {
    let title = match (step.capability, step.page()) {
        // As the calls they were, the next file would be written as a call.
        (Capability::Write, Some(page)) => return Some(format!("File {}:\n{}", page.path, page.text)),
        (Capability::Read, Some(page)) if page.is_whole => {
            format!("File {} ({} lines)", page.path, page.text.lines().count())
        }
        (Capability::Read | Capability::Edit, _) => format!("File {}", step.path()?),
        (Capability::Run, _) => {
            format!("The command `{}` was run and printed", step.arguments.get(COMMAND)?.as_str()?)
        }
        _ => format!("Result of {}", step.tool),
    };
    Some(format!("{title}:\n{}", shown(step.output?)))
}

/// The file and the request after what else was found, for a file that can be written again.
pub(super) fn rewriting(page: &Page, state: &RequestState<'_>) -> Option<Vec<Turn>> {
    let Page { path, text, is_whole } = page;
    let is_small = text.chars().count() <= MAX_FILE_CHARS && !text.contains(FENCE) && !text.trim().is_empty();
    let task = state.task.trim();
    // What is asked for is known when the file is read, and repeated after it.
    let asked = format!(
        "Task: {task}\n\n{}\n\nFile {path}:\n{FENCE}\n{text}\n{FENCE}\n\nTask: {task}\nWrite {path} again, with this change, in one \
         code block: every line of it, the changed ones and all others exactly as they are.",
        found(state, path),
    );
    (*is_whole && is_small).then(|| asking("You are a careful editor of files.", asked))
}

/// The call with what was written for a path, or as a command; none if nothing is different, if anything but a new file comes without
/// a code block, or if a command for a question would write a file.
pub(super) fn call(
    path: Option<&str>,
    state: &RequestState<'_>,
    goal: Goal,
    answer: &str,
) -> Option<(Capability, Value)> {
    let Some(path) = path else {
        let command = block(answer).filter(|text| goal != Goal::Answer || !text.contains('>'))?;
        return Some((Capability::Run, json!({ COMMAND: command.trim() })));
    };
    let Some(page) = state.page(path) else {
        // Short texts come without a block.
        let new = block(answer).map_or_else(|| format!("{}\n", answer.trim()), str::to_owned);
        let is_text = !new.trim().is_empty() && !new.contains(FENCE);
        return is_text.then(|| (Capability::Write, json!({ "path": path, "content": new })));
    };
    let new = block(answer)?;
    let old: Vec<&str> = page.text.lines().collect();
    let new: Vec<&str> = new.trim_end().lines().collect();
    if old == new || new.is_empty() {
        return None;
    }
    let (before, after) = hunk(&old, &new, &page.text);
    Some((Capability::Edit, json!({ "path": path, "before": before, "after": after })))
}

/// The text in the first code block of an answer, as soon as there is one.
pub(super) fn block(answer: &str) -> Option<&str> {
    let (_, block) = answer.split_once(FENCE)?;
    let (_, block) = block.split_once('\n')?;
    block.split_once(FENCE).map(|(text, _)| text).filter(|text| !text.trim().is_empty())
}

/// The lines that differ, with as many around them as it takes to be found once.
fn hunk(old: &[&str], new: &[&str], text: &str) -> (String, String) {
    let mut start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let most = old.len().min(new.len()) - start;
    let mut end =
        old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(old, new)| old == new).count();
    loop {
        let before = old[start..old.len() - end].join("\n");
        let after = new[start..new.len() - end].join("\n");
        // Lines that are taken away alone leave an empty one.
        let is_clear = !before.trim().is_empty() && !after.is_empty();
        if is_clear && text.matches(&before).count() == 1 || start == 0 && end == 0 {
            return (before, after);
        }
        match start {
            0 => end -= 1,
            _ => start -= 1,
        }
    }
}

fn asking(system: &str, text: String) -> Vec<Turn> {
    vec![Turn { speaker: Speaker::System, text: system.to_owned() }, Turn { speaker: Speaker::User, text }]
}

#[cfg(test)]
#[path = "focus_tests.rs"]
mod tests;
