//! Compaction: shortens older messages when the context is full.
//!
//! ```text
//! units            splits the conversation into pieces that can be removed without breaking it
//! summary_message  replaces the removed pieces: the task, a summary, the last request, the plan
//! shrink           shortens results of tools, the older ones first
//! summarize        lets a model summarize the oldest pieces, or a text that is handed to another agent
//! ```
//!
//! The recent pieces stay unchanged, unless their results alone are too long.

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

/// Compacted conversation.
#[derive(Debug, Clone)]
pub struct Room {
    /// Messages that the model sees from now on.
    pub messages: Vec<Arc<Message>>,
    /// Problem to report to the user.
    pub notice: Option<String>,
}

/// Reason why the conversation could not be compacted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NoRoom {
    /// The profile has switched compaction off.
    #[error("the conversation is too long for the model, and the moderator `passive` shortens nothing")]
    Passive,
    /// The part that must stay is already too long.
    #[error("the last message alone is too long for the model: about {needed} tokens, at most {limit} fit")]
    TooLong {
        /// Tokens of the shortest conversation.
        needed: u64,
        /// Tokens that fit.
        limit: u64,
    },
}

/// Urgency of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pressure {
    /// The context will soon be full. Recent pieces stay as long as they fit.
    Ahead,
    /// The conversation is already too long, regardless of the stated limit. Recent results are cut as well,
    /// as far as the goal requires it.
    Now,
}

/// Parameters of a compaction.
#[derive(Clone, Copy)]
pub struct CompactionRequest<'a> {
    /// Method of compaction.
    pub moderator: Moderator,
    /// Urgency of the compaction.
    pub pressure: Pressure,
    /// Measures how full the context is.
    pub meter: &'a Meter,
    /// Limits of the context.
    pub budget: Budget,
    /// Model that summarizes.
    pub summarizer: Summarizer<'a>,
}

/// Model that summarizes, with its retries and accounting.
#[derive(Clone, Copy)]
pub struct Summarizer<'a> {
    /// Provider of the model.
    pub model: &'a dyn Provider,
    /// Retry policy.
    pub retry: &'a RetryPolicy,
    /// Receives the token usage of each request, including failed ones.
    pub book: &'a (dyn Fn(Usage) + Sync),
}

/// Compacts a conversation, which stays valid. If nothing can be removed, it is returned unchanged. The
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
    if !has_shrunk || goal.used(&units.messages()) > goal.tokens {
        match request.moderator {
            Moderator::Summarize => notice = summarize::oldest(&mut units, &goal, &request).await,
            Moderator::Truncate | Moderator::Passive => truncate(&mut units, &goal),
        }
    }
    let shorter = fitting(units.messages(), &goal, &request)?;
    // The summary of a few short pieces can be longer than the pieces.
    let is_shorter = goal.used(&shorter) < goal.used(messages);
    Ok(Room { messages: if is_shorter { shorter } else { messages.to_vec() }, notice })
}

/// Cuts the recent results as well if the conversation is still too long.
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

/// Target size of a conversation.
struct Goal<'a> {
    meter: &'a Meter,
    tokens: u64,
}

/// Maximum length of a part of the summary message, in characters, however large the goal is.
const MAX_SUMMARY_PART_CHARS: u64 = 8_000;
/// Minimum value of that length, however small the goal is.
const MIN_SUMMARY_PART_CHARS: u64 = 800;

impl Goal<'_> {
    /// Returns the tokens of these messages, with the system prompt and the tools.
    fn used(&self, messages: &[Arc<Message>]) -> u64 {
        self.meter.would_use(messages.iter().map(AsRef::as_ref))
    }

    /// Returns the tokens of a message alone, by the same measure.
    fn weight(&self, message: &Message) -> u64 {
        self.meter.weight(message)
    }

    /// Returns the maximum length of a part. Four parts of this length leave a third of the goal to the rest.
    fn max_part_chars(&self) -> usize {
        let share = self.tokens / 6 * 4;
        usize::try_from(share.clamp(MIN_SUMMARY_PART_CHARS, MAX_SUMMARY_PART_CHARS)).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
#[path = "moderate_tests.rs"]
mod tests;
