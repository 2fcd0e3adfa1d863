//! [`Units`]: a conversation in the smallest pieces that can be taken out without breaking it. A call of a tool and its
//! result are one piece.

use std::sync::Arc;

use goose_extension::{Message, MessageContent, Role};

use super::opening::Opening;

/// How many of the last pieces stay as they are, whatever their size.
const RECENT: usize = 4;

/// What stands for a part of a request that is no text.
const ATTACHMENT: &str = "(an attachment)";

/// A piece.
pub(super) type Unit = Vec<Arc<Message>>;

/// What is known of the pieces that went before, and the pieces that are there, oldest first.
pub(super) struct Units {
    pub(super) opening: Option<Opening>,
    units: Vec<Unit>,
}

/// Some pieces in a row.
#[derive(Clone, Copy)]
pub(super) struct Pieces<'a>(&'a [Unit]);

impl Units {
    pub(super) fn of(messages: &[Arc<Message>]) -> Self {
        let mut units = Vec::new();
        let mut rest = messages;
        let mut opening = None;
        if let Some((first, others)) = messages.split_first()
            && let Some((found, words)) = Opening::split(first)
        {
            (opening, rest) = (Some(found), others);
            if !words.is_empty() {
                units.push(vec![Arc::new(Message::new(Role::User, words.to_vec()))]);
            }
        }
        while let Some(first) = rest.first() {
            // A message with calls, and what follows up to the last of their results.
            let length = match first.call_ids().next() {
                Some(_) => 1 + rest[1..].iter().take_while(|message| is_results(message)).count(),
                None => 1,
            };
            let (unit, others) = rest.split_at(length);
            units.push(unit.to_vec());
            rest = others;
        }
        Self { opening, units }
    }

    /// How many pieces are older than the recent ones, which stay.
    pub(super) fn older(&self) -> usize {
        self.units.len().saturating_sub(RECENT)
    }

    /// The pieces before one, and from it on.
    pub(super) fn at(&self, first: usize) -> (Pieces<'_>, Pieces<'_>) {
        let (before, from) = self.units.split_at(first);
        (Pieces(before), Pieces(from))
    }

    /// The messages of the pieces that are older than the recent ones.
    pub(super) fn older_messages(&mut self) -> impl Iterator<Item = &mut Arc<Message>> {
        let older = self.older();
        self.units[..older].iter_mut().flatten()
    }

    /// Takes out the pieces before one; the opening says what is known of them.
    pub(super) fn replace(&mut self, first: usize, opening: Opening) {
        self.units.drain(..first);
        self.opening = Some(opening);
    }

    /// The whole as a conversation.
    pub(super) fn messages(&self) -> Vec<Arc<Message>> {
        let mut messages = self.units.concat();
        let Some(opening) = &self.opening else { return messages };
        match messages.first().filter(|first| first.role != Role::Assistant) {
            // The user speaks once at a time.
            Some(first) => {
                let parts = opening.parts().chain(first.content.iter().cloned());
                messages[0] = Arc::new(Message::new(Role::User, parts));
            }
            None => messages.insert(0, Arc::new(opening.message())),
        }
        messages
    }
}

impl<'a> Pieces<'a> {
    /// The pieces one by one.
    pub(super) fn iter(self) -> impl DoubleEndedIterator<Item = &'a Unit> {
        self.0.iter()
    }

    pub(super) fn messages(self) -> impl DoubleEndedIterator<Item = &'a Arc<Message>> {
        self.0.iter().flatten()
    }

    /// What the person asked for first in these pieces.
    pub(super) fn first_request(self) -> Option<String> {
        self.messages().find_map(|message| request(message))
    }

    /// What the person asked for last in these pieces.
    pub(super) fn last_request(self) -> Option<String> {
        self.messages().rev().find_map(|message| request(message))
    }

    /// Whether the person asks for something in these pieces.
    pub(super) fn has_request(self) -> bool {
        self.messages().any(|message| request(message).is_some())
    }
}

/// What the person says in a message, also beside results of tools.
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

/// Whether a message carries results of tools.
fn is_results(message: &Message) -> bool {
    message.content.iter().any(|part| matches!(part, MessageContent::ToolResult { .. }))
}
