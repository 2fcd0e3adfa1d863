//! [`Units`]: a conversation split into the smallest pieces that can be removed without breaking it, and the
//! removal of the oldest ones. A tool call and its result are one piece.

use std::sync::Arc;

use goose_extension::{Message, MessageContent, Role};

use super::{Goal, summary_message::SummaryMessage};

/// Number of last pieces that are never removed.
const RECENT: usize = 4;

/// Text in place of a part of a request that is not text.
const ATTACHMENT: &str = "(an attachment)";

/// Messages of one piece.
pub(super) type Unit = Vec<Arc<Message>>;

/// Conversation in pieces, oldest first, and the summary of the removed ones.
pub(super) struct Units {
    pub(super) summary: Option<SummaryMessage>,
    units: Vec<Unit>,
}

impl Units {
    pub(super) fn new(messages: &[Arc<Message>]) -> Self {
        let mut units = Vec::new();
        let mut rest = messages;
        let mut summary = None;
        if let Some((first, others)) = messages.split_first()
            && let Some((found, words)) = SummaryMessage::split(first)
        {
            (summary, rest) = (Some(found), others);
            if !words.is_empty() {
                units.push(vec![Arc::new(Message::new(Role::User, words.to_vec()))]);
            }
        }
        while let Some(first) = rest.first() {
            // A message with calls, and everything up to the last of their results.
            let length = match first.call_ids().next() {
                Some(_) => 1 + rest[1..].iter().take_while(|message| is_results(message)).count(),
                None => 1,
            };
            let (unit, others) = rest.split_at(length);
            units.push(unit.to_vec());
            rest = others;
        }
        Self { summary, units }
    }

    /// Returns the number of pieces that are older than the recent ones.
    pub(super) fn older(&self) -> usize {
        self.units.len().saturating_sub(RECENT)
    }

    /// Splits the pieces before `first` from the others.
    pub(super) fn at(&self, first: usize) -> (&[Unit], &[Unit]) {
        self.units.split_at(first)
    }

    /// Returns the messages of the pieces that are older than the recent ones.
    pub(super) fn older_messages(&mut self) -> impl Iterator<Item = &mut Arc<Message>> {
        let older = self.older();
        self.units[..older].iter_mut().flatten()
    }

    /// Replaces the pieces before `first` by the summary message, with a model's summary if there is one.
    pub(super) fn replace(&mut self, first: usize, summary: Option<String>, goal: &Goal<'_>) {
        self.summary = Some(SummaryMessage::without(self, first, summary, goal.max_part_chars()));
        self.units.drain(..first);
    }

    /// Returns the conversation.
    pub(super) fn messages(&self) -> Vec<Arc<Message>> {
        let mut messages = self.units.concat();
        let Some(summary) = &self.summary else { return messages };
        match messages.first().filter(|first| first.role != Role::Assistant) {
            // Roles alternate, so the summary is joined with a user's message that follows it.
            Some(first) => {
                let parts = summary.parts().chain(first.content.iter().cloned());
                messages[0] = Arc::new(Message::new(Role::User, parts));
            }
            None => messages.insert(0, Arc::new(summary.message())),
        }
        messages
    }
}

/// Returns the user's requests in some pieces, oldest first.
pub(super) fn requests(pieces: &[Unit]) -> impl DoubleEndedIterator<Item = String> {
    pieces.iter().flatten().filter_map(|message| request(message))
}

/// Returns the user's own text in a message, also beside tool results.
fn request(message: &Message) -> Option<String> {
    if message.role == Role::Assistant {
        return None;
    }
    let words = message.content.iter().filter(|part| !part.is_aside()).filter_map(|part| match part {
        MessageContent::Block(_) => Some(part.as_text().unwrap_or(ATTACHMENT)),
        _ => None,
    });
    let words: Vec<&str> = words.filter(|words| !words.trim().is_empty()).collect();
    (!words.is_empty()).then(|| words.join("\n"))
}

/// Returns true if a message contains tool results.
fn is_results(message: &Message) -> bool {
    message.content.iter().any(|part| matches!(part, MessageContent::ToolResult { .. }))
}

/// Removes the oldest pieces. The task, the last request and the plan stay in the summary message.
pub(super) fn truncate(units: &mut Units, goal: &Goal<'_>) {
    let first = first_kept(units, goal);
    if first > 0 {
        units.replace(first, None, goal);
    }
}

/// Returns the index of the first piece that stays: as many from the end as the goal allows, at least the
/// recent ones.
pub(super) fn first_kept(units: &Units, goal: &Goal<'_>) -> usize {
    let (older, recent) = units.at(units.older());
    let summary = units.summary.as_ref().map_or(0, |summary| goal.weight(&summary.message()));
    let recent = recent.iter().flatten().map(|message| goal.weight(message)).sum::<u64>();
    let mut used = goal.used(&[]) + summary + recent;
    let mut first = units.older();
    for unit in older.iter().rev() {
        used += unit.iter().map(|message| goal.weight(message)).sum::<u64>();
        if used > goal.tokens {
            break;
        }
        first -= 1;
    }
    first
}
