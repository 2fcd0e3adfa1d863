//! Tells requests to change code from requests that change nothing or write a document.

use std::ops::Range;

use super::{lexicon, words::Word};

/// Words before a verb that make it a command.
const LEADS: &[&str] = &[
    "please",
    "pls",
    "plz",
    "and",
    "then",
    "you",
    "let's",
    "lets",
    "also",
    "just",
    "now",
    "must",
    "should",
    "needs",
    "need",
    "it",
    "finally",
    "afterwards",
    "directly",
    "them",
];

/// Verbs that are commands wherever they stand, but after a word that makes them a noun.
const STRONG: &[&str] = &["implement", "fix", "refactor", "patch", "rewrite"];
const BEFORE_NOUNS: &[&str] =
    &["the", "a", "an", "this", "that", "any", "each", "no", "of", "for", "bug", "hot", "its"];

/// Words before a verb that take it back.
const NEGATIONS: &[&str] = &[
    "don't", "dont", "not", "without", "never", "no", "before", "how", "to", "would", "could", "if",
    "whether",
];

/// The words before a verb and after it that are looked at.
const BEFORE: usize = 3;
const AFTER: usize = 7;

/// Classes of the things that a mode makes although it cannot edit every file. A command to change one of them is for the mode.
const PRODUCTS: &[(&str, &[&str])] = &[
    ("app_maker", &["app", "small"]),
    ("app_iterator", &["app", "small"]),
    ("recipe_maker", &["recipe", "session"]),
    ("planner", &["document"]),
    ("judge", &["judge"]),
    ("pm", &["document", "pm"]),
    ("architect", &["document", "arch"]),
    ("orchestrator", &["extension", "subagent", "history"]),
];

/// The mode that is only about code: whatever it is told to change is code.
const READER: &str = "security";

/// The probability of the modes that edit code from which a command to change something is about code.
const MAYBE_CODE: f32 = 0.1;

/// Returns true if the words ask for a change of code, for a mode that cannot edit every file. `of_editors` is the probability of the
/// modes that can. A mode that makes things of its own, and an agent of the user, may get a command to change something that is no code.
pub(crate) fn is_change_of_code(words: &[Word], classes: &[u64], mode: &str, of_editors: f32) -> bool {
    // goose's own apps have names; a request that names a file means the file, also if it is called `app.js`.
    let means_file = matches!(mode, "app_maker" | "app_iterator")
        && words.iter().any(|word| word.is_of_file)
        && !names_product(words, classes, mode, 0..words.len());
    means_file || (mode == READER || of_editors > MAYBE_CODE) && asks_for_change(words, classes, mode)
}

/// Returns true if the words ask for a change, seen from a mode that cannot edit every file: a verb of change as a command,
/// and nothing that the mode makes as its object.
fn asks_for_change(words: &[Word], classes: &[u64], mode: &str) -> bool {
    let change = lexicon::bit("change");
    // Names of small apps and of extensions stand anywhere in a request.
    let is_anywhere = matches!(mode, "app_maker" | "app_iterator" | "orchestrator");
    words.iter().enumerate().any(|(at, word)| {
        let is_change = classes.get(at).is_some_and(|classes| classes & change != 0);
        if !is_change || word.shown.ends_with("ing") || word.shown.ends_with("ed") {
            return false;
        }
        let before = words.get(at.saturating_sub(BEFORE)..at).unwrap_or_default();
        let last = before.last().map_or("", |word| word.shown.as_str());
        let is_strong = STRONG.contains(&word.shown.as_str()) && !BEFORE_NOUNS.contains(&last);
        let is_command = word.begins || is_strong || LEADS.contains(&last);
        let is_negated = before.iter().any(|word| NEGATIONS.contains(&word.shown.as_str()));
        let object = if is_anywhere { 0..words.len() } else { at + 1..words.len().min(at + 1 + AFTER) };
        is_command && !is_negated && !names_product(words, classes, mode, object)
    })
}

/// Returns true if one of these words names what the mode makes. Names of files do not.
fn names_product(words: &[Word], classes: &[u64], mode: &str, mut range: Range<usize>) -> bool {
    let products = PRODUCTS.iter().find(|(name, _)| *name == mode).map_or(&[][..], |(_, classes)| classes);
    let products = products.iter().fold(0, |bits, class| bits | lexicon::bit(class));
    range.any(|at| {
        let is_product = classes.get(at).is_some_and(|classes| classes & products != 0);
        is_product && words.get(at).is_some_and(|word| !word.is_of_file)
    })
}
