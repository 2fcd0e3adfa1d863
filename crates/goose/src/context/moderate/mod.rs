//! Compaction: shortens older messages when the context is full.
//!
//! ```text
//! units            the conversation in pieces that can be removed without breaking it; removal of the oldest
//! summary_message  stands for the pieces that are gone: the task, a summary, the last request, the plan
//! shrink           shortens results of tools, the older ones first
//! summarize        has a model summarize the oldest pieces, or a text that is handed to another agent
//! ```
//!
//! The recent pieces stay word for word, whatever happens to the older ones.

mod shrink;
pub(crate) mod summarize;
mod summary_message;
mod units;

pub(crate) use summary_message::current_plan;

use std::sync::Arc;

use goose_config::Moderator;
use goose_extension::Message;
use goose_providers::{Provider, RetryPolicy, Usage};
use thiserror::Error;

use super::{Budget, Meter};
use units::{Units, truncate};

/// A shortened conversation.
#[derive(Debug, Clone)]
pub struct Room {
    /// The messages that the model sees from now on.
    pub messages: Vec<Arc<Message>>,
    /// A problem to tell the user.
    pub notice: Option<String>,
}

/// The reason why no room could be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NoRoom {
    /// The profile does not want it.
    #[error("the conversation is too long for the model, and the moderator `passive` shortens nothing")]
    Passive,
    /// The part that must stay is too long already.
    #[error("the last message alone is too long for the model: about {needed} tokens, at most {limit} fit")]
    TooLong {
        /// The tokens of the shortest conversation.
        needed: u64,
        /// The tokens that fit.
        limit: u64,
    },
}

/// The reason why room is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pressure {
    /// The context will soon be full: the recent pieces stay as long as they fit.
    Ahead,
    /// The conversation is too long as it is, whatever the limit is said to be: also the recent results are cut, as far
    /// as the goal needs it.
    Now,
}

/// The parameters of a compaction.
#[derive(Clone, Copy)]
pub struct CompactionRequest<'a> {
    /// The way to make room.
    pub moderator: Moderator,
    /// The reason.
    pub pressure: Pressure,
    /// Measures how full the context is.
    pub meter: &'a Meter,
    /// Says how full it may be.
    pub budget: Budget,
    /// The model that summarizes.
    pub summarizer: Summarizer<'a>,
}

/// A model that summarizes.
#[derive(Clone, Copy)]
pub struct Summarizer<'a> {
    /// The model.
    pub model: &'a dyn Provider,
    /// The retry policy.
    pub retry: &'a RetryPolicy,
    /// Receives the tokens of each request, also of failed ones.
    pub book: &'a (dyn Fn(Usage) + Sync),
}

/// Makes room: the conversation becomes shorter, and stays valid. If nothing can be removed, it is returned unchanged. The
/// future may be dropped at any time.
///
/// # Errors
///
/// Fails if the conversation cannot be made short enough.
pub async fn make_room(messages: &[Arc<Message>], request: CompactionRequest<'_>) -> Result<Room, NoRoom> {
    if request.moderator == Moderator::Passive {
        return Err(NoRoom::Passive);
    }
    let mut units = Units::new(messages);
    let goal = Goal { meter: request.meter, tokens: request.budget.goal() };
    let has_shrunk = shrink::older_results(&mut units, &goal);
    let mut notice = None;
    if !has_shrunk || !goal.is_met(&units.messages()) {
        match request.moderator {
            Moderator::Summarize => notice = summarize::oldest(&mut units, &goal, &request).await,
            Moderator::Truncate | Moderator::Passive => truncate(&mut units, &goal),
        }
    }
    let shorter = fitting(units.messages(), &goal, &request)?;
    // The summary of a few short pieces can be longer than they were.
    let is_shorter = goal.used(&shorter) < goal.used(messages);
    Ok(Room { messages: if is_shorter { shorter } else { messages.to_vec() }, notice })
}

/// Cuts the recent results too if they are too long themselves.
fn fitting(
    messages: Vec<Arc<Message>>,
    goal: &Goal<'_>,
    request: &CompactionRequest<'_>,
) -> Result<Vec<Arc<Message>>, NoRoom> {
    let limit = match request.pressure {
        Pressure::Ahead => request.budget.limit.saturating_sub(request.budget.reserve),
        Pressure::Now => goal.tokens,
    };
    if goal.used(&messages) <= limit {
        return Ok(messages);
    }
    let messages = shrink::all_results(&messages);
    match goal.used(&messages) {
        needed if needed > limit && request.pressure == Pressure::Ahead => {
            Err(NoRoom::TooLong { needed, limit })
        }
        _ => Ok(messages),
    }
}

/// The length that a conversation should have.
struct Goal<'a> {
    meter: &'a Meter,
    tokens: u64,
}

/// The maximum length of a part of the summary message, in characters: a share of the goal, but not more than this
const MAX_SUMMARY_PART_CHARS: u64 = 8_000;
/// and not less than this.
const MIN_SUMMARY_PART_CHARS: u64 = 800;

impl Goal<'_> {
    fn is_met(&self, messages: &[Arc<Message>]) -> bool {
        self.used(messages) <= self.tokens
    }

    /// Returns the tokens of these messages, with the system prompt and the tools.
    fn used(&self, messages: &[Arc<Message>]) -> u64 {
        self.meter.would_use(messages.iter().map(AsRef::as_ref))
    }

    /// Returns the tokens of a message by itself, by the same measure.
    fn weight(&self, message: &Message) -> u64 {
        self.meter.weight(message)
    }

    /// Returns the maximum length of a part: all four together leave a third of the goal to the rest.
    fn max_part_chars(&self) -> usize {
        let share = self.tokens / 6 * 4;
        usize::try_from(share.clamp(MIN_SUMMARY_PART_CHARS, MAX_SUMMARY_PART_CHARS)).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
#[path = "moderate_tests.rs"]
mod tests;
