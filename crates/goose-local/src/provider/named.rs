//! The files that a task names. They are looked at before it is called done: small models answer from the first line that they
//! find, and forget what they were pointed to.

use std::sync::Arc;

use goose_extension::Message;
use serde_json::Value;

use super::{
    blind::listed,
    found,
    known::{SEARCH, SHELL},
    seen::Seen,
    steps::{Step, last_asked},
    wanted::is_file,
    wording::paths,
};

/// How many files of a folder, or of one kind, are looked at one by one.
const MAX_FILES: usize = 4;

/// After how many calls no more is asked for.
const MAX_CALLS: usize = 10;

/// How much may have been shown before no more is asked for, in characters.
const MAX_SHOWN_CHARS: usize = 8_000;

/// Words for files, after an ending.
const KINDS: [&str; 4] = ["file", "files", "script", "scripts"];

/// Commands that show a part of a file.
const PARTIAL: [&str; 2] = ["head", "tail"];

/// A file that the task speaks of and that was not looked at yet.
pub(super) fn unlooked(messages: &[Arc<Message>], seen: &Seen) -> Option<String> {
    let steps = Step::since_asked(messages);
    let shown: usize = steps.iter().map(|step| step.text().chars().count()).sum();
    if steps.len() >= MAX_CALLS || shown > MAX_SHOWN_CHARS {
        return None;
    }
    let task = last_asked(messages);
    let listed = listed(messages).filter(|file| !file.ends_with('/') && !is_secret(file));
    // What a command has just made is not listed, but told.
    let is_told =
        |word: &&str| is_file(word) && steps.iter().any(|step| step.is_done() && step.text().contains(*word));
    let files: Vec<&str> = listed.chain(paths(&task).filter(is_told)).collect();
    let is_new = |file: &&str| !is_looked_at(file, &steps, seen);
    let named = files.iter().copied().filter(|file| is_named(file, &task)).find(is_new);
    // Where a search found something, it has looked into them all.
    let group = || group(&files, &task).into_iter().filter(|_| !has_found(&steps)).find(is_new);
    named.or_else(group).map(str::to_owned)
}

/// Whether a file is one that is not opened unless the model itself wants to.
fn is_secret(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let is_shown = [".example", ".sample", ".template"].iter().any(|ending| name.ends_with(ending));
    let is_key = name.ends_with(".key") || name.ends_with(".pem") || name.starts_with("id_");
    is_key || name.starts_with(".env") && !is_shown
}

/// Whether a task names a file, by its path or by its name alone.
fn is_named(file: &str, task: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    paths(task).any(|word| word == file || word == name && word.contains('.'))
}

/// The few files of a folder, or with an ending, that a task speaks of.
fn group<'a>(files: &[&'a str], task: &str) -> Vec<&'a str> {
    let words: Vec<&str> = paths(task).collect();
    // A bare ending is only one before the word for files: many are words of their own.
    let is_ending = |at: usize, ending: &str| {
        let next = words.get(at + 1).copied().unwrap_or_default();
        words[at].strip_prefix('.') == Some(ending) || words[at] == ending && KINDS.contains(&next)
    };
    let has_ending = |file: &str| {
        let ending = file.rsplit_once('.').map(|(_, ending)| ending);
        ending.is_some_and(|ending| (0..words.len()).any(|at| is_ending(at, ending)))
    };
    let is_inside = |file: &str| {
        file.rsplit_once('/')
            .is_some_and(|(folder, _)| words.iter().any(|word| word.trim_end_matches('/') == folder))
    };
    let inside: Vec<&str> = files.iter().copied().filter(|file| is_inside(file)).collect();
    let narrowed: Vec<&str> = inside.iter().copied().filter(|file| has_ending(file)).collect();
    let ending = || files.iter().copied().filter(|file| has_ending(file)).collect();
    let group = match (inside.is_empty(), narrowed.is_empty()) {
        (true, _) => ending(),
        (false, true) => inside,
        (false, false) => narrowed,
    };
    if group.len() <= MAX_FILES { group } else { Vec::new() }
}

fn has_found(steps: &[Step<'_>]) -> bool {
    steps.iter().any(|step| step.tool == SEARCH && found::lines(&step.text()).is_some())
}

fn is_looked_at(file: &str, steps: &[Step<'_>], seen: &Seen) -> bool {
    let is_about = |step: &Step<'_>| step.tool != SEARCH && step.path() == Some(file);
    seen.is_whole(file) || steps.iter().any(|step| is_about(step) || is_run_with(step, file))
}

/// Whether a command had to do with the whole of a file, or with its folder.
fn is_run_with(step: &Step<'_>, file: &str) -> bool {
    let command = step.arguments.get("command").and_then(Value::as_str).unwrap_or_default();
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    let stem = name.split('.').find(|part| !part.is_empty()).unwrap_or(name);
    let is_named = command.contains(name) || paths(command).any(|word| word == stem);
    let is_mentioned = is_named || !folder.is_empty() && command.contains(folder);
    let is_partial = paths(command).next().is_some_and(|program| PARTIAL.contains(&program));
    step.tool == SHELL && step.is_done() && is_mentioned && !is_partial
}

#[cfg(test)]
mod tests {
    use goose_extension::ToolOutput;
    use serde_json::json;

    use super::{
        super::{
            examples::{Done, in_folder},
            known::READ,
        },
        *,
    };

    const FILES: &str =
        "Files here: .env.example, a.csv, b.csv, conf/web.ini, conf/db.ini, src/ring.c, src/ring.h";

    fn unlooked_after(task: &str, calls: &[Done<'_>]) -> Option<String> {
        let messages = in_folder(FILES, task, calls);
        unlooked(&messages, &Seen::of(&messages))
    }

    fn read(path: &str) -> Done<'static> {
        (READ, json!({ "path": path }), ToolOutput::text("1\tone"))
    }

    fn shell(command: &str) -> Done<'static> {
        (SHELL, json!({ "command": command }), ToolOutput::text("3"))
    }

    #[test]
    fn a_file_that_is_named_is_looked_at() {
        let task = "What does ring_new in src/ring.c do? The constants are in ring.h.";
        assert_eq!(unlooked_after(task, &[]).as_deref(), Some("src/ring.c"));
        assert_eq!(unlooked_after(task, &[read("src/ring.c")]).as_deref(), Some("src/ring.h"));
        assert_eq!(unlooked_after(task, &[read("src/ring.h"), read("./src/ring.c")]), None);
        let failed = (READ, json!({ "path": "src/ring.c" }), ToolOutput::error("It is binary."));
        assert_eq!(unlooked_after("Read src/ring.c.", &[failed]), None);
        assert_eq!(unlooked_after("What is in `.env.example`?", &[]).as_deref(), Some(".env.example"));
        assert_eq!(unlooked_after("How are you?", &[]), None);
        assert!(is_secret(".env") && is_secret("tls/web.key") && !is_secret(".env.example"));
    }

    #[test]
    fn so_is_one_that_was_just_made() {
        let made = |told: &str| (SHELL, json!({ "command": "sh report.sh" }), ToolOutput::text(told));
        let task = "Run report.sh and tell me what is in report.txt.";
        assert_eq!(unlooked_after(task, &[made("wrote report.txt")]).as_deref(), Some("report.txt"));
        assert_eq!(unlooked_after(task, &[made("done")]), None);
        assert_eq!(unlooked_after(task, &[made("wrote report.txt"), read("report.txt")]), None);
    }

    #[test]
    fn a_command_looks_at_what_it_names_unless_it_shows_a_part() {
        assert_eq!(unlooked_after("How many lines has a.csv?", &[shell("wc -l < a.csv")]), None);
        let tests = "Do the tests in src/ring.c pass?";
        assert_eq!(unlooked_after(tests, &[shell("python3 -m unittest ring")]), None);
        assert!(unlooked_after("What is the last error in a.csv?", &[shell("tail -n 1 a.csv")]).is_some());
    }

    #[test]
    fn the_few_files_of_a_folder_or_a_kind_are_looked_at_unless_a_search_found_something() {
        let folder = "Which file in conf/ sets the port?";
        assert_eq!(unlooked_after(folder, &[read("conf/web.ini")]).as_deref(), Some("conf/db.ini"));
        assert_eq!(unlooked_after("Which csv file is larger?", &[]).as_deref(), Some("a.csv"));
        let found = (SEARCH, json!({ "pattern": "port" }), ToolOutput::text("conf/web.ini\n1:port = 80"));
        assert_eq!(unlooked_after(folder, &[found]), None);
        let nothing = (SEARCH, json!({ "pattern": "port" }), ToolOutput::text("No match."));
        assert!(unlooked_after(folder, &[nothing]).is_some());
    }
}
