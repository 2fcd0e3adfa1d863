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
    let change = Change::new(words, &found, abilities);
    for at in 1..COUNT {
        let is_open = match abilities[at] {
            Ability::Absent => false,
            Ability::ReadsOnly => !change.is_of_code(LABELS[at].1),
            Ability::Edits => true,
        };
        if !is_open {
            found[DEFAULT] += std::mem::take(&mut found[at]);
        }
    }
    found
}

/// The change that a part of a request asks for, as far as it is known.
pub(crate) struct Change<'a> {
    words: &'a [Word],
    classes: Vec<u64>,
    /// The probability of the modes that may edit any file.
    of_editors: f32,
}

impl<'a> Change<'a> {
    pub(crate) fn new(words: &'a [Word], found: &[f32; COUNT], abilities: &[Ability; COUNT]) -> Self {
        let classes = words.iter().map(|word| lexicon::classes(&word.stem)).collect();
        let editors = (1..COUNT).filter(|at| abilities[*at] == Ability::Edits);
        Self { words, classes, of_editors: editors.map(|at| found[at]).sum() }
    }

    /// Returns true if it is one of code, for a mode that cannot edit every file.
    pub(crate) fn is_of_code(&self, mode: &str) -> bool {
        intent::is_change_of_code(self.words, &self.classes, mode, self.of_editors)
    }
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
