//! Trains the classifier: logistic regression over the features of the examples, by stochastic gradient descent with a rate for each
//! weight (AdaGrad).

use std::collections::HashMap;

use crate::{
    examples::Random,
    router::{
        classifier::{COUNT, bias_hash, softmax},
        features::Features,
        pieces::Request,
        table::STEP,
    },
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

/// A part of a request whose mode is known.
pub(crate) struct Labelled {
    label: usize,
    /// The hash and the value of each feature.
    features: Vec<(u32, f32)>,
}

impl Labelled {
    /// The pieces from `start` up to `end`.
    pub(crate) fn new(request: &Request, start: usize, end: usize, label: usize) -> Self {
        let part = request.words_of(start, end);
        let (found, scale) = Features::new(&request.words).in_part(&request.words, &part);
        let features = found.iter().map(|feature| (feature.hash, feature.value * scale)).collect();
        Self { label, features }
    }
}

/// The weights of one feature, and the sums of its squared gradients.
#[derive(Clone)]
struct Row {
    weights: [f32; COUNT],
    squares: [f32; COUNT],
}

/// Trains weights. Returns the records of their table.
pub(crate) fn train(examples: &[&Labelled]) -> Vec<(u32, Vec<u8>)> {
    let mut places: HashMap<u32, usize> = HashMap::new();
    let mut hashes = Vec::new();
    let mut place = |hash: u32| {
        *places.entry(hash).or_insert_with(|| {
            hashes.push(hash);
            hashes.len() - 1
        })
    };
    let placed =
        |example: &&Labelled| example.features.iter().map(|(hash, value)| (place(*hash), *value)).collect();
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
    records(&hashes, &rows, &bias)
}

fn importance(examples: &[&Labelled]) -> [f32; COUNT] {
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

fn records(hashes: &[u32], rows: &[Row], bias: &[f32; COUNT]) -> Vec<(u32, Vec<u8>)> {
    let largest = |at: &usize| rows[*at].weights.iter().fold(0.0_f32, |most, weight| most.max(weight.abs()));
    let mut kept: Vec<usize> = (0..hashes.len()).collect();
    kept.sort_by(|one, two| largest(two).total_cmp(&largest(one)));
    kept.truncate(MOST_FEATURES);
    let bytes = |weights: &[f32; COUNT]| weights.iter().map(byte).collect();
    let mut records: Vec<(u32, Vec<u8>)> =
        kept.into_iter().map(|at| (hashes[at], bytes(&rows[at].weights))).collect();
    records.push((bias_hash(), bytes(bias)));
    records
}

fn byte(weight: &f32) -> u8 {
    ((weight / STEP).round().clamp(-127.0, 127.0) as i8).cast_unsigned()
}
