//! Making room: what becomes of older messages when the context is full.
//!
//! ```text
//! units     the conversation in pieces that can be taken out without breaking it
//! opening   what is known of the pieces that are gone: the task, a summary, the last request, the plan
//! shrink    older results of tools become a line; the recent ones stay
//! truncate  the oldest pieces go, the task and the plan stay
//! summarize a model writes down what the oldest pieces were about
//! ```
//!
//! The recent pieces stay as they are, word for word, whatever happens to the older ones.

mod opening;
mod plan;
mod shrink;
mod summarize;
mod truncate;
mod units;

use std::{fmt, str::FromStr, sync::Arc};

use goose_extension::Message;
use goose_providers::{Provider, RetryPolicy, Usage};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Budget, Meter};
use units::Units;

/// How a profile wants room to be made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moderator {
    /// Not at all: a full context is an error.
    Passive,
    /// The oldest messages are left out.
    Truncate,
    /// The oldest messages are summarized by a model.
    #[default]
    Summarize,
}

impl Moderator {
    /// All of them, as people write them.
    pub const NAMES: [&'static str; 3] = ["passive", "truncate", "summarize"];
}

impl fmt::Display for Moderator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Passive => "passive",
            Self::Truncate => "truncate",
            Self::Summarize => "summarize",
        })
    }
}

impl FromStr for Moderator {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "passive" => Ok(Self::Passive),
            "truncate" => Ok(Self::Truncate),
            "summarize" => Ok(Self::Summarize),
            other => Err(format!("there is no moderator `{other}`: use {}", Self::NAMES.join(", "))),
        }
    }
}

/// A conversation that fits.
#[derive(Debug, Clone)]
pub struct Room {
    /// What the model sees from now on.
    pub messages: Vec<Arc<Message>>,
    /// What did not go as it should have, for the person.
    pub notice: Option<String>,
}

/// Why no room could be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NoRoom {
    /// The profile does not want it.
    #[error("the conversation is too long for the model, and the moderator `passive` shortens nothing")]
    Passive,
    /// What must stay is too long already.
    #[error("the last message alone is too long for the model: about {needed} tokens, at most {limit} fit")]
    TooLong {
        /// What the shortest conversation would have.
        needed: u64,
        /// What fits.
        limit: u64,
    },
}

/// Why room is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pressure {
    /// The context will soon be full: the recent pieces stay as long as they fit.
    Ahead,
    /// The conversation is too long as it is, whatever the limit is said to be: also the recent results are cut, as far
    /// as the goal needs it.
    Now,
}

/// What making room needs to know.
#[derive(Clone, Copy)]
pub struct Making<'a> {
    /// How to go about it.
    pub moderator: Moderator,
    /// Why.
    pub pressure: Pressure,
    /// How full the context is.
    pub meter: &'a Meter,
    /// How full it may be.
    pub budget: Budget,
    /// Who summarizes.
    pub summarizer: &'a dyn Provider,
    /// How often the summarizer is asked.
    pub retry: &'a RetryPolicy,
    /// Is told what asking a model cost, whatever came of it.
    pub book: &'a (dyn Fn(Usage) + Sync),
}

/// Makes room: the conversation becomes shorter, and stays valid. Where there is nothing to take out, it is given back as
/// it was. Dropping the future leaves everything as it was.
///
/// # Errors
///
/// Where that cannot be done.
pub async fn make_room(messages: &[Arc<Message>], making: Making<'_>) -> Result<Room, NoRoom> {
    if making.moderator == Moderator::Passive {
        return Err(NoRoom::Passive);
    }
    let mut units = Units::of(messages);
    let goal = Goal { meter: making.meter, tokens: making.budget.goal() };
    let has_shrunk = shrink::older_results(&mut units, &goal);
    let mut notice = None;
    if !has_shrunk || !goal.is_met(&units.messages()) {
        match making.moderator {
            Moderator::Summarize => notice = summarize::oldest(&mut units, &goal, &making).await,
            Moderator::Truncate | Moderator::Passive => truncate::oldest(&mut units, &goal),
        }
    }
    let shorter = fitting(units.messages(), &goal, &making)?;
    // What is known of a few short pieces can be longer than they were.
    let is_shorter = goal.used(&shorter) < goal.used(messages);
    Ok(Room { messages: if is_shorter { shorter } else { messages.to_vec() }, notice })
}

/// What must fit, fits: where the recent results are too long themselves, they are cut too. Or it is said.
fn fitting(
    messages: Vec<Arc<Message>>,
    goal: &Goal<'_>,
    making: &Making<'_>,
) -> Result<Vec<Arc<Message>>, NoRoom> {
    let limit = match making.pressure {
        Pressure::Ahead => making.budget.limit.saturating_sub(making.budget.reserve),
        Pressure::Now => goal.tokens,
    };
    if goal.used(&messages) <= limit {
        return Ok(messages);
    }
    let messages = shrink::all_results(&messages);
    match goal.used(&messages) {
        needed if needed > limit && making.pressure == Pressure::Ahead => {
            Err(NoRoom::TooLong { needed, limit })
        }
        _ => Ok(messages),
    }
}

/// How short a conversation should become.
struct Goal<'a> {
    meter: &'a Meter,
    tokens: u64,
}

/// How long a part of an opening may be, in characters: no more than this,
const MAX_OPENING_CHARS: u64 = 8_000;
/// and no more than a share of the goal, but never less than this.
const MIN_OPENING_CHARS: u64 = 800;

impl Goal<'_> {
    fn is_met(&self, messages: &[Arc<Message>]) -> bool {
        self.used(messages) <= self.tokens
    }

    /// How many tokens these messages have, with everything around them.
    fn used(&self, messages: &[Arc<Message>]) -> u64 {
        self.meter.would_use(messages.iter().map(AsRef::as_ref))
    }

    /// How many tokens a message has by itself, by the same measure.
    fn weight(&self, message: &Message) -> u64 {
        self.meter.weight(message)
    }

    /// How many characters a part of an opening may have: all four together leave a third of the goal to the rest.
    fn max_part_chars(&self) -> usize {
        let share = self.tokens / 6 * 4;
        usize::try_from(share.clamp(MIN_OPENING_CHARS, MAX_OPENING_CHARS)).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
#[path = "moderate_tests.rs"]
mod tests;
