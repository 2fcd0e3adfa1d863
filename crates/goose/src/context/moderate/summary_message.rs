//! [`SummaryMessage`]: the first message of a compacted conversation, in place of the removed pieces. Each
//! part is a separate block, marked as synthetic, so that the next compaction carries it over instead of
//! summarizing it again.

use std::sync::Arc;

use goose_extension::{Message, MessageContent, Role};
use goose_fs::head_tail_chars;

use super::units::{Units, requests};
use crate::session::synthetic;

const SUMMARIZED: &str = "[The earlier part of this conversation was summarized to make room.]";
const LEFT_OUT: &str = "[The earlier part of this conversation was left out to make room.]";

const TASK: &str = "The task, as it was first given:\n";
const SUMMARY: &str = "What has happened so far:\n";
const REQUEST: &str = "What the user asked last:\n";
const PLAN: &str = "The plan as it stands:\n";

/// Mark between the beginning and the end of a part that was cut.
const GAP: &str = "\n…\n";

/// Suffixes of the tools that keep the plan, in any extension, and the argument that holds it.
const PLAN_TOOLS: [(&str, &str); 2] = [("__plan", "plan"), ("__todo_write", "content")];

/// Content of the message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SummaryMessage {
    /// First request of the user.
    task: Option<String>,
    /// Summary that a model wrote.
    summary: Option<String>,
    /// Last request of the user, if it is not the first and was removed too.
    request: Option<String>,
    /// Newest plan, if it was removed too.
    plan: Option<String>,
}

impl SummaryMessage {
    /// Splits a message into the summary at its beginning and the rest.
    pub(super) fn split(message: &Message) -> Option<(Self, &[MessageContent])> {
        let (first, mut rest) = message.content.split_first()?;
        if !first.is_aside() || !first.as_text().is_some_and(|text| [SUMMARIZED, LEFT_OUT].contains(&text)) {
            return None;
        }
        let mut summary = Self::default();
        while let [part, others @ ..] = rest
            && summary.read_part(part)
        {
            rest = others;
        }
        Some((summary, rest))
    }

    /// Returns the message for a conversation without the pieces before `first`. Each part has at most
    /// `max_chars`.
    pub(super) fn without(units: &Units, first: usize, summary: Option<String>, max_chars: usize) -> Self {
        let (gone, kept) = units.at(first);
        let old = units.summary.clone().unwrap_or_default();
        let cut = |text: Option<String>| text.map(|text| cut(text.trim(), max_chars));
        let task = cut(old.task.or_else(|| requests(gone).next()));
        let request = match requests(kept).next() {
            Some(_) => None,
            None => cut(requests(gone).next_back().or(old.request)),
        };
        let plan = match newest_plan(kept.iter().flatten()) {
            Some(_) => None,
            None => cut(newest_plan(gone.iter().flatten()).map(str::to_owned).or(old.plan)),
        };
        let request = if request == task { None } else { request };
        Self { task, summary: cut(summary.or(old.summary)), request, plan }
    }

    /// Returns the content blocks.
    pub(super) fn parts(&self) -> impl Iterator<Item = MessageContent> {
        let lead = if self.summary.is_some() { SUMMARIZED } else { LEFT_OUT };
        std::iter::once(synthetic(lead)).chain(self.texts().map(synthetic))
    }

    /// Returns the message.
    pub(super) fn message(&self) -> Message {
        Message::new(Role::User, self.parts())
    }

    /// Returns the parts with their headings.
    pub(super) fn texts(&self) -> impl Iterator<Item = String> {
        let parts =
            [(TASK, &self.task), (SUMMARY, &self.summary), (REQUEST, &self.request), (PLAN, &self.plan)];
        parts.into_iter().filter_map(|(heading, text)| Some(format!("{heading}{}", text.as_ref()?)))
    }

    /// Reads a part back. Returns false if it is not one.
    fn read_part(&mut self, part: &MessageContent) -> bool {
        let Some(text) = part.as_text().filter(|_| part.is_aside()) else { return false };
        let fields = [
            (TASK, &mut self.task),
            (SUMMARY, &mut self.summary),
            (REQUEST, &mut self.request),
            (PLAN, &mut self.plan),
        ];
        for (heading, field) in fields {
            if let Some(body) = text.strip_prefix(heading)
                && field.is_none()
            {
                *field = Some(body.to_owned());
                return true;
            }
        }
        false
    }
}

/// Returns the beginning and the end of a text, at most `max` characters in all.
fn cut(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let kept = max.saturating_sub(GAP.chars().count());
    let head = kept / 4 * 3;
    let parts = head_tail_chars(text, head, kept - head);
    parts.map_or_else(|| text.to_owned(), |parts| [parts.head, GAP, parts.tail].concat())
}

/// Returns the newest plan in some messages.
fn newest_plan<'a>(messages: impl DoubleEndedIterator<Item = &'a Arc<Message>>) -> Option<&'a str> {
    messages.rev().find_map(|message| message.content.iter().rev().find_map(plan))
}

fn plan(part: &MessageContent) -> Option<&str> {
    let MessageContent::ToolCall { name, arguments, .. } = part else { return None };
    let (_, argument) = PLAN_TOOLS.iter().find(|(tool, _)| name.ends_with(tool))?;
    arguments.get(*argument)?.as_str()
}

/// Returns the current plan or task list of a conversation, if there is one that is not empty.
pub(crate) fn current_plan(messages: &[Arc<Message>]) -> Option<String> {
    let carried_over = || {
        let (summary, _) = messages.iter().rev().find_map(|message| SummaryMessage::split(message))?;
        summary.plan
    };
    let plan = newest_plan(messages.iter()).map(str::to_owned).or_else(carried_over);
    plan.map(|plan| plan.trim().to_owned()).filter(|plan| !plan.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_keeps_both_ends_and_does_not_cut_again() {
        let once = cut(&"abcdefghij".repeat(100), 40);
        assert_eq!(once.chars().count(), 40);
        assert!(once.starts_with("abc") && once.ends_with("hij"), "{once}");
        assert_eq!(cut(&once, 40), once);
    }

    #[test]
    fn a_summary_is_read_back_and_the_users_words_are_not_part_of_it() {
        let some = |text: &str| Some(text.to_owned());
        let summary = SummaryMessage {
            task: some("a"),
            summary: None,
            request: some("The plan as it stands:\nb"),
            plan: some("c"),
        };
        let mut message = summary.message();
        let words = MessageContent::text("What has happened so far:\nnothing");
        message.content.push(words.clone());

        assert_eq!(SummaryMessage::split(&message), Some((summary, [words].as_slice())));
        assert_eq!(SummaryMessage::split(&Message::user(LEFT_OUT)), None);
    }
}
