//! Focused prompts: one small job without tools and examples. A small model does these much better than
//! the same job within the whole conversation: answering from results, writing a command or a new file,
//! and rewriting a small file with a change.

use goose_engine::{Speaker, Turn};
use serde_json::{Value, json};

use super::{
    history::result_text,
    plan::Goal,
    request_state::{Page, RequestState, Step},
    tools::{COMMAND, Capability},
};

/// Maximum length of all shown results, in characters. The last results are kept.
const MAX_FOUND_CHARS: usize = 10_000;

/// Maximum length of an answer, in tokens.
pub(super) const MAX_ANSWER_TOKENS: usize = 600;

/// Maximum length of a file that is rewritten, in characters.
const MAX_FILE_CHARS: usize = 1_600;

const FENCE: &str = "```";

/// Bonus on the logit of a code block at the beginning of a command. A model that explains first invents
/// steps such as `cd Documents`.
pub(super) const FAVOUR: (&str, f32) = (FENCE, 100.0);

/// Returns the prompt for shell commands, after the results so far.
pub(super) fn command_prompt(state: &RequestState<'_>, goal: Goal) -> Vec<Turn> {
    let (files, found, task) = (state.files.join(", "), results(state, ""), state.task.trim());
    let commands = match goal {
        Goal::Answer => "the shell commands that show it and change no file",
        _ if state.has_done(&[Capability::Edit, Capability::Write, Capability::Run]) => {
            "the shell commands for what is left of this"
        }
        _ => "the shell commands that do this",
    };
    let end = format!("Write {commands}, in one code block, and nothing else.");
    let text = format!("Files here: {files}\n\n{found}\n\nTask: {task}\n{end}");
    system_and_user("You are a careful programmer.", text)
}

/// Returns the question, after the results so far.
pub(super) fn answer_prompt(state: &RequestState<'_>) -> Vec<Turn> {
    let text = format!(
        "{}\n\nQuestion: {}\nThink step by step: look at each line above that matters, then give the \
         answer in one sentence, with the names and numbers from above.",
        results(state, ""),
        state.task.trim()
    );
    system_and_user("You are a careful assistant.", text)
}

/// Returns the prompt for a new file, after the results so far.
pub(super) fn file_prompt(path: &str, state: &RequestState<'_>) -> Vec<Turn> {
    let (task, found) = (state.task.trim(), results(state, path));
    let end = format!("Write the whole content of {path} in one code block, and nothing else.");
    system_and_user(
        "You are a careful programmer.",
        format!("Task: {task}\n\n{found}\n\nTask: {task}\n{end}"),
    )
}

/// Returns the results since the request, each with its call, except those about the path `but`.
fn results(state: &RequestState<'_>, but: &str) -> String {
    let mut found: Vec<String> = Vec::new();
    let mut chars = 0;
    for result in state.steps.iter().rev().filter(|step| step.path() != Some(but)).filter_map(result) {
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
        // If files were shown as the calls that wrote them, the model would write the next file as a
        // call.
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
    Some(format!("{title}:\n{}", result_text(step.output?)))
}

/// Returns the prompt that rewrites a file; none if the file is not suitable.
pub(super) fn rewrite_prompt(page: &Page, state: &RequestState<'_>) -> Option<Vec<Turn>> {
    let Page { path, text, is_whole } = page;
    let is_small = text.chars().count() <= MAX_FILE_CHARS && !text.contains(FENCE) && !text.trim().is_empty();
    let task = state.task.trim();
    // With the task before and after the file, ten of twelve changes were right; with the task only after
    // it, six.
    let asked = format!(
        "Task: {task}\n\n{}\n\nFile {path}:\n{FENCE}\n{text}\n{FENCE}\n\nTask: {task}\nWrite {path} \
         again, with this change, in one code block: every line of it, the changed ones and all others \
         exactly as they are.",
        results(state, path),
    );
    (*is_whole && is_small).then(|| system_and_user("You are a careful editor of files.", asked))
}

/// Returns the call for a written file or command. None if nothing changes, if anything but a new file
/// comes without a code block, or if a command for a question would write a file.
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
        // Models write short texts without a block.
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

/// Returns the text of the first complete code block.
pub(super) fn block(answer: &str) -> Option<&str> {
    let (_, block) = answer.split_once(FENCE)?;
    let (_, block) = block.split_once('\n')?;
    block.split_once(FENCE).map(|(text, _)| text).filter(|text| !text.trim().is_empty())
}

/// Returns the differing lines, with as many lines around them as are needed to make the quote unique.
fn hunk(old: &[&str], new: &[&str], text: &str) -> (String, String) {
    let mut start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let most = old.len().min(new.len()) - start;
    let mut end =
        old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(old, new)| old == new).count();
    loop {
        let before = old[start..old.len() - end].join("\n");
        let after = new[start..new.len() - end].join("\n");
        // Replacing whole lines by nothing would leave an empty line behind.
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

fn system_and_user(system: &str, text: String) -> Vec<Turn> {
    vec![Turn { speaker: Speaker::System, text: system.to_owned() }, Turn { speaker: Speaker::User, text }]
}

#[cfg(test)]
#[path = "focus_tests.rs"]
mod tests;
