//! A linear classifier: the probability of each built-in mode for a request, and the words that spoke for it.
//!
//! The weights are a file that `cargo run -p goose --example train_router` makes out of `training.tsv`. They are looked up where
//! they lie, so that nothing is read or kept before the first request.

use super::{
    features::{features, scale},
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

/// Returns true for the labels of small apps.
pub(crate) fn is_app(label: usize) -> bool {
    LABELS.get(label).is_some_and(|(_, mode)| mode.starts_with("app_"))
}

/// Returns true for the labels of code, in front or behind.
pub(crate) fn is_code(label: usize) -> bool {
    LABELS.get(label).is_some_and(|(_, mode)| matches!(*mode, "frontend" | "backend"))
}

/// The place of the default mode.
pub(crate) const DEFAULT: usize = 0;

/// The number of labels.
pub(crate) const COUNT: usize = LABELS.len();

/// The step between two values of a weight.
pub(crate) const STEP: f32 = 1.0 / 16.0;

/// The size of a feature in the file: its hash and a weight for each label.
const RECORD: usize = 4 + COUNT;

/// Weights of features: a bias for each label, then records in the order of their hashes.
pub(crate) struct Weights<'a> {
    pub(crate) bias: &'a [u8],
    pub(crate) records: &'a [u8],
}

impl<'a> Weights<'a> {
    pub(crate) fn new(file: &'a [u8]) -> Self {
        let (bias, records) = file.split_at_checked(COUNT).unwrap_or_default();
        Self { bias, records }
    }

    fn weights_for(&self, hash: u32) -> Option<&'a [u8]> {
        let (mut low, mut high) = (0, self.records.len() / RECORD);
        while low < high {
            let middle = low.midpoint(high);
            let record = self.records.get(middle * RECORD..(middle + 1) * RECORD)?;
            let (key, weights) = record.split_first_chunk::<4>()?;
            match u32::from_le_bytes(*key).cmp(&hash) {
                std::cmp::Ordering::Equal => return Some(weights),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Returns true if a training example has the word.
    pub(crate) fn knows(&self, word: &Word) -> bool {
        self.weights_for(super::features::word_hash(&word.stem)).is_some()
    }

    /// The probability of each label.
    pub(crate) fn classify(&self, words: &[Word]) -> Scores {
        let features = features(words);
        let mut logits = [0.0; COUNT];
        let mut by_word = vec![[0.0; COUNT]; words.len()];
        let scale = scale(&features);
        add(&mut logits, self.bias, 1.0);
        for feature in &features {
            let Some(weights) = self.weights_for(feature.hash) else { continue };
            add(&mut logits, weights, scale * feature.value);
            if let Some(word) = feature.word.and_then(|word| by_word.get_mut(word)) {
                add(word, weights, scale * feature.value);
            }
        }
        Scores { probabilities: softmax(logits), by_word }
    }
}

/// The classifier's view of a request.
pub(crate) struct Scores {
    pub(crate) probabilities: [f32; COUNT],
    /// The part that each word has in the score of each label.
    by_word: Vec<[f32; COUNT]>,
}

impl Scores {
    /// The words that spoke most for a label, the strongest first.
    pub(crate) fn words_for<'w>(&self, label: usize, words: &'w [Word], most: usize) -> Vec<&'w str> {
        let mut strong: Vec<(f32, &str)> = Vec::new();
        for (word, parts) in words.iter().zip(&self.by_word) {
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

fn add(sums: &mut [f32; COUNT], weights: &[u8], scale: f32) {
    for (sum, weight) in sums.iter_mut().zip(weights) {
        *sum += f32::from(weight.cast_signed()) * STEP * scale;
    }
}

pub(crate) fn softmax(logits: [f32; COUNT]) -> [f32; COUNT] {
    let most = logits.iter().copied().fold(f32::MIN, f32::max);
    let powers = logits.map(|logit| (logit - most).exp());
    let sum: f32 = powers.iter().sum();
    powers.map(|power| power / sum)
}
