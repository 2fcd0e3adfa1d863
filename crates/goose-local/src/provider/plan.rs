//! [`Plan`]: the goal of a request, and the files to be written for it. The model states it in a separate
//! prompt before its first step, after examples in several languages. So it decides what may be done
//! before it sees tools that could do it, and which files are needed before it has written the first.

use goose_engine::{Speaker, Turn};
use goose_extension::Opaque;
use goose_fs::truncate_middle;

const HOW: &str = "You sort requests by what the user wants. Reply with one word, and the files whose \
                   content has to be written for it: \"answer\" (to be told or shown something; all files \
                   stay as they are), \"change\" (other content in a file that is there), \"create\" (a new \
                   file) or \"run\" (a command: run a program, or move, rename, copy or delete files).";

/// Requests with their plans, one per line.
const EXAMPLES: &str = include_str!("plans.txt");

/// Maximum length of the request in the prompt, in characters.
const MAX_CHARS: usize = 1_000;

/// Maximum length of the reply, in tokens.
pub(super) const MAX_TOKENS: usize = 40;

/// Bonus on the logit of `answer`, because models lean towards doing something. In doubt, no file
/// changes.
pub(super) const FAVOUR: (&str, f32) = ("answer", 1.0);

/// Name of the plan's format in a call.
const WIRE: &str = "local";

/// Model's reply: a goal, followed by paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan(String);

/// Purpose of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    Answer,
    Change,
    Create,
    Run,
}

/// Goals with their names in the prompt.
const GOALS: [(Goal, &str); 4] =
    [(Goal::Answer, "answer"), (Goal::Change, "change"), (Goal::Create, "create"), (Goal::Run, "run")];

impl Plan {
    pub(super) fn new(reply: &str) -> Self {
        Self(reply.trim().to_owned())
    }

    /// Returns the named goal. Any other reply counts as `answer`, which allows no changes.
    pub(super) fn goal(&self) -> Goal {
        let named = GOALS.into_iter().find(|(_, name)| self.0.starts_with(name));
        named.map_or(Goal::Answer, |(goal, _)| goal)
    }

    /// Returns the files to be written, as the model named them.
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        self.0.lines().take(1).flat_map(|line| line.split([' ', ',']).skip(1)).filter(|name| !name.is_empty())
    }

    /// Returns the plan as part of a call. So the model is asked once per request, even if another
    /// process resumes it.
    pub(super) fn in_call(&self) -> Opaque {
        Opaque { wire: WIRE.to_owned(), data: self.0.as_str().into() }
    }

    /// Reads the plan of a call.
    pub(super) fn from_call(kept: Option<&Opaque>) -> Option<Self> {
        kept.filter(|kept| kept.wire == WIRE)?.data.as_str().map(Self::new)
    }
}

/// Returns the fixed turns before the request.
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
    Turn { speaker: Speaker::User, text: truncate_middle(task.trim(), MAX_CHARS) }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
