//! A linear classifier: the probability of each built-in mode for a request, and the words that spoke for it.
//!
//! The weights are a file that `cargo run --release -p goose-router --example train_router` makes out of
//! `training.tsv`. They are looked up where they lie, so that nothing is read or kept before the first request.

use crate::{
    features::{Feature, features, word_hash},
    table::{STEP, Table, hash},
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

/// The number of labels.
pub(crate) const COUNT: usize = LABELS.len();

/// The weights of a request's features for each label.
pub(crate) type Weights<'a> = Table<'a, COUNT>;

/// Returns true if a training example has the word.
pub(crate) fn knows(weights: Weights<'_>, word: &Word) -> bool {
    weights.get(word_hash(&word.stem)).is_some()
}

/// The hash of the weights that each request has.
pub(crate) fn bias_hash() -> u32 {
    hash(&["bias"])
}

/// The classifier's view of a request.
pub(crate) struct Classifier<'a> {
    words: &'a [Word],
    features: Vec<Feature>,
    weights: Weights<'a>,
}

impl<'a> Classifier<'a> {
    pub(crate) fn new(weights: Weights<'a>, words: &'a [Word]) -> Self {
        Self { words, features: features(words), weights }
    }

    /// The probability of each label.
    pub(crate) fn probabilities(&self) -> [f32; COUNT] {
        let mut logits = [0.0; COUNT];
        add(&mut logits, self.weights.get(bias_hash()), 1.0);
        for feature in &self.features {
            add(&mut logits, self.weights.get(feature.hash), feature.value);
        }
        softmax(logits)
    }

    /// The words that spoke most for a label, the strongest first.
    pub(crate) fn words_for(&self, label: usize, most: usize) -> Vec<&'a str> {
        let mut by_word = vec![[0.0; COUNT]; self.words.len()];
        for feature in &self.features {
            if let Some(sums) = by_word.get_mut(feature.word) {
                add(sums, self.weights.get(feature.hash), feature.value);
            }
        }
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
