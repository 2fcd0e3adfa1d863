//! [`Progress`]: how far the model is with what it was asked. It reads before it edits, and where it gets nowhere only the
//! final answer is left to it, which may say so.

use std::sync::Arc;

use goose_extension::{Message, MessageContent, Role};

use super::history::NO_MATCH;

/// How many calls in a row may be the same.
const MAX_SAME: usize = 2;

/// After how many calls that found nothing the model may give up.
const MAX_MISSED: usize = 2;

/// How many calls a small model may need for one thing that it was asked.
const MAX_CALLS: usize = 24;

/// How far the model is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// It has seen nothing yet.
    Begun,
    /// It has made calls.
    Going,
    /// It has searched for something that is not there, and should not give up yet.
    Missed,
    /// Its calls lead nowhere.
    Stuck,
}

impl Progress {
    /// Since the person last spoke.
    pub(super) fn of(messages: &[Arc<Message>]) -> Self {
        let calls = calls_since_asked(messages);
        match calls.is_empty() {
            true => Self::Begun,
            false if is_stuck(&calls) => Self::Stuck,
            false if calls.len() <= MAX_MISSED && has_missed(messages) => Self::Missed,
            false => Self::Going,
        }
    }
}

/// Whether the last thing that came back is that nothing was found.
fn has_missed(messages: &[Arc<Message>]) -> bool {
    let last = messages.last().and_then(|message| message.content.last());
    matches!(last, Some(MessageContent::ToolResult { output, .. }) if output.as_text().starts_with(NO_MATCH))
}

fn is_stuck(calls: &[(&str, &serde_json::Value)]) -> bool {
    let same = match calls.first() {
        Some(last) => calls.iter().take_while(|call| *call == last).count(),
        None => 0,
    };
    same > MAX_SAME || calls.len() >= MAX_CALLS
}

/// The calls since the person last spoke, the last first.
fn calls_since_asked(messages: &[Arc<Message>]) -> Vec<(&str, &serde_json::Value)> {
    let since = messages.iter().rev().take_while(|message| !is_said(message));
    let parts = since.flat_map(|message| message.content.iter().rev());
    parts
        .filter_map(|part| match part {
            MessageContent::ToolCall { name, arguments, .. } => Some((name.as_str(), arguments)),
            _ => None,
        })
        .collect()
}

/// Whether a person said it, and not a tool.
fn is_said(message: &Message) -> bool {
    message.role == Role::User && message.content.iter().any(|part| part.as_text().is_some())
}

#[cfg(test)]
mod tests {
    use goose_extension::ToolOutput;
    use serde_json::json;

    use super::*;

    fn conversation(commands: &[&str]) -> Vec<Arc<Message>> {
        let mut messages = vec![Arc::new(Message::user("Go."))];
        for command in commands {
            let (id, name) = ("1".to_owned(), "developer__shell".to_owned());
            let call =
                MessageContent::ToolCall { id, name, arguments: json!({ "command": command }), opaque: None };
            messages.push(Arc::new(Message::new(Role::Assistant, [call])));
            let result = MessageContent::tool_result("1", ToolOutput::text("same"));
            messages.push(Arc::new(Message::new(Role::User, [result])));
        }
        messages
    }

    #[test]
    fn the_same_call_three_times_is_too_often_until_somebody_speaks() {
        assert_eq!(Progress::of(&conversation(&[])), Progress::Begun);
        assert_eq!(Progress::of(&conversation(&["ls", "ls"])), Progress::Going);
        assert_eq!(Progress::of(&conversation(&["ls", "ls", "pwd", "ls"])), Progress::Going);
        let mut stuck = conversation(&["pwd", "ls", "ls", "ls"]);
        assert_eq!(Progress::of(&stuck), Progress::Stuck);
        stuck.push(Arc::new(Message::user("Go on.")));
        assert_eq!(Progress::of(&stuck), Progress::Begun);
    }

    #[test]
    fn who_finds_nothing_does_not_give_up_at_once() {
        let searched = |times: usize| {
            let mut messages = conversation(&["a", "b", "c"][..times]);
            messages.pop();
            let result = MessageContent::tool_result(
                "1",
                ToolOutput::text("No match. Hidden files are not searched."),
            );
            messages.push(Arc::new(Message::new(Role::User, [result])));
            Progress::of(&messages)
        };
        assert_eq!(
            [searched(1), searched(2), searched(3)],
            [Progress::Missed, Progress::Missed, Progress::Going]
        );
    }

    #[test]
    fn so_are_very_many_calls() {
        let commands: Vec<String> = (0..MAX_CALLS).map(|number| format!("echo {number}")).collect();
        let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
        assert_eq!(Progress::of(&conversation(&commands)), Progress::Stuck);
        assert_eq!(Progress::of(&conversation(&commands[1..])), Progress::Going);
    }
}
