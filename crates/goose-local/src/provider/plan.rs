//! [`Plan`]: what a request asks for, and the files to be written for it. The model says it in a prompt of its own, with requests in
//! several languages as examples, before its first step: so it decides what may be done before it sees tools that could do it, and
//! what belongs to it before it has done the first half.

use goose_engine::{Speaker, Turn};
use goose_extension::Opaque;

use super::history::shorten;

const HOW: &str = "You sort requests by what the user wants. Reply with one word, and the files whose content has to be \
                   written for it: \"answer\" (to be told or shown something; all files stay as they are), \"change\" (other \
                   content in a file that is there), \"create\" (a new file) or \"run\" (a command: run a program, or move, \
                   rename, copy or delete files).";

/// Requests with their plans, one in each line.
const EXAMPLES: &str = include_str!("plans.txt");

/// The longest part of a request that is looked at, in characters.
const MAX_CHARS: usize = 1_000;

/// The most tokens of a reply.
pub(super) const MAX_TOKENS: usize = 40;

/// The bonus of an answer, added to its logit: in doubt all files stay as they are. Models lean towards doing something.
pub(super) const FAVOUR: (&str, f32) = ("answer", 1.0);

/// The wire of the plan in a call.
const WIRE: &str = "local";

/// The reply of the model: a goal, and paths after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan(String);

/// The purpose of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    Answer,
    Change,
    Create,
    Run,
}

/// The goals, as the model calls them.
const GOALS: [(Goal, &str); 4] =
    [(Goal::Answer, "answer"), (Goal::Change, "change"), (Goal::Create, "create"), (Goal::Run, "run")];

impl Plan {
    pub(super) fn new(reply: &str) -> Self {
        Self(reply.trim().to_owned())
    }

    /// The goal that it names. Any other reply is no leave to change something.
    pub(super) fn goal(&self) -> Goal {
        let named = GOALS.into_iter().find(|(_, name)| self.0.starts_with(name));
        named.map_or(Goal::Answer, |(goal, _)| goal)
    }

    /// The files to be written, as they are called there.
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        self.0.lines().take(1).flat_map(|line| line.split([' ', ',']).skip(1)).filter(|name| !name.is_empty())
    }

    /// Returns it as a call carries it: so the model is asked once for each request, also if another process goes on with it.
    pub(super) fn in_call(&self) -> Opaque {
        Opaque { wire: WIRE.to_owned(), data: self.0.as_str().into() }
    }

    /// Reads it from a call.
    pub(super) fn from_call(kept: Option<&Opaque>) -> Option<Self> {
        kept.filter(|kept| kept.wire == WIRE)?.data.as_str().map(Self::new)
    }
}

/// The turns before the request, which are always the same.
pub(super) fn opening() -> Vec<Turn> {
    let examples = EXAMPLES.lines().filter_map(|line| line.split_once('\t'));
    let system = Turn { speaker: Speaker::System, text: HOW.to_owned() };
    std::iter::once(system)
        .chain(examples.flat_map(|(goal, request)| {
            [(Speaker::User, request), (Speaker::Model, goal)]
                .map(|(speaker, text)| Turn { speaker, text: text.to_owned() })
        }))
        .collect()
}

pub(super) fn question(task: &str) -> Turn {
    Turn { speaker: Speaker::User, text: shorten(task.trim(), MAX_CHARS) }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
