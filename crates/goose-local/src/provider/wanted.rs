//! The file that a task asks for and that is not there yet. Until it is, other files are left alone: small models change what
//! they have just read instead.

use std::sync::Arc;

use goose_extension::Message;

use super::{
    blind::listed,
    steps::{Step, last_asked},
    wording::paths,
};

/// After how many calls it no longer matters.
const MAX_CALLS: usize = 5;

/// The longest ending of a file's name, in letters.
const MAX_ENDING: usize = 5;

/// What comes before the name of a file that is to be made.
const BEFORE: [&str; 12] =
    ["to", "into", "in", "as", "called", "named", "file", "create", "write", "make", "a", "new"];

/// Whether a file is asked for that is not there yet.
pub(super) fn is_missing(messages: &[Arc<Message>], steps: &[Step<'_>]) -> bool {
    let is_there = |file: &str| listed(messages).any(|known| known == file);
    let is_made =
        |file: &str| steps.iter().any(|step| !step.is_failed() && step.arguments.to_string().contains(file));
    let task = last_asked(messages);
    steps.len() < MAX_CALLS && asked_for(&task).any(|file| !is_there(file) && !is_made(file))
}

/// The names of files that a task speaks of as places for something.
fn asked_for(task: &str) -> impl Iterator<Item = &str> {
    let words = || paths(task);
    words()
        .zip(words().skip(1))
        .filter(|(before, word)| {
            let before = before.to_lowercase();
            BEFORE.contains(&before.as_str()) && is_file(word)
        })
        .map(|(_, file)| file)
}

/// Whether a word looks like the name of a file.
pub(super) fn is_file(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(stem, ending)| {
        let is_ending =
            ending.len() <= MAX_ENDING && ending.chars().all(|letter| letter.is_ascii_lowercase());
        is_ending && !stem.is_empty() && !ending.is_empty()
    })
}

#[cfg(test)]
mod tests {
    use goose_extension::{MessageContent, Role};
    use serde_json::json;

    use super::*;

    fn is_missing_after(task: &str, commands: &[&str]) -> bool {
        let mut messages = vec![Arc::new(Message::user(format!("Files here: a.txt, b.py\n{task}")))];
        for command in commands {
            let (id, name, arguments) =
                ("1".to_owned(), "developer__shell".to_owned(), json!({ "command": command }));
            let call = MessageContent::ToolCall { id, name, arguments, opaque: None };
            messages.push(Arc::new(Message::new(Role::Assistant, [call])));
        }
        is_missing(&messages, &Step::since_asked(&messages))
    }

    #[test]
    fn a_file_that_is_asked_for_comes_first() {
        assert!(is_missing_after("Put all names into names.txt.", &[]));
        assert!(is_missing_after("Put all names into names.txt.", &["ls"]));
        assert!(!is_missing_after("Put all names into names.txt.", &["sort a.txt > names.txt"]));
        assert!(!is_missing_after("Put the date into a.txt", &[]));
        assert!(!is_missing_after("Write about Node.js in a.txt", &[]));
        assert!(!is_missing_after("Set the version to 1.2.3", &[]));
        assert!(!is_missing_after("Put it into `names.txt`", &["ls"; MAX_CALLS]));
    }
}
