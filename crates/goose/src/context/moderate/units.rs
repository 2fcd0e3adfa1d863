//! [`Units`]: a conversation in the smallest pieces that can be taken out without breaking it. A call of a tool and its
//! result are one piece.

use std::sync::Arc;

use goose_extension::{Message, MessageContent, Role};

/// How many of the last pieces stay as they are, whatever their size.
const RECENT: usize = 4;

/// One piece.
type Unit<'a> = &'a [Arc<Message>];

/// The pieces, oldest first.
pub(super) struct Units<'a> {
    units: Vec<Unit<'a>>,
}

impl<'a> Units<'a> {
    pub(super) fn of(messages: &'a [Arc<Message>]) -> Self {
        let mut units = Vec::new();
        let mut rest = messages;
        while !rest.is_empty() {
            // A message with calls, and what follows up to the last of their results.
            let length = if rest[0].call_ids().next().is_some() {
                1 + rest[1..].iter().take_while(|message| is_results(message)).count()
            } else {
                1
            };
            let (unit, others) = rest.split_at(length);
            units.push(unit);
            rest = others;
        }
        Self { units }
    }

    /// The first thing the person asked for.
    pub(super) fn task(&self) -> Option<&'a Arc<Message>> {
        self.units.iter().flat_map(|unit| unit.iter()).find(|message| message.role == Role::User)
    }

    /// All pieces but the recent ones, and the recent ones. The person's last words are always recent.
    pub(super) fn split(&self) -> (&[Unit<'a>], &[Unit<'a>]) {
        self.units.split_at(self.units.len().saturating_sub(RECENT))
    }

    /// The pieces from one on, as messages.
    pub(super) fn from(&self, index: usize) -> Vec<Arc<Message>> {
        self.units[index..].concat()
    }

    /// The pieces before one.
    pub(super) fn before(&self, index: usize) -> &[Unit<'a>] {
        &self.units[..index]
    }

    /// The piece with the person's last words.
    pub(super) fn last_request(&self) -> Option<(usize, &'a Arc<Message>)> {
        let units = self.units.iter().enumerate().rev();
        units
            .filter_map(|(index, unit)| Some((index, unit.iter().find(|message| is_request(message))?)))
            .next()
    }
}

/// Whether a message says something that is no tool's result.
fn is_request(message: &Message) -> bool {
    message.role == Role::User
        && message.content.iter().any(|part| matches!(part, MessageContent::Block(_)))
        && !is_results(message)
}

/// Whether a message carries results of tools.
fn is_results(message: &Message) -> bool {
    message.content.iter().any(|part| matches!(part, MessageContent::ToolResult { .. }))
}
