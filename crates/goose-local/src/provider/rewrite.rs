//! [`Rewrite`]: a small file, written anew. A small model that is to change a file quotes too much or too little of it; with the
//! file and the task before it, and nothing else, it writes the file as it should be. What differs becomes the change.

use goose_engine::{Speaker, Turn};
use goose_providers::{Arguments, ToolCall};
use serde_json::json;

use super::{removal, seen::Seen, wording::words};

/// How long a file may be that is written anew, in characters.
const MAX_CHARS: usize = 1_600;

/// How much longer than the file the answer may get, in tokens.
const MORE_TOKENS: usize = 200;

const WHO: &str = "You are a careful programmer.";

const FENCE: &str = "```";

/// A file that is to be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rewrite {
    path: String,
    text: String,
    task: String,
}

impl Rewrite {
    /// A file that was seen whole, is small, and was neither made nor changed by the model.
    pub(super) fn of(path: &str, seen: &Seen, task: &str) -> Option<Self> {
        let text = seen.texts().iter().find(|(file, _)| file == path).map(|(_, text)| text.clone())?;
        let is_fit = seen.is_whole(path) && !seen.is_made(path) && seen.refused(path).is_empty();
        let is_small = text.chars().count() <= MAX_CHARS && !text.contains(FENCE) && !text.trim().is_empty();
        (is_fit && is_small).then(|| Self { path: path.to_owned(), text, task: task.to_owned() })
    }

    /// As turns of a conversation of its own.
    pub(super) fn turns(&self) -> Vec<Turn> {
        let Self { path, text, task } = self;
        let asked = format!(
            "File {path}:\n{FENCE}\n{text}\n{FENCE}\n\nTask: {}\nWrite the whole new content of {path} in one code block. Change \
             only what the task asks for and keep everything else exactly as it is.",
            task.trim()
        );
        vec![
            Turn { speaker: Speaker::System, text: WHO.to_owned() },
            Turn { speaker: Speaker::User, text: asked },
        ]
    }

    /// How long the answer may get, in tokens, where the question has so many.
    pub(super) fn room(asked: usize) -> usize {
        asked + MORE_TOKENS
    }

    /// The change that the answer makes; none where it makes none, or where hardly anything is left of the file.
    pub(super) fn change(&self, answer: &str) -> Option<(String, String)> {
        let (_, block) = answer.split_once(FENCE)?;
        let (_, block) = block.split_once('\n')?;
        let (new, _) = block.split_once(FENCE)?;
        let old: Vec<&str> = self.text.lines().collect();
        let new: Vec<&str> = new.trim_end().lines().collect();
        let kept = old.iter().filter(|line| new.contains(line)).count();
        let is_related = match old.as_slice() {
            [only] => words(only).any(|word| new.iter().any(|line| words(line).any(|other| other == word))),
            _ => kept * 2 >= old.len() - 1,
        };
        let is_lossless =
            new.len() >= old.len() || removal::removes(&self.task) && self.is_taken_away(&old, &new);
        (old != new && is_related && is_lossless).then(|| hunk(&old, &new, &self.text))
    }

    /// Whether the new lines are old ones, without some that stand together or that the task speaks of.
    fn is_taken_away(&self, old: &[&str], new: &[&str]) -> bool {
        let mut rest = new.iter().peekable();
        let mut gone: Vec<(usize, &str)> = Vec::new();
        for (at, line) in old.iter().enumerate() {
            match rest.next_if(|next| *next == line) {
                Some(_) => {}
                None => gone.push((at, line)),
            }
        }
        let together = gone.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0);
        let is_meant = |line: &str| {
            line.trim().is_empty() || words(line).any(|word| words(&self.task).any(|other| other == word))
        };
        rest.next().is_none() && (together || gone.iter().all(|(_, line)| is_meant(line)))
    }
}

/// What is different, with so many lines around it that the place is clear.
fn hunk(old: &[&str], new: &[&str], text: &str) -> (String, String) {
    let start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let most = old.len().min(new.len()) - start;
    let end = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(old, new)| old == new).count();
    let (mut start, mut end) = (start, end);
    loop {
        let before = old[start..old.len() - end].join("\n");
        let after = new[start..new.len() - end].join("\n");
        // The last lines leave an empty one where they are taken away alone.
        let is_clear = !before.trim().is_empty() && (end > 0 || !after.is_empty());
        if is_clear && text.matches(&before).count() == 1 || start == 0 && end == 0 {
            return (before, after);
        }
        match start {
            0 => end -= 1,
            _ => start -= 1,
        }
    }
}

/// The call that makes a change.
pub(super) fn call(id: &str, tool: &str, path: &str, (before, after): (String, String)) -> ToolCall {
    let arguments = json!({ "path": path, "before": before, "after": after });
    let arguments = Arguments::Object(arguments.as_object().cloned().unwrap_or_default());
    ToolCall { id: id.to_owned(), name: tool.to_owned(), arguments, opaque: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(old: &str, answer: &str) -> Option<(String, String)> {
        let rewrite = Rewrite { path: "a".to_owned(), text: old.to_owned(), task: "Remove it.".to_owned() };
        rewrite.change(answer)
    }

    fn pair(before: &str, after: &str) -> Option<(String, String)> {
        Some((before.to_owned(), after.to_owned()))
    }

    #[test]
    fn what_differs_becomes_the_change() {
        let old = "one\ntwo\nthree\nfour";
        assert_eq!(change(old, "```\none\n2\nthree\nfour\n```"), pair("two", "2"));
        assert_eq!(change(old, "Sure:\n```txt\none\nthree\nfour\n```\nDone."), pair("two", ""));
        assert_eq!(change(old, "```\none\ntwo\nthree\nfour\nfive\n```"), pair("four", "four\nfive"));
        assert_eq!(change(old, "```\nzero\none\ntwo\nthree\nfour\n```"), pair("one", "zero\none"));
        assert_eq!(change(old, "```\none\ntwo\nthree\n```"), pair("three\nfour", "three"));
        assert_eq!(change("a\nb\na\nb", "```\na\nb\na\nc\n```"), pair("b\na\nb", "b\na\nc"));
    }

    #[test]
    fn what_is_no_change_is_left() {
        let old = "one\ntwo\nthree\nfour";
        for answer in [
            "```\none\ntwo\nthree\nfour\n```",
            "```python\nopen('a').write('x')\n```",
            "I cannot do that.",
            "```\none\ntwo",
        ] {
            assert_eq!(change(old, answer), None, "{answer}");
        }
        let rewrite =
            Rewrite { path: "a".to_owned(), text: old.to_owned(), task: "Change two to 2.".to_owned() };
        assert_eq!(rewrite.change("```\none\n2\nthree\n```"), None);
        // Lines far apart that the task does not speak of.
        assert_eq!(change("one\ntwo\nthree\nfour\nfive", "```\ntwo\nthree\nfour\n```"), None);
        assert_eq!(change("one", "```python\nopen('a').write('x')\n```"), None);
        assert_eq!(change("1.2.3", "```\n1.2.4\n```"), pair("1.2.3", "1.2.4"));
    }
}
