//! [`Fullness`]: how full the context is. Each message is looked at once, when it comes.

use std::sync::Arc;

use goose_extension::Message;
use goose_providers::Usage;

use crate::{context::Meter, session::Conversation};

/// The meter, and how many messages it has seen.
#[derive(Debug, Default)]
pub(super) struct Fullness {
    meter: Meter,
    seen: usize,
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
        messages.iter().skip(self.seen).for_each(|message| self.meter.add(message));
        self.seen = self.seen.max(messages.len());
    }

    /// Notes what the service counted, up to its answer.
    pub(super) fn answered(&mut self, usage: &Usage, conversation: &Conversation) {
        self.look(conversation.messages());
        // A message that waits for its results comes to the others later, and is not to be seen twice.
        if let Some(waiting) = conversation.waiting() {
            self.meter.add(waiting);
            self.seen += 1;
        }
        self.meter.count(usage);
    }

    /// Begins anew with other messages.
    pub(super) fn restart(&mut self, messages: &[Arc<Message>]) {
        self.meter.restart(messages.iter().map(AsRef::as_ref));
        self.seen = messages.len();
    }
}
