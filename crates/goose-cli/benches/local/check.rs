//! Checks if a task was done.

use std::{collections::BTreeSet, fs, process::Command};

use fancy_regex::Regex;

use crate::{
    entries::entries,
    run::Done,
    task::{After, Prints, Task},
};

/// The most characters of the wrong content that are shown.
const SHOWN_CHARS: usize = 160;

/// Returns the differences from the wanted result.
pub(crate) fn problems(task: &Task, done: &Done) -> Vec<String> {
    let mut problems: Vec<String> =
        task.answer.iter().filter_map(|wanted| unsaid(wanted, &done.answer)).collect();
    problems.extend(task.after.iter().flat_map(|(path, after)| file(done, path, after)));
    problems.extend(task.answer_lacks.iter().filter_map(|unwanted| said(unwanted, &done.answer)));
    problems.extend(task.prints.iter().filter_map(|prints| printed(done, prints)));
    if task.unchanged {
        problems.extend(changes(done));
    }
    problems.extend(task.facts.as_ref().and_then(|pattern| unreported(pattern, done)));
    problems
}

fn unsaid(wanted: &str, answer: &str) -> Option<String> {
    let is_said = wanted.split('|').any(|one| says(answer, one));
    (!is_said).then(|| format!("the answer does not say {wanted:?}: {}", start(answer)))
}

fn said(unwanted: &str, answer: &str) -> Option<String> {
    says(answer, unwanted).then(|| format!("the answer says {unwanted:?}: {}", start(answer)))
}

/// Finds a text in an answer; a number is not found within a longer one.
fn says(answer: &str, text: &str) -> bool {
    let (answer, text) = (answer.to_lowercase(), text.to_lowercase());
    let is_digit = |character: Option<char>| character.is_some_and(|character| character.is_ascii_digit());
    answer.match_indices(&text).any(|(at, _)| {
        let (before, after) = (&answer[..at], &answer[at + text.len()..]);
        let goes_on_before = is_digit(text.chars().next()) && is_digit(before.chars().next_back());
        let goes_on_after = is_digit(text.chars().next_back()) && is_digit(after.chars().next());
        !goes_on_before && !goes_on_after
    })
}

/// Lists what is not in the folder as it was before.
fn changes(done: &Done) -> Vec<String> {
    let mut problems = Vec::new();
    if done.answer.trim().is_empty() {
        problems.push("there is no answer".to_owned());
    }
    let now = match entries(&done.folder) {
        Ok(now) => now,
        Err(error) => return vec![format!("the folder cannot be read: {error}")],
    };
    let paths: BTreeSet<_> = done.before.keys().chain(now.keys()).collect();
    let changed = paths.into_iter().filter(|path| done.before.get(*path) != now.get(*path));
    problems.extend(changed.map(|path| format!("{} was changed", path.display())));
    problems
}

fn unreported(pattern: &str, done: &Done) -> Option<String> {
    let pattern = match Regex::new(pattern) {
        Ok(pattern) => pattern,
        Err(error) => return Some(format!("{pattern}: {error}")),
    };
    let is_reported = done.facts.iter().any(|fact| pattern.is_match(fact).unwrap_or(false));
    (!is_reported).then(|| format!("the facts do not have {pattern}: {}", start(&done.facts.join("; "))))
}

fn file(done: &Done, path: &str, after: &After) -> Vec<String> {
    let place = done.folder.join(path);
    if after.gone {
        return place.exists().then(|| format!("{path} is still there")).into_iter().collect();
    }
    let Ok(text) = fs::read_to_string(&place) else { return vec![format!("{path} is not there")] };
    let mut problems = Vec::new();
    if after.is.as_ref().is_some_and(|wanted| wanted.trim_end() != text.trim_end()) {
        problems.push(format!("{path} is {}", start(&text)));
    }
    let lacking = after.has.iter().filter(|wanted| !text.contains(wanted.as_str()));
    problems.extend(lacking.map(|wanted| format!("{path} lacks {wanted:?}: {}", start(&text))));
    let having = after.lacks.iter().filter(|wanted| text.contains(wanted.as_str()));
    problems.extend(having.map(|unwanted| format!("{path} has {unwanted:?}: {}", start(&text))));
    problems
}

fn printed(done: &Done, prints: &Prints) -> Option<String> {
    let output = match Command::new("bash").arg("-c").arg(&prints.run).current_dir(&done.folder).output() {
        Ok(output) => output,
        Err(error) => return Some(format!("{}: {error}", prints.run)),
    };
    let printed = String::from_utf8_lossy(&output.stdout);
    (printed.trim_end() != prints.is.trim_end()).then(|| {
        let errors = String::from_utf8_lossy(&output.stderr);
        format!("`{}` prints {} {}", prints.run, start(&printed), start(&errors))
    })
}

fn start(text: &str) -> String {
    format!("{:?}", text.chars().take(SHOWN_CHARS).collect::<String>())
}
