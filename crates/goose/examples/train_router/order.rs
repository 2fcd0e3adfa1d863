//! Trains which task needs which: logistic regression over pairs of tasks.

use crate::{
    column::{Learned, Pace},
    examples::{Random, Tasks},
    router::{
        lattice::Values,
        needs::{features, reverse_features},
    },
};

const EPOCHS: usize = 8;
const PACE: Pace = Pace { rate: 0.05, decay: 0.003 };

/// The features that are kept: those with the largest weights.
const MOST_FEATURES: usize = 25_000;

/// Trains weights. Returns the records of their table.
pub(crate) fn train(examples: &[&Tasks]) -> Vec<(u32, Vec<u8>)> {
    let pairs: Vec<(Values, bool)> = examples.iter().flat_map(|tasks| pairs(tasks)).collect();
    let mut learned = Learned::default();
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    let mut random = Random::default();
    for _ in 0..EPOCHS {
        random.shuffle(&mut order);
        for &at in &order {
            let (features, is_needed) = &pairs[at];
            let expected = 1.0 / (1.0 + (-learned.sum(features)).exp());
            let error = f32::from(u8::from(*is_needed)) - expected;
            for (hash, value) in features {
                learned.change(*hash, error * value, PACE);
            }
        }
    }
    learned.records(MOST_FEATURES)
}

/// The pairs of tasks of a request, each with whether one needs the other.
fn pairs(tasks: &Tasks) -> Vec<(Values, bool)> {
    let parts = tasks.parts();
    let mut pairs = Vec::new();
    for task in 1..parts.len() {
        for other in 0..task {
            let found = features(&tasks.request, &parts, other, task, &tasks.needs);
            pairs.push((found, tasks.needs[task].contains(&other)));
        }
        let found = reverse_features(&tasks.request, &parts, task);
        pairs.push((found, tasks.needs[task - 1].contains(&task)));
    }
    pairs
}
