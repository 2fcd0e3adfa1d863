//! [`Unseen`]: the files that are there and that the model has not looked at. It does not write over those: small models
//! do so when they mean to change a line, and everything else in the file would be lost.

use std::{collections::HashSet, sync::Arc};

use goose_extension::{JsonObject, Message, MessageContent, Role};
use goose_providers::{Arguments, ToolCall};
use serde_json::Value;

use super::{history::LISTED, known::WRITE};

/// What is shown of a call that is not made, in characters.
const MAX_RAW_CHARS: usize = 1_000;

/// Files by their names as the loop lists them.
#[derive(Debug, Default)]
pub(super) struct Unseen {
    files: HashSet<String>,
}

impl Unseen {
    /// The files of the last list, without those that a call was about.
    pub(super) fn of(messages: &[Arc<Message>]) -> Self {
        let mut files: HashSet<String> = listed(messages).unwrap_or_default();
        for message in messages {
            for part in &message.content {
                if let MessageContent::ToolCall { arguments: Value::Object(arguments), .. } = part {
                    path(arguments).map(|path| files.remove(path));
                }
            }
        }
        Self { files }
    }

    /// The call, unless it would write over one of them: then it is not made, and the model is told why.
    pub(super) fn spared(&self, call: ToolCall) -> ToolCall {
        let Arguments::Object(arguments) = &call.arguments else { return call };
        let Some(path) = path(arguments).filter(|path| call.name == WRITE && self.files.contains(*path))
        else {
            return call;
        };
        let why = format!(
            "{path} is there already, and you have not read it, so it was not replaced. To change it, read it and use edit. \
             To make another file, use another name"
        );
        let raw: String = Value::Object(arguments.clone()).to_string().chars().take(MAX_RAW_CHARS).collect();
        ToolCall { arguments: Arguments::Malformed { raw, why }, ..call }
    }
}

fn path(arguments: &JsonObject) -> Option<&str> {
    arguments.get("path").and_then(Value::as_str).map(|path| path.trim_start_matches("./"))
}

fn listed(messages: &[Arc<Message>]) -> Option<HashSet<String>> {
    let said = messages.iter().rev().filter(|message| message.role == Role::User);
    let mut texts = said.flat_map(|message| message.content.iter()).filter_map(MessageContent::as_text);
    let list = texts.find_map(|text| text.strip_prefix(LISTED))?;
    Some(list.lines().next()?.split(", ").map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn write(path: &str) -> ToolCall {
        let arguments = json!({"path": path, "content": "new"}).as_object().cloned().unwrap_or_default();
        let arguments = Arguments::Object(arguments);
        ToolCall { id: "1".to_owned(), name: WRITE.to_owned(), arguments, opaque: None }
    }

    fn is_made(messages: &[Arc<Message>], path: &str) -> bool {
        matches!(Unseen::of(messages).spared(write(path)).arguments, Arguments::Object(_))
    }

    #[test]
    fn a_file_is_replaced_only_after_it_was_read() {
        let mut messages =
            vec![Arc::new(Message::user("Files here: a.txt, docs/, docs/b.md\nChange a.txt."))];
        assert!(!is_made(&messages, "a.txt") && !is_made(&messages, "./docs/b.md"));
        assert!(is_made(&messages, "new.txt"));
        let arguments = json!({"path": "a.txt"});
        let (id, name) = ("1".to_owned(), "developer__read".to_owned());
        let call = MessageContent::ToolCall { id, name, arguments, opaque: None };
        messages.push(Arc::new(Message::new(Role::Assistant, [call])));
        assert!(is_made(&messages, "a.txt") && !is_made(&messages, "docs/b.md"));
        assert!(is_made(&[Arc::new(Message::user("No list."))], "a.txt"));
    }
}
