//! A linear classifier: the probability of each built-in mode for a request, and the words that spoke for it.
//!
//! The weights are a file that `cargo run --release -p goose --example train_router` makes out of `training.tsv` and `splitting.tsv`. They
//! are looked up where they lie, so that nothing is read or kept before the first request.

use std::ops::Range;

use super::{
    features::{Features, word_hash},
    table::{Column, STEP, Table, hash},
    words::Word,
};

/// The modes that the classifier knows, in the order of the weights.
pub(crate) const LABELS: [(&str, &str); 15] = [
    ("goose-agent", "assistant"),
    ("goose-agent", "app_maker"),
    ("goose-agent", "app_iterator"),
    ("goose-agent", "recipe_maker"),
    ("goose-agent", "planner"),
    ("goose-agent", "judge"),
    ("coding-agent", "pm"),
    ("coding-agent", "architect"),
    ("coding-agent", "backend"),
    ("coding-agent", "frontend"),
    ("coding-agent", "qa"),
    ("coding-agent", "security"),
    ("coding-agent", "sre"),
    ("coding-agent", "devsecops"),
    ("orchestrator", "orchestrator"),
];

/// The place of the default mode.
pub(crate) const DEFAULT: usize = 0;

/// The number of labels.
pub(crate) const COUNT: usize = LABELS.len();

/// The weights file, in the order of its tables.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Weights<'a> {
    /// Weights of a request's features for each label.
    pub(crate) modes: Table<'a, COUNT>,
    /// Log odds that a word begins a request rather than stands elsewhere.
    pub(crate) starts: Column<'a>,
    /// Weights of the features of a split.
    pub(crate) splits: Column<'a>,
    /// Weights of the features of an order.
    pub(crate) needs: Column<'a>,
}

impl<'a> Weights<'a> {
    pub(crate) fn new(file: &'a [u8]) -> Self {
        let (modes, rest) = Table::take(file);
        let (starts, rest) = Table::take(rest);
        let (splits, rest) = Table::take(rest);
        let (needs, _) = Table::take(rest);
        Self { modes, starts, splits, needs }
    }

    /// Returns true if a training example has the word.
    pub(crate) fn knows(&self, word: &Word) -> bool {
        self.modes.get(word_hash(&word.stem)).is_some()
    }
}

/// The hash of the weights that each request has.
pub(crate) fn bias_hash() -> u32 {
    hash(&["bias"])
}

/// The classifier's view of a request.
pub(crate) struct Classifier<'a> {
    words: &'a [Word],
    features: Features,
    modes: Table<'a, COUNT>,
    /// The weights of each feature that does not depend on the part.
    known: Vec<Option<&'a [u8]>>,
    bias: [f32; COUNT],
}

impl<'a> Classifier<'a> {
    pub(crate) fn new(modes: Table<'a, COUNT>, words: &'a [Word]) -> Self {
        let features = Features::new(words);
        let known = features.hashes().iter().map(|hash| modes.get(*hash)).collect();
        let mut bias = [0.0; COUNT];
        add(&mut bias, modes.get(bias_hash()), 1.0);
        Self { words, features, modes, known, bias }
    }

    /// The probability of each label for a part of the words.
    pub(crate) fn probabilities(&self, part: &Range<usize>) -> [f32; COUNT] {
        let mut logits = self.bias;
        self.add_features(part, |_, weights, value| add(&mut logits, weights, value));
        softmax(logits)
    }

    /// The words of a part that spoke most for a label, the strongest first.
    pub(crate) fn words_for(&self, label: usize, part: &Range<usize>, most: usize) -> Vec<&'a str> {
        let mut by_word = vec![[0.0; COUNT]; self.words.len()];
        self.add_features(part, |word, weights, value| {
            if let Some(sums) = by_word.get_mut(word) {
                add(sums, weights, value);
            }
        });
        let mut strong: Vec<(f32, &str)> = Vec::new();
        for (word, parts) in self.words.iter().zip(&by_word) {
            let mean = parts.iter().sum::<f32>() / COUNT as f32;
            let part = parts.get(label).copied().unwrap_or_default() - mean;
            match strong.iter_mut().find(|(_, shown)| *shown == word.shown) {
                Some((sum, _)) => *sum += part,
                None => strong.push((part, &word.shown)),
            }
        }
        strong.retain(|(part, shown)| *part > 0.0 && shown.len() > 1);
        strong.sort_by(|one, two| two.0.total_cmp(&one.0));
        strong.into_iter().take(most).map(|(_, shown)| shown).collect()
    }

    fn add_features(&self, part: &Range<usize>, mut add: impl FnMut(usize, Option<&'a [u8]>, f32)) {
        let (found, scale) = self.features.in_part(self.words, part);
        for feature in found {
            let weights = match feature.id {
                Some(id) => self.known.get(id).copied().flatten(),
                None => self.modes.get(feature.hash),
            };
            add(feature.word, weights, scale * feature.value);
        }
    }
}

fn add(sums: &mut [f32; COUNT], weights: Option<&[u8]>, scale: f32) {
    for (sum, weight) in sums.iter_mut().zip(weights.unwrap_or_default()) {
        *sum += f32::from(weight.cast_signed()) * STEP * scale;
    }
}

pub(crate) fn softmax(logits: [f32; COUNT]) -> [f32; COUNT] {
    let most = logits.iter().copied().fold(f32::MIN, f32::max);
    let powers = logits.map(|logit| (logit - most).exp());
    let sum: f32 = powers.iter().sum();
    powers.map(|power| power / sum)
}
