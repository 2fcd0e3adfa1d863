//! [`Handover`]: the first message of a session that works for another one, in parts that can be shortened.

use std::{fmt::Write as _, sync::Arc};

use goose_extension::{Message, MessageContent, Role};

use super::tokens;

/// Maximum size of the user's request in a handover.
const MAX_REQUEST_BYTES: usize = 20_000;

/// Maximum size of the transcript of the session.
const MAX_SESSION_BYTES: usize = 40_000;

/// Maximum size of one message in the transcript.
const MAX_MESSAGE_BYTES: usize = 4_000;

/// Metadata key of a recalled text that names its sessions.
pub(crate) const RECALLED: &str = "recalled_sessions";

/// Minimum number of tokens of a part, even in a small context.
const MIN_PART_TOKENS: u64 = 125;

/// First message of a delegate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Handover {
    pub(crate) parts: Vec<Part>,
}

/// Text under a heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    heading: String,
    pub(crate) text: String,
    /// Maximum size of the text, even if more would fit.
    max_bytes: usize,
}

impl Handover {
    /// Creates a message with a task in plain text.
    pub(crate) fn new(task: impl Into<String>) -> Self {
        // The message never starts with an `@agent` of the task, which would choose another agent.
        Self::default().with("Your task:\n\n", task, usize::MAX)
    }

    /// Adds a text under a heading, cut to `max_bytes`.
    pub(crate) fn with(
        mut self,
        heading: impl Into<String>,
        text: impl Into<String>,
        max_bytes: usize,
    ) -> Self {
        self.parts.push(Part { heading: heading.into(), text: text.into(), max_bytes });
        self
    }

    /// Adds the session around the task: the user's last request with `part` marked, text recalled from
    /// earlier sessions, and a transcript of the conversation before.
    pub(crate) fn with_session(mut self, messages: &[Arc<Message>], part: Option<&str>) -> Self {
        let is_request =
            |message: &Arc<Message>| message.role == Role::User && !message.own_text().is_empty();
        let Some(at) = messages.iter().rposition(is_request) else { return self };
        let request = messages[at].own_text();
        let (heading, request) = match part.filter(|part| request.contains(part)) {
            Some(part) => (MARKED, request.replacen(part, &format!(">>> {part} <<<"), 1)),
            None => (REQUEST, request),
        };
        self = self.with(heading, request, MAX_REQUEST_BYTES);
        let recalled = messages[at].content.iter().filter(|part| is_recalled(part));
        for text in recalled.filter_map(MessageContent::as_text) {
            self = self.with("\n", text.trim_end(), usize::MAX);
        }
        match transcript(&messages[..at]) {
            Some(said) => self.with(SESSION, said, usize::MAX),
            None => self,
        }
    }

    /// Returns the message if everything fits.
    pub(crate) fn text(&self) -> String {
        self.parts.iter().map(Part::whole).collect()
    }

    /// Returns the maximum number of tokens of each part, so that all parts together have about `tokens`.
    /// Short parts leave their share to the others.
    pub(crate) fn share(&self, tokens: u64) -> u64 {
        let mut sizes: Vec<u64> = self.parts.iter().map(Part::tokens).collect();
        sizes.sort_unstable();
        let (mut left, mut count) = (tokens, sizes.len() as u64);
        for size in sizes {
            if size > left / count {
                return (left / count).max(MIN_PART_TOKENS);
            }
            left -= size;
            count -= 1;
        }
        u64::MAX
    }
}

// Headings of the parts that come with a task.
const MARKED: &str = "\nYour task is a part of this request of the user, marked with >>> and <<<. Others do the other parts; what it says about all \
                      parts holds for yours:\n\n";
const REQUEST: &str =
    "\nThe last request of the user in the session that gives you the task, for information:\n\n";
const SESSION: &str = "\nWhat was said in that session before, the newest last, for information:\n\n";

fn is_recalled(part: &MessageContent) -> bool {
    let text = match part {
        MessageContent::Block(block) => block.as_text(),
        _ => None,
    };
    text.and_then(|text| text.meta.as_ref()).is_some_and(|meta| meta.contains_key(RECALLED))
}

/// Returns messages as text, with the speakers and the tool calls. Only the newest part of a long
/// conversation is kept.
pub(crate) fn transcript(messages: &[Arc<Message>]) -> Option<String> {
    let mut entries: Vec<String> = Vec::new();
    let mut bytes = 0;
    for message in messages.iter().rev() {
        let entry = entry(message);
        bytes += entry.len();
        if bytes > MAX_SESSION_BYTES {
            entries.push("(What was said before this is left out.)\n".to_owned());
            break;
        }
        entries.push(entry);
    }
    entries.reverse();
    let text = entries.concat().trim_end().to_owned();
    (!text.is_empty()).then_some(text)
}

fn entry(message: &Message) -> String {
    let name = if message.role == Role::User { "User" } else { "Assistant" };
    let mut entry = String::new();
    let said = message.own_text();
    if !said.trim().is_empty() {
        let _ = writeln!(entry, "{name}: {}", cut(said.trim_end(), MAX_MESSAGE_BYTES));
    }
    for part in &message.content {
        if let MessageContent::ToolCall { name, arguments, .. } = part {
            let arguments = arguments.to_string();
            let end = arguments.floor_char_boundary(200);
            let _ = writeln!(entry, "(Called {name} {})", &arguments[..end]);
        }
    }
    entry
}

impl Part {
    /// Returns the part with another text.
    pub(crate) fn with_text(&self, text: &str) -> String {
        format!("{}{text}\n", self.heading)
    }

    /// Returns the part with its own text.
    pub(crate) fn whole(&self) -> String {
        self.with_text(&cut(&self.text, self.max_bytes))
    }

    /// Returns the estimated tokens of its text.
    pub(crate) fn tokens(&self) -> u64 {
        tokens::of_text(&cut(&self.text, self.max_bytes))
    }
}

/// Returns the beginning of a text, with about `tokens` tokens.
pub(crate) fn cut_to(text: &str, tokens: u64) -> String {
    let bytes = (text.len() as u64).saturating_mul(tokens) / tokens::of_text(text).max(1);
    cut(text, usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// Returns the beginning of a text, with a remark about the rest.
pub(crate) fn cut(text: &str, max_bytes: usize) -> String {
    goose_fs::truncate_lines(text.to_owned(), max_bytes, |rest| {
        format!("(Cut here; {} more bytes.)", rest.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_parts_leave_their_share_to_the_long_ones() {
        let part = |tokens: usize| "abcd".repeat(tokens);
        let handover = Handover::new(part(100)).with("", part(5_000), usize::MAX).with("", part(900), 2_000);
        assert_eq!(handover.share(10_000), u64::MAX, "everything fits");
        assert_eq!(handover.share(3_000), 3_000 - 100 - tokens::of_text(&cut(&part(900), 2_000)));
        assert_eq!(handover.share(0), MIN_PART_TOKENS);
        assert!(tokens::of_text(&cut_to(&part(5_000), 700)).abs_diff(700) < 20);
    }
}
