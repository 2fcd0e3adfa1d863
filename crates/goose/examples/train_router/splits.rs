//! Trains the splitter: a conditional random field over all splits of each request (a semi-Markov chain of segments with modes). The
//! gradient of a weight is how often its feature is in the right split, less how often the model expects it.

use std::collections::HashMap;

use crate::{
    column::{Learned, Pace},
    examples::Random,
    router::lattice::{Lattice, MODES, log_feature, pair_features},
};

const EPOCHS: usize = 12;
const PACE: Pace = Pace { rate: 0.03, decay: 0.002 };

/// Expectations below this are not worth the time.
const LEAST: f32 = 1e-5;

/// The features that are kept: those with the largest weights.
const MOST_FEATURES: usize = 25_000;

/// A request whose right split is known.
pub(crate) struct Split {
    pub(crate) lattice: Lattice,
    /// The places of the pieces before which it is cut.
    pub(crate) cuts: Vec<usize>,
    /// The modes of the tasks; none where they are unknown, because there is one.
    pub(crate) labels: Vec<usize>,
    /// Its weight in the training.
    pub(crate) weight: f32,
}

/// Trains weights. Returns the records of their table.
pub(crate) fn train(splits: &[Split]) -> Vec<(u32, Vec<u8>)> {
    let mut learned = Learned::default();
    learned.set(log_feature(), 1.0);
    let mut order: Vec<usize> = (0..splits.len()).collect();
    let mut random = Random::default();
    for _ in 0..EPOCHS {
        random.shuffle(&mut order);
        for &at in &order {
            let gradient = Chart::new(&splits[at], &learned).gradient();
            for (hash, value) in gradient {
                learned.change(hash, value, PACE);
            }
        }
    }
    learned.records(MOST_FEATURES)
}

/// The scores of all splits of a request, added up from both ends. All numbers are logarithms.
struct Chart<'a> {
    split: &'a Split,
    of_log: f32,
    pairs: Vec<[f32; MODES]>,
    cuts: Vec<f32>,
    segments: Vec<Vec<f32>>,
    /// All splits of what is before a piece, with a task for each mode beginning there.
    entered: Vec<[f32; MODES]>,
    /// All splits of what is before a piece, with a task for each mode ending there.
    left: Vec<[f32; MODES]>,
    /// All splits of the rest, with a task for each mode beginning there.
    rest: Vec<[f32; MODES]>,
    /// All splits of the rest, after a task for each mode.
    after: Vec<[f32; MODES]>,
}

impl<'a> Chart<'a> {
    fn new(split: &'a Split, learned: &Learned) -> Self {
        let (lattice, count) = (&split.lattice, split.lattice.len());
        let pair = |left: usize, right: usize| match left == right {
            true => f32::NEG_INFINITY,
            false => pair_features(left, right).iter().map(|hash| learned.weight(*hash)).sum(),
        };
        let segment = |start: usize, end: usize| learned.sum(&lattice.segment(start, end).features);
        let row = |start: usize| (start + 1..=count).map(|end| segment(start, end)).collect();
        let none = [f32::NEG_INFINITY; MODES];
        let mut chart = Self {
            split,
            of_log: learned.weight(log_feature()),
            pairs: (0..MODES).map(|left| std::array::from_fn(|right| pair(left, right))).collect(),
            cuts: lattice.cuts.iter().map(|features| learned.sum(features)).collect(),
            segments: (0..count).map(row).collect(),
            entered: vec![none; count],
            left: vec![none; count + 1],
            rest: vec![none; count],
            after: vec![none; count + 1],
        };
        chart.go_forward(count);
        chart.go_backward(count);
        chart
    }

    fn score(&self, start: usize, end: usize, mode: usize) -> f32 {
        self.segments[start][end - start - 1] + self.of_log * self.split.lattice.segment(start, end).log[mode]
    }

    fn go_forward(&mut self, count: usize) {
        for start in 0..count {
            for mode in 0..MODES {
                let before = |left: usize| self.left[start][left] + self.pairs[left][mode];
                let entered = self.cuts[start] + log_sum((0..MODES).map(before));
                self.entered[start][mode] = if start == 0 { 0.0 } else { entered };
            }
            for end in start + 1..=count {
                for mode in 0..MODES {
                    let score = self.entered[start][mode] + self.score(start, end, mode);
                    self.left[end][mode] = log_sum([self.left[end][mode], score].into_iter());
                }
            }
        }
    }

    fn go_backward(&mut self, count: usize) {
        self.after[count] = [0.0; MODES];
        for start in (0..count).rev() {
            for mode in 0..MODES {
                let scores =
                    (start + 1..=count).map(|end| self.score(start, end, mode) + self.after[end][mode]);
                self.rest[start][mode] = log_sum(scores);
            }
            for mode in 0..MODES {
                let after = |right: usize| self.pairs[mode][right] + self.rest[start][right];
                self.after[start][mode] = self.cuts[start] + log_sum((0..MODES).map(after));
            }
        }
    }

    fn gradient(&self) -> HashMap<u32, f32> {
        let count = self.split.lattice.len();
        let all = log_sum(self.left[count].into_iter());
        let mut gradient = Gradient { split: self.split, sums: HashMap::new() };
        for at in 1..count {
            let mut of_cut = 0.0;
            for left in 0..MODES {
                for right in (0..MODES).filter(|right| *right != left) {
                    let score =
                        self.left[at][left] + self.cuts[at] + self.pairs[left][right] + self.rest[at][right];
                    let expected = (score - all).exp();
                    of_cut += expected;
                    if expected > LEAST {
                        gradient.add_pair(left, right, -expected);
                    }
                }
            }
            gradient.add(&self.split.lattice.cuts[at], -of_cut);
        }
        let places = (0..count).flat_map(|start| (start + 1..=count).map(move |end| (start, end)));
        for (start, end) in places {
            let mut of_segment = 0.0;
            for mode in 0..MODES {
                let score = self.entered[start][mode] + self.score(start, end, mode) + self.after[end][mode];
                let expected = (score - all).exp();
                of_segment += expected;
                gradient.add_log(start, end, mode, -expected);
            }
            gradient.add(&self.split.lattice.segment(start, end).features, -of_segment);
        }
        self.add_right(&mut gradient);
        gradient.sums
    }

    /// Adds the features of the right split.
    fn add_right(&self, gradient: &mut Gradient<'_>) {
        let Split { lattice, cuts, labels, .. } = self.split;
        let count = lattice.len();
        if labels.is_empty() {
            let scores = (0..MODES).map(|mode| self.score(0, count, mode));
            let all = log_sum(scores.clone());
            for (mode, score) in scores.enumerate() {
                gradient.add_log(0, count, mode, (score - all).exp());
            }
            return;
        }
        let starts = std::iter::once(0).chain(cuts.iter().copied());
        let ends = cuts.iter().copied().chain([count]);
        for ((start, end), label) in starts.zip(ends).zip(labels) {
            gradient.add(&lattice.cuts[start], 1.0);
            gradient.add(&lattice.segment(start, end).features, 1.0);
            gradient.add_log(start, end, *label, 1.0);
        }
        for pair in labels.windows(2) {
            gradient.add_pair(pair[0], pair[1], 1.0);
        }
    }
}

struct Gradient<'a> {
    split: &'a Split,
    sums: HashMap<u32, f32>,
}

impl Gradient<'_> {
    fn add(&mut self, features: &[(u32, f32)], times: f32) {
        if times.abs() > LEAST {
            for (hash, value) in features {
                *self.sums.entry(*hash).or_default() += self.split.weight * times * value;
            }
        }
    }

    fn add_pair(&mut self, left: usize, right: usize, times: f32) {
        self.add(&pair_features(left, right).map(|hash| (hash, 1.0)), times);
    }

    fn add_log(&mut self, start: usize, end: usize, mode: usize, times: f32) {
        let log = self.split.lattice.segment(start, end).log[mode];
        self.add(&[(log_feature(), log)], times);
    }
}

/// The logarithm of a sum of exponentials.
fn log_sum(values: impl Iterator<Item = f32> + Clone) -> f32 {
    let most = values.clone().fold(f32::NEG_INFINITY, f32::max);
    if most == f32::NEG_INFINITY {
        return most;
    }
    most + values.map(|value| (value - most).exp()).sum::<f32>().ln()
}
