//! Trains the classifier: logistic regression over the features of the examples, by stochastic gradient descent with a
//! rate for each weight (AdaGrad).

use std::collections::HashMap;

use crate::{
    classifier::{COUNT, bias_hash, softmax},
    features::Feature,
    table::STEP,
};

/// Rounds over all examples.
const EPOCHS: usize = 30;

/// The rate at which weights change.
const RATE: f32 = 0.2;

/// The pull of each weight to zero.
const DECAY: f32 = 0.000_03;

/// The weight of rare labels against frequent ones: 0 as they are, 1 all the same.
const BALANCE: f32 = 0.5;

/// The features that are kept: those with the largest weights.
const MOST_FEATURES: usize = 20_000;

/// A request whose mode is known.
pub(crate) struct Example {
    label: usize,
    features: Vec<Feature>,
}

impl Example {
    pub(crate) fn new(label: usize, features: Vec<Feature>) -> Self {
        Self { label, features }
    }
}

/// The weights of one feature, and the sums of its squared gradients.
#[derive(Clone)]
struct Row {
    weights: [f32; COUNT],
    squares: [f32; COUNT],
}

/// Trains weights. Returns the weights file: the number of records, then the records in the order of their hashes.
pub(crate) fn train(examples: &[Example]) -> Vec<u8> {
    let mut places: HashMap<u32, usize> = HashMap::new();
    let mut hashes = Vec::new();
    let mut place = |hash: u32| {
        *places.entry(hash).or_insert_with(|| {
            hashes.push(hash);
            hashes.len() - 1
        })
    };
    let placed = |example: &Example| {
        example.features.iter().map(|feature| (place(feature.hash), feature.value)).collect()
    };
    let rows_of: Vec<Vec<(usize, f32)>> = examples.iter().map(placed).collect();
    let mut rows = vec![Row { weights: [0.0; COUNT], squares: [1e-6; COUNT] }; hashes.len()];
    let mut bias = [0.0; COUNT];
    let importance = importance(examples);
    let mut order: Vec<usize> = (0..examples.len()).collect();
    let mut random = Random::default();
    for _ in 0..EPOCHS {
        random.shuffle(&mut order);
        for &at in &order {
            let label = examples[at].label;
            step(&mut rows, &mut bias, &rows_of[at], label, importance[label]);
        }
    }
    file(&hashes, &rows, &bias)
}

fn importance(examples: &[Example]) -> [f32; COUNT] {
    let mut counts = [0.0_f32; COUNT];
    for example in examples {
        counts[example.label] += 1.0;
    }
    let mean = examples.len() as f32 / COUNT as f32;
    counts.map(|count| (mean / count.max(1.0)).powf(BALANCE))
}

fn step(rows: &mut [Row], bias: &mut [f32; COUNT], places: &[(usize, f32)], label: usize, importance: f32) {
    let mut logits = *bias;
    for (place, value) in places {
        for (logit, weight) in logits.iter_mut().zip(&rows[*place].weights) {
            *logit += weight * value;
        }
    }
    let mut errors = softmax(logits);
    errors[label] -= 1.0;
    let errors = errors.map(|error| importance * error);
    for (bias, error) in bias.iter_mut().zip(&errors) {
        *bias -= 0.02 * error;
    }
    for (place, value) in places {
        let Row { weights, squares } = &mut rows[*place];
        for at in 0..COUNT {
            let gradient = errors[at] * value + DECAY * weights[at];
            squares[at] += gradient * gradient;
            weights[at] -= RATE * gradient / squares[at].sqrt();
        }
    }
}

fn file(hashes: &[u32], rows: &[Row], bias: &[f32; COUNT]) -> Vec<u8> {
    let largest = |at: &usize| rows[*at].weights.iter().fold(0.0_f32, |most, weight| most.max(weight.abs()));
    let mut kept: Vec<usize> = (0..hashes.len()).collect();
    kept.sort_by(|one, two| largest(two).total_cmp(&largest(one)));
    kept.truncate(MOST_FEATURES);
    let mut records: Vec<(u32, &[f32; COUNT])> =
        kept.into_iter().map(|at| (hashes[at], &rows[at].weights)).collect();
    records.push((bias_hash(), bias));
    records.sort_by_key(|(hash, _)| *hash);
    let mut file = (records.len() as u32).to_le_bytes().to_vec();
    for (hash, weights) in records {
        file.extend(hash.to_le_bytes());
        file.extend(weights.iter().map(byte));
    }
    file
}

fn byte(weight: &f32) -> u8 {
    ((weight / STEP).round().clamp(-127.0, 127.0) as i8).cast_unsigned()
}

/// Random numbers that are the same in each run (xorshift).
struct Random(u64);

impl Default for Random {
    fn default() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }
}

impl Random {
    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }

    fn shuffle(&mut self, order: &mut [usize]) {
        for at in (1..order.len()).rev() {
            order.swap(at, self.below(at + 1));
        }
    }
}
