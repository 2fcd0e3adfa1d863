//! Compaction of the conversation, before the context is full and after the service refused it for its
//! length. How messages are shortened is in `context::moderate`.

use std::sync::Arc;

use goose_extension::Message;
use goose_providers::{ProviderError, Usage};

use super::{
    agent_loop::{Abort, AgentLoop, StepResult},
    event::Event,
    loop_context::LoopContext,
};
use crate::{
    config::Moderator,
    context::{
        Budget, Meter,
        moderate::{CompactionRequest, Pressure, Summarizer, make_room},
    },
    session::{Conversation, Step},
};

/// Maximum number of compactions in a row after the service refused the conversation for its length.
const MAX_OVERFLOWS: u32 = 2;

/// Hint after a message was withdrawn.
const WITHDRAWN: &str = "The message was removed from the conversation. Shorten it, or save it as a file and name the file. \
                         `/compact` shortens what was said before.";

/// Reason for a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The context will soon be full.
    Near,
    /// The service refused the conversation as too long, for the nth time in a row.
    Overflow(u32),
    /// The user asked for it.
    Asked,
}

impl LoopContext {
    /// Returns the maximum number of tokens of the context: the model's limit, or the profile's if that is
    /// lower.
    pub(crate) fn limit(&self) -> u64 {
        let limit = self.processor().model().context_limit;
        self.limits.context.map_or(limit, |wanted| wanted.min(limit))
    }

    pub(crate) fn budget(&self, reason: Reason, used: u64) -> Budget {
        let limit = self.limit();
        let threshold = match reason {
            Reason::Near => self.limits.threshold,
            // Based on the size and not on the limit: the service's actual limit may be lower than the stated
            // one.
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

impl AgentLoop {
    pub(super) async fn keep_within_budget(&mut self) -> StepResult<()> {
        self.count_messages();
        let used = self.state.context_usage.used();
        let budget = self.context.budget(Reason::Near, used);
        let is_in_vain = self.state.context_usage.would_fail_again(used) || self.is_message_over(&budget);
        if !budget.is_over(used) || is_in_vain {
            return Ok(());
        }
        // The request is sent even if this does not help: only the service knows if it is really too long.
        self.make_room(Reason::Near).await?;
        let used = self.state.context_usage.used();
        if budget.is_over(used) {
            self.state.context_usage.record_failure(used);
        }
        Ok(())
    }

    /// Counts the messages since the last call.
    pub(super) fn count_messages(&mut self) {
        let state = &mut *self.state;
        state.context_usage.count_messages(state.conversation.messages());
    }

    /// Shortens a conversation that the service refused for its length: saves a long message as a file, or
    /// compacts older messages. If neither helps, withdraws the message.
    pub(super) async fn overflow(&mut self, error: ProviderError) -> StepResult<()> {
        if self.save_long_message().await? {
            return Ok(());
        }
        self.progress.overflows += 1;
        let is_first = self.state.conversation.messages().len() == 1;
        if !is_first
            && self.progress.overflows <= MAX_OVERFLOWS
            && self.make_room(Reason::Overflow(self.progress.overflows)).await?
        {
            return Ok(());
        }
        let words = match (is_first, self.progress.overflows > MAX_OVERFLOWS) {
            (true, _) => "The message is too long for the model, and nothing before it could be left out.",
            (_, true) => "The conversation is too long for the model, even after it was compacted twice.",
            _ => "The conversation is too long for the model, and compacting did not free enough space.",
        };
        let hint = match self.withdraw().await? {
            Some(_) => Some(WITHDRAWN.to_owned()),
            None => error.hint(),
        };
        self.report_session_cost();
        Err(Abort::failed(format!("{words} ({error})"), hint))
    }

    /// Compacts older messages. Returns true if the conversation changed.
    pub(super) async fn make_room(&mut self, reason: Reason) -> StepResult<bool> {
        let core = Arc::clone(&self.context);
        let before = self.state.context_usage.used();
        let accelerator = core.accelerator();
        let book = |usage| core.usage.add(accelerator.as_ref(), usage);
        let meter = self.state.context_usage.meter();
        let making = CompactionRequest {
            moderator: match (core.limits.moderator, reason) {
                (Moderator::Passive, Reason::Asked) => Moderator::Summarize,
                (moderator, _) => moderator,
            },
            pressure: if reason == Reason::Near { Pressure::Ahead } else { Pressure::Now },
            meter,
            budget: core.budget(reason, before),
            summarizer: Summarizer { model: accelerator.as_ref(), retry: &core.limits.retry, book: &book },
        };
        let room = make_room(self.state.conversation.messages(), making);
        let room = self.cancellation.run_until_cancelled(room).await.ok_or(Abort::Cancelled)?;
        let room = match room {
            Ok(room) if meter.would_use(room.messages.iter().map(AsRef::as_ref)) < before => room,
            Ok(_) => return Ok(false),
            Err(no_room) => {
                tracing::debug!(%no_room, "no room was made");
                return Ok(false);
            }
        };
        if let Some(notice) = room.notice {
            self.emit(Event::Notice(notice));
        }
        self.replace_messages(&room.messages, None).await?;
        let after = self.state.context_usage.used();
        self.emit(Event::Compacted { before, after });
        Ok(true)
    }

    /// Replaces the messages that the model sees, with those before a step if the user goes back. The earlier steps
    /// stay in the store.
    pub(super) async fn replace_messages(
        &mut self,
        messages: &[Arc<Message>],
        rewound_to: Option<u64>,
    ) -> StepResult<()> {
        let messages = messages.iter().map(|message| Message::clone(message)).collect();
        self.flush_usage().await?;
        self.record(Step::Compacted { messages, rewound_to }).await?;
        let state = &mut *self.state;
        state.context_usage.restart(state.conversation.messages());
        Ok(())
    }
}

/// Growth of the context, as a divisor of its size, after which a failed compaction is tried again.
const GROWTH: u64 = 10;

/// Size of the context. Each message is counted once, when it is added.
#[derive(Debug, Default)]
pub(crate) struct ContextUsage {
    meter: Meter,
    /// Number of counted messages.
    seen: usize,
    /// Number of counted parts of the last message. The user's text may be added to it later.
    parts: usize,
    /// Size at which the last compaction failed.
    failed_at: Option<u64>,
}

impl ContextUsage {
    /// Returns the estimated tokens of the conversation.
    pub(super) fn used(&self) -> u64 {
        self.meter.used()
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Sets the tokens of the system prompt and the tools, which every request contains.
    pub(super) fn set_fixed(&mut self, tokens: u64) {
        self.meter.set_fixed(tokens);
    }

    /// Counts the messages since the last call.
    pub(super) fn count_messages(&mut self, messages: &[Arc<Message>]) {
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

    /// Sets the service's count for the conversation up to its answer.
    pub(super) fn answered(&mut self, usage: &Usage, conversation: &Conversation) {
        self.count_messages(conversation.messages());
        // A message that waits for its tool results is not in `messages` yet. `seen` includes it from now on.
        if let Some(waiting) = conversation.waiting() {
            self.add(waiting);
        }
        self.meter.count(usage);
    }

    /// Restarts with other messages.
    pub(super) fn restart(&mut self, messages: &[Arc<Message>]) {
        self.meter.restart(messages.iter().map(AsRef::as_ref));
        self.seen = messages.len();
        self.parts = messages.last().map_or(0, |last| last.content.len());
        self.failed_at = None;
    }

    /// Records that a compaction at this size failed or was not enough.
    pub(super) fn record_failure(&mut self, used: u64) {
        self.failed_at = Some(used);
    }

    /// Returns true if another compaction is expected to fail as well.
    pub(super) fn would_fail_again(&self, used: u64) -> bool {
        self.failed_at.is_some_and(|before| used < before.saturating_add(before / GROWTH))
    }
}
