//! [`Claims`]: whether an answer may be believed. Small models say that they have done what they were asked when they have
//! not, that they have looked without saying what they saw, and numbers that are nowhere. The model has to go on then; where
//! it cannot, the truth is said in its place, or beside what it says.

use std::{collections::HashSet, sync::Arc};

use goose_extension::{Message, MessageContent};

use super::{
    blind::listed,
    known::SHELL,
    numbers::Numbers,
    plain::Plain,
    seen::Seen,
    steps::{Step, last_asked},
    wanted,
    wording::words,
};

/// How an answer points to a file.
const POINTING: [&str; 9] =
    ["specified", "defined", "set", "configured", "given", "described", "stored", "listed", "found"];

/// How much of an answer is held back until it is clear what it says, in characters.
const MAX_HELD_CHARS: usize = 400;

/// What an answer says that has made a change.
const CHANGED: [&str; 36] = [
    "added",
    "appended",
    "applied",
    "bumped",
    "built",
    "changed",
    "combined",
    "converted",
    "copied",
    "corrected",
    "created",
    "deleted",
    "done",
    "edited",
    "fixed",
    "generated",
    "inserted",
    "installed",
    "joined",
    "made",
    "merged",
    "modified",
    "moved",
    "put",
    "removed",
    "renamed",
    "replaced",
    "resolved",
    "saved",
    "set",
    "sorted",
    "stored",
    "updated",
    "uppercased",
    "written",
    "wrote",
];

/// What an answer says that has run something.
const RAN: [&str; 3] = ["ran", "run", "executed"];

/// Words between who did it and what was done.
const BETWEEN: [&str; 6] = ["have", "been", "now", "successfully", "also", "just"];

/// How requests begin that want to know something.
const ASKING: [&str; 33] = [
    "what", "which", "who", "whose", "where", "when", "why", "how", "is", "are", "was", "were", "does", "do",
    "did", "has", "have", "tell", "show", "list", "find", "search", "count", "look", "read", "explain",
    "describe", "say", "check", "name", "report", "print", "give",
];

/// How requests begin that are polite.
pub(super) const POLITE: [&str; 8] = ["please", "can", "could", "would", "will", "you", "kindly", "hey"];

/// What is wrong with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Doubt {
    /// It claims what was not done.
    Undone,
    /// It says that something was looked at, and not what was seen.
    Empty,
    /// It names a file where the answer is, instead of looking there.
    Elsewhere(String),
    /// It has not been thought about: what was found is to be looked at once more.
    Hasty,
    /// It has a number that is nowhere else.
    Unfounded(String),
    /// It is no answer, but a change of this file, which is better written anew.
    Quoting(String),
}

/// What can be known about an answer before it comes.
#[derive(Debug, Default)]
pub(super) struct Claims {
    wants_to_know: bool,
    has_changed: bool,
    has_run: bool,
    /// The words that only the results have.
    news: HashSet<String>,
    /// The files that are there and of which nothing was seen.
    unseen: HashSet<String>,
    numbers: Numbers,
    /// Whether something can be done about a number that is nowhere else.
    pub(super) can_go_on: bool,
    /// Whether a file was asked for that is not there.
    lacks_file: bool,
}

/// What is to be thought of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Judgement {
    /// More must come.
    Open,
    Believed,
    Doubted(Doubt),
}

impl Claims {
    /// What was asked and done since a person last spoke.
    pub(super) fn of(messages: &[Arc<Message>], seen: &Seen, system: &str, plain: Option<&Plain>) -> Self {
        let steps = Step::since_asked(messages);
        let task = last_asked(messages);
        let results: String = steps.iter().map(|step| step.text() + "\n").collect();
        Self {
            wants_to_know: wants_to_know(&task),
            has_changed: steps.iter().any(|step| step.may_change() && step.is_done()),
            has_run: steps.iter().any(|step| step.tool == SHELL),
            news: vocabulary(&results).difference(&vocabulary(&task)).cloned().collect(),
            can_go_on: !steps.is_empty(),
            lacks_file: wanted::is_missing(messages, &steps),
            numbers: numbers(messages, system, plain),
            unseen: listed(messages).filter(|file| !seen.has(file)).map(str::to_owned).collect(),
        }
    }

    /// What is to be thought of an answer, as far as it has come.
    pub(super) fn judge(&self, text: &str, is_whole: bool) -> Judgement {
        let text = text.trim_start();
        let is_long = is_whole || text.chars().count() > MAX_HELD_CHARS;
        let end = text.find('\n').or_else(|| text.find(". "));
        if !is_long && (end.is_none() || self.is_undone()) {
            return Judgement::Open;
        }
        let claims_too_much = || text.split(". ").any(|sentence| self.claims_too_much(sentence));
        if self.lacks_file && !self.wants_to_know || claims_too_much() {
            return Judgement::Doubted(Doubt::Undone);
        }
        // The last number may go on.
        let digits = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '.', ':', ','];
        let told = if is_whole { text } else { text.trim_end_matches(digits) };
        if let Some(number) = self.unfounded(told).filter(|_| self.can_go_on) {
            return Judgement::Doubted(Doubt::Unfounded(number));
        }
        let sentence = &text[..end.unwrap_or(text.len())];
        if let Some(file) = self.points_to(sentence) {
            return Judgement::Doubted(Doubt::Elsewhere(file));
        }
        let speaks_of_itself = text.starts_with("I ") && !self.has_changed && !self.news.is_empty();
        match speaks_of_itself && self.news.is_disjoint(&vocabulary(text)) {
            false => Judgement::Believed,
            true if is_long => Judgement::Doubted(Doubt::Empty),
            true => Judgement::Open,
        }
    }

    /// A number that is nowhere else.
    pub(super) fn unfounded(&self, text: &str) -> Option<String> {
        self.numbers.unfounded(text)
    }

    /// Whether something was to be done, and nothing was.
    fn is_undone(&self) -> bool {
        !self.wants_to_know && !self.has_changed
    }

    /// The file that an answer only points to: the port is the one *specified in settings.toml*.
    fn points_to(&self, sentence: &str) -> Option<String> {
        let words: Vec<&str> = sentence.split_whitespace().collect();
        let is_pointing = |pair: &[&str]| POINTING.contains(&pair[0]) && pair[1] == "in";
        let after = words.windows(2).position(is_pointing)? + 2;
        let file = words[after..].iter().find(|word| **word != "the" && **word != "file")?;
        let file = file.trim_matches(|sign: char| !sign.is_alphanumeric() && sign != '_' && sign != '/');
        self.unseen.contains(file).then(|| file.to_owned())
    }

    fn claims_too_much(&self, sentence: &str) -> bool {
        let words: Vec<String> = sentence.split_whitespace().map(bare).collect();
        let claims = |verbs: &[&str]| claims(&words, verbs);
        !self.wants_to_know && (!self.has_changed && claims(&CHANGED) || !self.has_run && claims(&RAN))
    }
}

/// Whether somebody says that they, or somebody, did one of these things.
fn claims(words: &[String], verbs: &[&str]) -> bool {
    let did = |words: &[String]| {
        let verb = words.iter().find(|word| !BETWEEN.contains(&word.as_str()));
        verb.is_some_and(|verb| verbs.contains(&verb.as_str()))
    };
    let did_also = || words.windows(2).any(|pair| pair[0] == "and" && did(&pair[1..]));
    let by_itself = match words.first().map(String::as_str) {
        Some("i" | "i've") => did(&words[1..]) || did_also(),
        _ => words.first().is_some_and(|first| verbs.contains(&first.as_str()) && first != "run"),
    };
    let has_been = |pair: &[String]| matches!(pair[0].as_str(), "has" | "have") && pair[1] == "been";
    by_itself || words.windows(2).position(has_been).is_some_and(|at| did(&words[at + 2..]))
}

/// The numbers that were said or shown, in calls and results, too.
fn numbers(messages: &[Arc<Message>], system: &str, plain: Option<&Plain>) -> Numbers {
    let mut numbers = Numbers::default();
    numbers.add(system);
    numbers.add(plain.map(Plain::results).unwrap_or_default());
    for part in messages.iter().flat_map(|message| &message.content) {
        match part {
            MessageContent::ToolCall { arguments, .. } => numbers.add(&arguments.to_string()),
            MessageContent::ToolResult { output, .. } => numbers.add(&output.as_text()),
            other => numbers.add(other.as_text().unwrap_or_default()),
        }
    }
    numbers
}

fn wants_to_know(task: &str) -> bool {
    let words: Vec<String> = task.split_whitespace().map(bare).collect();
    let meant = words.iter().position(|word| !POLITE.contains(&word.as_str())).unwrap_or_default();
    let is_asking = words.get(meant).is_some_and(|word| ASKING.contains(&word.as_str()));
    is_asking || meant == 0 && task.trim_end().ends_with('?')
}

fn bare(word: &str) -> String {
    word.trim_matches(|sign: char| !sign.is_alphanumeric()).to_lowercase()
}

fn vocabulary(text: &str) -> HashSet<String> {
    words(text).map(str::to_lowercase).collect()
}

#[cfg(test)]
#[path = "claims_tests.rs"]
mod tests;
