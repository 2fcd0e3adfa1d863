//! [`Goal`]: what a request asks for. The model says it in a prompt of its own, with requests in several languages as examples, before
//! its first step: so it decides what may be done before it sees tools that could do it.

use goose_engine::{Speaker, Turn};

use super::{history::shorten, tools::Does};

const HOW: &str = "You sort requests by what the user wants. Reply with one word: \"answer\" (to be told or shown something; all \
                   files stay as they are), \"change\" (other content in a file that is there), \"create\" (a new file) or \"run\" (a \
                   command: run a program, or move, rename, copy or delete files).";

/// Requests with their goals, one in each line.
const EXAMPLES: &str = include_str!("goals.txt");

/// The longest part of a request that is looked at, in characters.
const MAX_CHARS: usize = 1_000;

/// The most tokens of a reply.
pub(super) const MAX_TOKENS: usize = 4;

/// The bonus of an answer, added to its logit: in doubt all files stay as they are. Models lean towards doing something.
pub(super) const FAVOUR: (&str, f32) = ("answer", 1.5);

/// The purpose of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    Answer,
    Change,
    Create,
    Run,
}

impl Goal {
    const ALL: [(Self, &str); 4] =
        [(Self::Answer, "answer"), (Self::Change, "change"), (Self::Create, "create"), (Self::Run, "run")];

    /// The goal that a reply names. Any other reply is no leave to change something.
    pub(super) fn from_reply(reply: &str) -> Self {
        let named = Self::ALL.into_iter().find(|(_, name)| reply.trim_start().starts_with(name));
        named.map_or(Self::Answer, |(goal, _)| goal)
    }

    /// The id of a call that serves it. So the model is asked once for each request, also if another process goes on with it.
    pub(super) fn in_id(self, id: &str) -> String {
        let name = Self::ALL.iter().find(|(goal, _)| *goal == self).map_or("", |(_, name)| *name);
        format!("{id}-{name}")
    }

    /// The goal that a call serves.
    pub(super) fn from_id(id: &str) -> Option<Self> {
        let (_, last) = id.rsplit_once('-')?;
        Self::ALL.into_iter().find(|(_, name)| *name == last).map(|(goal, _)| goal)
    }

    /// True if a tool serves it: to look and to run something helps with all of them.
    pub(super) fn allows(self, does: Does) -> bool {
        self != Self::Answer || !matches!(does, Does::Edit | Does::Write)
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
#[path = "goals_tests.rs"]
mod tests;
