//! [`Opening`]: what stands in the place of the pieces that are gone. Each of its parts is a block of its own, marked as
//! goose's words, so that the next time it is carried on as it is and not read anew.

use goose_extension::{Message, MessageContent, Role};
use goose_fs::head_tail_chars;

use super::{plan, units::Units};
use crate::session::aside;

const SUMMARIZED: &str = "[The earlier part of this conversation was summarized to make room.]";
const LEFT_OUT: &str = "[The earlier part of this conversation was left out to make room.]";

const TASK: &str = "The task, as it was first given:\n";
const SUMMARY: &str = "What has happened so far:\n";
const REQUEST: &str = "What the user asked last:\n";
const PLAN: &str = "The plan as it stands:\n";

/// What stands between the beginning and the end of a part that is too long.
const GAP: &str = "\n…\n";

/// What is known of the pieces that are gone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Opening {
    /// What the person asked for first.
    task: Option<String>,
    /// What a model wrote down.
    summary: Option<String>,
    /// What the person asked for last, where that is another thing and gone too.
    request: Option<String>,
    /// The newest plan, where it is gone too.
    plan: Option<String>,
}

impl Opening {
    /// The opening that a message begins with, and what else the message says.
    pub(super) fn split(message: &Message) -> Option<(Self, &[MessageContent])> {
        let (first, mut rest) = message.content.split_first()?;
        if !first.is_aside() || !first.as_text().is_some_and(|text| [SUMMARIZED, LEFT_OUT].contains(&text)) {
            return None;
        }
        let mut opening = Self::default();
        while let [part, others @ ..] = rest
            && opening.take(part)
        {
            rest = others;
        }
        Some((opening, rest))
    }

    /// The opening once the pieces before `first` are gone, too: each part with at most so many characters.
    pub(super) fn without(units: &Units, first: usize, summary: Option<String>, max_chars: usize) -> Self {
        let (gone, kept) = units.at(first);
        let old = units.opening.clone().unwrap_or_default();
        let cut = |text: Option<String>| text.map(|text| cut(text.trim(), max_chars));
        let task = cut(old.task.or_else(|| gone.first_request()));
        let request = match kept.has_request() {
            true => None,
            false => cut(gone.last_request().or(old.request)),
        };
        let plan = match plan::newest(kept.messages()) {
            Some(_) => None,
            None => cut(plan::newest(gone.messages()).map(str::to_owned).or(old.plan)),
        };
        let request = if request == task { None } else { request };
        Self { task, summary: cut(summary.or(old.summary)), request, plan }
    }

    /// As the model reads it.
    pub(super) fn parts(&self) -> impl Iterator<Item = MessageContent> {
        let lead = if self.summary.is_some() { SUMMARIZED } else { LEFT_OUT };
        std::iter::once(aside(lead)).chain(self.texts().map(aside))
    }

    /// As a message.
    pub(super) fn message(&self) -> Message {
        Message::new(Role::User, self.parts())
    }

    /// What is known, part by part.
    pub(super) fn texts(&self) -> impl Iterator<Item = String> {
        let parts =
            [(TASK, &self.task), (SUMMARY, &self.summary), (REQUEST, &self.request), (PLAN, &self.plan)];
        parts.into_iter().filter_map(|(heading, text)| Some(format!("{heading}{}", text.as_ref()?)))
    }

    /// Takes a part of an opening. Says no where it is none.
    fn take(&mut self, part: &MessageContent) -> bool {
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

/// The beginning and the end of a text, with at most so many characters in all.
fn cut(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let kept = max.saturating_sub(GAP.chars().count());
    let head = kept / 4 * 3;
    let parts = head_tail_chars(text, head, kept - head);
    parts.map_or_else(|| text.to_owned(), |parts| [parts.head, GAP, parts.tail].concat())
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
    fn an_opening_is_read_back_as_it_was_and_the_persons_words_are_not_part_of_it() {
        let some = |text: &str| Some(text.to_owned());
        let opening = Opening {
            task: some("a"),
            summary: None,
            request: some("The plan as it stands:\nb"),
            plan: some("c"),
        };
        let mut message = opening.message();
        let words = MessageContent::text("What has happened so far:\nnothing");
        message.content.push(words.clone());

        assert_eq!(Opening::split(&message), Some((opening, [words].as_slice())));
        assert_eq!(Opening::split(&Message::user(LEFT_OUT)), None);
    }
}
