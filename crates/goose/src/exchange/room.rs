//! Making room: before each question where the context is nearly full, and when the service says that it is.

use std::sync::Arc;

use goose_extension::Message;
use goose_providers::ProviderError;

use super::{
    core::Core,
    event::Event,
    work::{Going, Stop, Work},
};
use crate::{
    context::{
        Budget, Moderator,
        moderate::{Making, Pressure, make_room},
    },
    session::Step,
};

/// How often room is made because the service says that the conversation is too long, before the reply fails.
const MAX_OVERFLOWS: u32 = 2;

/// Why room is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// The context will soon be full.
    Near,
    /// The service refused the conversation as too long, for the nth time.
    Overflow(u32),
    /// A person asked for it.
    Asked,
}

impl Reason {
    fn pressure(self) -> Pressure {
        match self {
            Self::Near => Pressure::Ahead,
            Self::Overflow(_) | Self::Asked => Pressure::Now,
        }
    }
}

impl Core {
    /// How many tokens fit into the context: what the model was set up with, or less where the profile wants less.
    pub(super) fn limit(&self) -> u64 {
        let limit = self.processor().model().context_limit;
        self.limits.context.map_or(limit, |wanted| wanted.min(limit))
    }

    fn budget(&self, reason: Reason, used: u64) -> Budget {
        let limit = self.limit();
        let threshold = match reason {
            Reason::Near => self.limits.threshold,
            // What the service refused, or the person finds too long, is too long whatever the limit is said to be.
            Reason::Asked | Reason::Overflow(1) => Some(share(used, limit) / 2.0),
            Reason::Overflow(_) => Some(share(used, limit) / 4.0),
        };
        Budget::new(limit, self.processor().model().max_output, threshold)
    }
}

#[expect(clippy::cast_precision_loss, reason = "no count of tokens comes near 2^52")]
fn share(part: u64, whole: u64) -> f64 {
    part.max(1) as f64 / whole.max(1) as f64
}

impl Work {
    pub(super) async fn keep_within_budget(&mut self) -> Going<()> {
        self.look();
        let used = self.state.fullness.used();
        let budget = self.core.budget(Reason::Near, used);
        if !budget.is_over(used) || self.state.fullness.is_in_vain(used) {
            return Ok(());
        }
        // Where no room can be made, the service has the last word.
        self.make_room(Reason::Near).await?;
        let used = self.state.fullness.used();
        if budget.is_over(used) {
            self.state.fullness.was_in_vain(used);
        }
        Ok(())
    }

    /// Notes the messages that came since the last look.
    pub(super) fn look(&mut self) {
        let state = &mut *self.state;
        state.fullness.look(state.conversation.messages());
    }

    /// The service says that the conversation is too long: room is made, or there is nothing to be done.
    pub(super) async fn overflow(&mut self, error: ProviderError) -> Going<()> {
        self.overflows += 1;
        let is_first = self.state.conversation.messages().len() == 1;
        if !is_first
            && self.overflows <= MAX_OVERFLOWS
            && self.make_room(Reason::Overflow(self.overflows)).await?
        {
            return Ok(());
        }
        let words = match (is_first, self.overflows > MAX_OVERFLOWS) {
            (true, _) => "The message is too long for the model, and nothing before it could be left out.",
            (_, true) => "The conversation is too long for the model, even after room was made twice.",
            _ => "The conversation is too long for the model, and no room could be made.",
        };
        Err(Stop::failed(format!("{words} ({error})"), error.hint()))
    }

    /// Lets older messages make room. Tells whether anything changed.
    pub(super) async fn make_room(&mut self, reason: Reason) -> Going<bool> {
        let core = Arc::clone(&self.core);
        let before = self.state.fullness.used();
        let accelerator = core.accelerator();
        let book = |usage| core.spent.add(accelerator.as_ref(), usage);
        let making = Making {
            moderator: match (core.moderator, reason) {
                (Moderator::Passive, Reason::Asked) => Moderator::Summarize,
                (moderator, _) => moderator,
            },
            pressure: reason.pressure(),
            meter: self.state.fullness.meter(),
            budget: core.budget(reason, before),
            summarizer: accelerator.as_ref(),
            retry: &core.retry,
            book: &book,
        };
        let room = make_room(self.state.conversation.messages(), making);
        let room = self.cancellation.run_until_cancelled(room).await.ok_or(Stop::Cancelled)?;
        let room = match room {
            Ok(room) if self.would_use(&room.messages) < before => room,
            Ok(_) => return Ok(false),
            Err(no_room) => {
                tracing::debug!(%no_room, "no room was made");
                return Ok(false);
            }
        };
        if let Some(notice) = room.notice {
            self.emit(Event::Notice(notice));
        }
        self.replace_messages(&room.messages).await?;
        let after = self.state.fullness.used();
        self.emit(Event::Compacted { before, after });
        Ok(true)
    }

    fn would_use(&self, messages: &[Arc<Message>]) -> u64 {
        self.state.fullness.meter().would_use(messages.iter().map(AsRef::as_ref))
    }

    /// From now on the model sees these messages; the steps before stay in the store.
    pub(super) async fn replace_messages(&mut self, messages: &[Arc<Message>]) -> Going<()> {
        let messages = messages.iter().map(|message| Message::clone(message)).collect();
        self.keep_books().await?;
        self.record(Step::Compacted { messages }).await?;
        let state = &mut *self.state;
        state.fullness.restart(state.conversation.messages());
        Ok(())
    }
}
