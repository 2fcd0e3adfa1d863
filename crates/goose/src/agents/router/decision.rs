//! The decision for one task among the modes that come with goose.

use super::{
    classifier::{COUNT, DEFAULT, LABELS, Scores, Weights},
    intent, language, lexicon,
    words::Word,
};

/// The confidence below which a request goes to the default agent.
pub const SURE: f32 = 0.2;

/// The most words that a reason names.
const MAX_REASON_WORDS: usize = 4;

/// The abilities of a mode, as far as they matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ability {
    /// It is not in the catalog.
    Absent,
    /// It cannot edit every file.
    ReadsOnly,
    /// It may edit any file.
    Edits,
}

/// A mode for a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Decision {
    /// The label, see [`LABELS`].
    pub(crate) label: usize,
    pub(crate) confidence: f32,
    /// The highest probability of a mode other than the default one.
    pub(crate) strongest: f32,
    /// The probability of each label.
    pub(crate) probabilities: [f32; COUNT],
    pub(crate) reason: String,
}

/// The mode for a text.
pub(crate) fn decide(
    weights: &Weights<'_>,
    abilities: &[Ability; COUNT],
    text: &str,
    words: &[Word],
) -> Decision {
    if words.is_empty() {
        return default(1.0, "there are no words to go by".to_owned());
    }
    if language::is_foreign(text, words, |word| weights.knows(word)) {
        return default(SURE, "the request does not seem to be in English".to_owned());
    }
    among(abilities, words, &weights.classify(words))
}

fn among(abilities: &[Ability; COUNT], words: &[Word], scores: &Scores) -> Decision {
    let probability = |at: usize| scores.probabilities[at];
    let classes: Vec<u64> = words.iter().map(|word| lexicon::classes(&word.stem)).collect();
    let of_editors: f32 = (1..COUNT).filter(|at| abilities[*at] == Ability::Edits).map(probability).sum();
    let open: [bool; COUNT] = std::array::from_fn(|at| match abilities[at] {
        Ability::Absent => false,
        Ability::ReadsOnly => !intent::is_change_of_code(words, &classes, LABELS[at].1, of_editors),
        Ability::Edits => true,
    });
    let is_open = |at: &usize| open[*at];
    let specialist =
        (1..COUNT).filter(is_open).max_by(|one, two| probability(*one).total_cmp(&probability(*two)));
    let (label, strongest) = specialist.map_or((DEFAULT, 0.0), |at| (at, probability(at)));
    // What points to modes that are absent or cannot do it points to the default agent.
    let closed: f32 = (1..COUNT).filter(|at| !is_open(at)).map(probability).sum();
    let of_default = probability(DEFAULT) + closed;
    let (agent, mode) = LABELS[label];
    let named = quoted(&scores.words_for(label, words, MAX_REASON_WORDS));
    if strongest > of_default && strongest >= SURE {
        let reason = format!("words that point to {agent}/{mode}: {named}");
        return Decision {
            label,
            confidence: strongest,
            strongest,
            probabilities: scores.probabilities,
            reason,
        };
    }
    let for_default = scores.words_for(DEFAULT, words, MAX_REASON_WORDS);
    let reason = if strongest > of_default {
        format!("words that point to {agent}/{mode}, but not clearly: {named}")
    } else if for_default.is_empty() {
        "nothing points to another agent".to_owned()
    } else {
        format!("words that point to the default agent: {}", quoted(&for_default))
    };
    Decision { strongest, probabilities: scores.probabilities, ..default(of_default, reason) }
}

fn default(confidence: f32, reason: String) -> Decision {
    Decision { label: DEFAULT, confidence, strongest: 0.0, probabilities: [0.0; COUNT], reason }
}

/// Words in quotes, for a reason.
pub(crate) fn quoted(words: &[impl AsRef<str>]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{}\"", word.as_ref())).collect();
    quoted.join(", ")
}
