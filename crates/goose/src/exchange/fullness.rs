//! [`Fullness`]: how full the context is. Each message is looked at once, when it comes.

use std::sync::Arc;

use goose_extension::Message;
use goose_providers::Usage;

use crate::{context::Meter, session::Conversation};

/// By how much the context must have grown, as a divisor of itself, before it makes sense to make room again that could
/// not be made.
const GROWTH: u64 = 10;

/// The meter, and how much it has seen.
#[derive(Debug, Default)]
pub(super) struct Fullness {
    meter: Meter,
    /// How many messages it has seen,
    seen: usize,
    /// and how many parts of the last of them: a person's words may be added to it later.
    parts: usize,
    /// How full it was when room was made in vain.
    in_vain: Option<u64>,
}

impl Fullness {
    /// How many tokens the conversation has, about.
    pub(super) fn used(&self) -> u64 {
        self.meter.used()
    }

    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Notes what goes with every request.
    pub(super) fn set_fixed(&mut self, tokens: u64) {
        self.meter.set_fixed(tokens);
    }

    /// Notes the messages that came since the last look.
    pub(super) fn look(&mut self, messages: &[Arc<Message>]) {
        if let Some(last) = self.seen.checked_sub(1).and_then(|last| messages.get(last)) {
            self.meter.add_parts(last.content.get(self.parts..).unwrap_or_default());
            self.parts = last.content.len();
        }
        for message in messages.iter().skip(self.seen) {
            self.add(message);
        }
    }

    fn add(&mut self, message: &Message) {
        self.meter.add(message);
        self.seen += 1;
        self.parts = message.content.len();
    }

    /// Notes what the service counted, up to its answer.
    pub(super) fn answered(&mut self, usage: &Usage, conversation: &Conversation) {
        self.look(conversation.messages());
        // A message that waits for its results comes to the others later, and is not to be seen twice.
        if let Some(waiting) = conversation.waiting() {
            self.add(waiting);
        }
        self.meter.count(usage);
    }

    /// Begins anew with other messages.
    pub(super) fn restart(&mut self, messages: &[Arc<Message>]) {
        self.meter.restart(messages.iter().map(AsRef::as_ref));
        self.seen = messages.len();
        self.parts = messages.last().map_or(0, |last| last.content.len());
        self.in_vain = None;
    }

    /// Notes that there was no room to be made, or too little.
    pub(super) fn was_in_vain(&mut self, used: u64) {
        self.in_vain = Some(used);
    }

    /// Whether making room would be in vain again.
    pub(super) fn is_in_vain(&self, used: u64) -> bool {
        self.in_vain.is_some_and(|before| used < before.saturating_add(before / GROWTH))
    }
}
