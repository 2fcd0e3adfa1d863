//! Making room: what becomes of older messages when the context is full.
//!
//! ```text
//! units     the conversation in pieces that can be taken out without breaking it
//! shrink    older results of tools become a line; the recent ones stay
//! truncate  the oldest pieces go, the task and the plan stay
//! summarize a model writes down what the oldest pieces were about
//! ```
//!
//! The recent pieces stay as they are, word for word, whatever happens to the older ones.

mod plan;
mod shrink;
mod summarize;
mod truncate;
mod units;

use std::{fmt, str::FromStr, sync::Arc};

use goose_extension::Message;
use goose_providers::{Provider, Usage};
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
    /// What making room cost, where a model was asked.
    pub usage: Option<Usage>,
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

/// What making room needs to know.
#[derive(Clone, Copy)]
pub struct Making<'a> {
    /// How to go about it.
    pub moderator: Moderator,
    /// How full the context is.
    pub meter: &'a Meter,
    /// How full it may be.
    pub budget: Budget,
    /// Who summarizes.
    pub summarizer: &'a dyn Provider,
}

/// Makes room: the conversation becomes shorter, and stays valid. Dropping the future leaves everything as it was.
///
/// # Errors
///
/// Where that cannot be done.
pub async fn make_room(messages: &[Arc<Message>], making: Making<'_>) -> Result<Room, NoRoom> {
    if making.moderator == Moderator::Passive {
        return Err(NoRoom::Passive);
    }
    let units = Units::of(messages);
    let goal = Goal { meter: making.meter, tokens: making.budget.goal() };
    let shrunk = shrink::older_results(&units, &goal);
    if goal.is_met(&shrunk) && shrunk != messages {
        return Ok(Room { messages: shrunk, usage: None, notice: None });
    }
    let shrunk = Units::of(&shrunk);
    let room = match making.moderator {
        Moderator::Summarize => summarize::oldest(&shrunk, &goal, making.summarizer).await,
        Moderator::Truncate | Moderator::Passive => truncate::oldest(&shrunk, &goal),
    };
    check(room, &making)
}

/// What must fit, fits: where the recent results are too long themselves, they are cut too. Or it is said.
fn check(room: Room, making: &Making<'_>) -> Result<Room, NoRoom> {
    let limit = making.budget.limit.saturating_sub(making.budget.reserve);
    let used = |messages: &[Arc<Message>]| making.meter.would_use(messages.iter().map(AsRef::as_ref));
    if used(&room.messages) <= limit {
        return Ok(room);
    }
    let messages = shrink::all_results(&room.messages);
    match used(&messages) {
        needed if needed > limit => Err(NoRoom::TooLong { needed, limit }),
        _ => Ok(Room { messages, ..room }),
    }
}

/// How short a conversation should become.
struct Goal<'a> {
    meter: &'a Meter,
    tokens: u64,
}

impl Goal<'_> {
    fn is_met(&self, messages: &[Arc<Message>]) -> bool {
        self.used(messages) <= self.tokens
    }

    fn used(&self, messages: &[Arc<Message>]) -> u64 {
        self.meter.would_use(messages.iter().map(AsRef::as_ref))
    }
}

#[cfg(test)]
#[path = "moderate_tests.rs"]
mod tests;
