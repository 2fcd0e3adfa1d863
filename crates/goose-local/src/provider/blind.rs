//! [`Blind`]: shell commands that change files unseen. `sed -i` says nothing where it changes nothing, and `>` leaves nothing of
//! what was there; a small model does not look. They are not run: there is a tool that says whether a change was made.

use std::{collections::HashSet, sync::Arc};

use goose_extension::{Message, MessageContent, Role};
use goose_providers::{Arguments, ToolCall};
use serde_json::Value;

use super::{history::LISTED, known::SHELL, seen::Seen};

/// What is shown of a call that is not made, in characters.
const MAX_RAW_CHARS: usize = 1_000;

/// Programs that can change files in place.
const IN_PLACE: [&str; 2] = ["sed", "perl"];

/// The files of which nothing may be lost.
#[derive(Debug, Default)]
pub(super) struct Blind {
    listed: HashSet<String>,
}

impl Blind {
    /// The files that the loop listed last.
    pub(super) fn of(messages: &[Arc<Message>]) -> Self {
        Self { listed: listed(messages).map(str::to_owned).collect() }
    }

    /// The call, unless it is such a command: then it is not made, and the model is told what to do.
    pub(super) fn refused(&self, call: ToolCall, seen: &Seen) -> ToolCall {
        let Arguments::Object(arguments) = &call.arguments else { return call };
        let command = arguments.get("command").and_then(Value::as_str).filter(|_| call.name == SHELL);
        let Some(why) = command.and_then(|command| self.why(command, seen)) else { return call };
        let raw: String = Value::Object(arguments.clone()).to_string().chars().take(MAX_RAW_CHARS).collect();
        ToolCall { arguments: Arguments::Malformed { raw, why }, ..call }
    }

    fn why(&self, command: &str, seen: &Seen) -> Option<String> {
        if is_in_place(command) {
            return Some("To change a file, read it and use edit, which says whether it worked".to_owned());
        }
        let lost = written_over(command).find(|file| self.listed.contains(*file) && !seen.is_whole(file))?;
        Some(format!(
            "{lost} is there already, and all that is in it would be lost. To change it, read it and use edit. To make \
             another file, use another name"
        ))
    }
}

/// The files that the loop listed last.
pub(super) fn listed(messages: &[Arc<Message>]) -> impl Iterator<Item = &str> {
    let said = messages.iter().rev().filter(|message| message.role == Role::User);
    let mut texts = said.flat_map(|message| message.content.iter()).filter_map(MessageContent::as_text);
    let list = texts.find_map(|text| text.strip_prefix(LISTED)).unwrap_or_default();
    list.lines().next().unwrap_or_default().split(", ")
}

fn is_in_place(command: &str) -> bool {
    let words: Vec<&str> = command.split(|sign: char| sign.is_whitespace() || "|;&".contains(sign)).collect();
    (0..words.len()).any(|at| {
        let mut flags = words[at + 1..].iter().take_while(|word| word.starts_with('-'));
        IN_PLACE.contains(&words[at]) && flags.any(|flag| flag.contains('i'))
    })
}

/// The files that a command begins anew.
fn written_over(command: &str) -> impl Iterator<Item = &str> {
    let targets = command.split('>').skip(1).zip(command.split('>'));
    targets.filter_map(|(after, before)| {
        // `>>` adds, `2>` is for errors, `>&` is another channel.
        let is_other = before.is_empty() || before.ends_with(['2', '&']) || after.starts_with('&');
        let file = after.split_whitespace().next().filter(|_| !is_other && !after.is_empty())?;
        Some(file.trim_matches(['"', '\'', ';']).trim_start_matches("./"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::examples::{self, call},
        *,
    };

    fn is_refused(command: &str) -> bool {
        let blind = Blind::of(&[Arc::new(Message::user("Files here: a.txt, docs/b.md\nGo."))]);
        let call = call(SHELL, &json!({ "command": command }));
        examples::is_refused(&blind.refused(call, &Seen::default()))
    }

    #[test]
    fn what_changes_unseen_is_refused() {
        for command in [
            "sed -i 's/a/b/' a.txt",
            "cd docs && sed -n -i.bak 's/a/b/' b.md",
            "perl -pi -e 's/a/b/' a.txt",
            "find . -name '*.txt' -exec sed -i 's/a/b/' {} +",
            "echo x > a.txt",
            "sort docs/b.md >docs/b.md",
            "echo x > './a.txt'; ls",
        ] {
            assert!(is_refused(command), "{command}");
        }
    }

    #[test]
    fn everything_else_is_run() {
        for command in [
            "sed -n 's/a/b/p' a.txt",
            "sed 's/-i/b/' a.txt > c.txt",
            "echo x >> a.txt",
            "sh run.sh 2> a.txt",
            "sh run.sh 2>&1 | head",
            "ls",
            "grep '>' a.txt",
        ] {
            assert!(!is_refused(command), "{command}");
        }
    }
}
