//! Logistic regression over the features of the examples, by stochastic gradient descent with a rate for each weight (AdaGrad).

use std::collections::HashMap;

use anyhow::{Context as _, ensure};

use crate::router::{
    classifier::{COUNT, LABELS, STEP, softmax},
    features::{features, scale},
    words::words,
};

/// A request whose mode is known.
pub(crate) struct Example {
    pub(crate) label: usize,
    /// The hash and the value of each feature.
    pub(crate) features: Vec<(u32, f32)>,
}

/// Parameters of the training.
pub(crate) struct Options {
    pub(crate) epochs: usize,
    pub(crate) rate: f32,
    /// The pull of each weight to zero.
    pub(crate) decay: f32,
    /// The probability that is taken from the right label and given to the others, which keeps the confidence honest.
    pub(crate) smoothing: f32,
    /// The weight of rare labels against frequent ones: 0 as they are, 1 all the same.
    pub(crate) balance: f32,
    /// The features that are kept: those with the largest weights.
    pub(crate) most_features: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { epochs: 30, rate: 0.5, decay: 0.000_03, smoothing: 0.0, balance: 0.5, most_features: 9_000 }
    }
}

/// Reads lines with a label, a tab and a text.
pub(crate) fn examples(text: &str) -> anyhow::Result<Vec<Example>> {
    text.lines().map(example).collect()
}

fn example(line: &str) -> anyhow::Result<Example> {
    let (name, text) = line.split_once('\t').with_context(|| format!("no tab in the line '{line}'"))?;
    let label = label(name).with_context(|| format!("there is no mode '{name}'"))?;
    ensure!(!text.trim().is_empty(), "no text in the line '{line}'");
    let features = features(&words(text));
    let scale = scale(&features);
    Ok(Example {
        label,
        features: features.iter().map(|feature| (feature.hash, feature.value * scale)).collect(),
    })
}

/// The place of a label.
pub(crate) fn label(name: &str) -> Option<usize> {
    LABELS.iter().position(|(agent, mode)| name.split_once('/') == Some((agent, mode)))
}

/// The weights of one feature, and the sums of its squared gradients.
#[derive(Clone)]
struct Row {
    weights: [f32; COUNT],
    squares: [f32; COUNT],
}

/// Trains weights, in the form of the classifier's file.
pub(crate) fn train(examples: &[Example], options: &Options) -> Vec<u8> {
    let mut places: HashMap<u32, usize> = HashMap::new();
    let mut hashes = Vec::new();
    let mut place = |hash: u32| {
        *places.entry(hash).or_insert_with(|| {
            hashes.push(hash);
            hashes.len() - 1
        })
    };
    let placed =
        |example: &Example| example.features.iter().map(|(hash, value)| (place(*hash), *value)).collect();
    let rows_of: Vec<Vec<(usize, f32)>> = examples.iter().map(placed).collect();
    let mut rows = vec![Row { weights: [0.0; COUNT], squares: [1e-6; COUNT] }; hashes.len()];
    let mut bias = [0.0; COUNT];
    let importance = importance(examples, options.balance);
    let mut order: Vec<usize> = (0..examples.len()).collect();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..options.epochs {
        random.shuffle(&mut order);
        for &at in &order {
            let label = examples[at].label;
            step(&mut rows, &mut bias, &rows_of[at], label, importance[label], options);
        }
    }
    file(&hashes, &rows, &bias, options.most_features)
}

fn importance(examples: &[Example], balance: f32) -> [f32; COUNT] {
    let mut counts = [0.0_f32; COUNT];
    for example in examples {
        counts[example.label] += 1.0;
    }
    let mean = examples.len() as f32 / COUNT as f32;
    counts.map(|count| (mean / count.max(1.0)).powf(balance))
}

fn step(
    rows: &mut [Row],
    bias: &mut [f32; COUNT],
    places: &[(usize, f32)],
    label: usize,
    importance: f32,
    options: &Options,
) {
    let mut logits = *bias;
    for (place, value) in places {
        for (logit, weight) in logits.iter_mut().zip(&rows[*place].weights) {
            *logit += weight * value;
        }
    }
    let mut errors = softmax(logits);
    for (at, error) in errors.iter_mut().enumerate() {
        let target =
            if at == label { 1.0 - options.smoothing } else { options.smoothing / (COUNT as f32 - 1.0) };
        *error = importance * (*error - target);
    }
    for (bias, error) in bias.iter_mut().zip(&errors) {
        *bias -= 0.02 * error;
    }
    for (place, value) in places {
        let Row { weights, squares } = &mut rows[*place];
        for at in 0..COUNT {
            let gradient = errors[at] * value + options.decay * weights[at];
            squares[at] += gradient * gradient;
            weights[at] -= options.rate * gradient / squares[at].sqrt();
        }
    }
}

/// The classifier's file: the bias, then each feature with its weights, in the order of the hashes.
fn file(hashes: &[u32], rows: &[Row], bias: &[f32; COUNT], most: usize) -> Vec<u8> {
    let largest = |at: &usize| rows[*at].weights.iter().fold(0.0_f32, |most, weight| most.max(weight.abs()));
    let mut kept: Vec<usize> = (0..hashes.len()).collect();
    kept.sort_by(|one, two| largest(two).total_cmp(&largest(one)));
    kept.truncate(most);
    kept.sort_by_key(|at| hashes[*at]);
    let byte = |weight: &f32| ((weight / STEP).round().clamp(-127.0, 127.0) as i8).cast_unsigned();
    let mut file: Vec<u8> = bias.iter().map(byte).collect();
    for at in kept {
        file.extend(hashes[at].to_le_bytes());
        file.extend(rows[at].weights.iter().map(byte));
    }
    file
}

/// Random numbers that are the same in each run (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn shuffle(&mut self, order: &mut [usize]) {
        for at in (1..order.len()).rev() {
            order.swap(at, (self.next() % (at as u64 + 1)) as usize);
        }
    }
}
