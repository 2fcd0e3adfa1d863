//! The decision for one task among the modes that come with goose.

use std::ops::Range;

use super::{
    abilities::Ability,
    classifier::{COUNT, Classifier, DEFAULT, LABELS},
    intent, lexicon,
    words::Word,
};

/// The most words that a reason names.
const MAX_REASON_WORDS: usize = 4;

/// The probability of each mode that can do a part of a request. Modes that are absent or cannot do it leave theirs to the default
/// agent.
pub(crate) fn probabilities(
    classifier: &Classifier<'_>,
    abilities: &[Ability; COUNT],
    words: &[Word],
    part: &Range<usize>,
) -> [f32; COUNT] {
    let mut found = classifier.probabilities(part);
    let words = words.get(part.clone()).unwrap_or_default();
    let classes: Vec<u64> = words.iter().map(|word| lexicon::classes(&word.stem)).collect();
    let of_editors: f32 = (1..COUNT).filter(|at| abilities[*at] == Ability::Edits).map(|at| found[at]).sum();
    for at in 1..COUNT {
        let is_open = match abilities[at] {
            Ability::Absent => false,
            Ability::ReadsOnly => !intent::is_change_of_code(words, &classes, LABELS[at].1, of_editors),
            Ability::Edits => true,
        };
        if !is_open {
            found[DEFAULT] += std::mem::take(&mut found[at]);
        }
    }
    found
}

/// The reason for a label, in words of the request.
pub(crate) fn reason(classifier: &Classifier<'_>, label: usize, part: &Range<usize>) -> String {
    let named = classifier.words_for(label, part, MAX_REASON_WORDS);
    match (label, named.is_empty()) {
        (DEFAULT, true) => "nothing points to another agent".to_owned(),
        (DEFAULT, false) => format!("words that point to the default agent: {}", quoted(&named)),
        _ => {
            let (agent, mode) = LABELS[label];
            format!("words that point to {agent}/{mode}: {}", quoted(&named))
        }
    }
}

/// Words in quotes, for a reason.
pub(crate) fn quoted(words: &[impl AsRef<str>]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{}\"", word.as_ref())).collect();
    quoted.join(", ")
}
