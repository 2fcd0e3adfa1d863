//! The best split of a request into tasks.

use std::cell::LazyCell;

use super::{
    lattice::{Lattice, MODES, log_feature, pair_features},
    table::Column,
};

/// The most tasks of a request.
pub(crate) const MAX_TASKS: usize = 8;

/// Added to the score of each cut. Learned weights treat both errors alike; a request that is split although it is one task is the worse
/// one.
pub(crate) const CUT_BIAS: f32 = -0.3;

/// A task: the places of its first piece and of the piece after its last, and its mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) label: usize,
}

/// The best split that ends at a piece with a mode: its score, and where and with which mode its last task begins.
#[derive(Clone, Copy)]
struct Best {
    score: f32,
    start: usize,
    before: usize,
}

/// The tasks of a request; one where it is to stay whole, none where there are no words.
pub(crate) fn split(lattice: &Lattice, weights: Column<'_>, bias: f32) -> Vec<Part> {
    let count = lattice.len();
    let of_log = weights.weight(log_feature());
    // Most requests have one piece, and no cut.
    let pairs = LazyCell::new(|| pair_scores(weights));
    let none = Best { score: f32::NEG_INFINITY, start: 0, before: 0 };
    let mut best = vec![[none; MODES]; count + 1];
    for start in 0..count {
        let cut = weights.sum(&lattice.cuts[start]) + bias;
        let entered: [(f32, usize); MODES] = std::array::from_fn(|label| {
            if start == 0 {
                return (0.0, 0);
            }
            let after = |before: usize| (best[start][before].score + pairs[before][label] + cut, before);
            let scores = (0..MODES).map(after);
            scores.max_by(|one, two| one.0.total_cmp(&two.0)).unwrap_or((0.0, 0))
        });
        for (end, ended) in best.iter_mut().enumerate().skip(start + 1) {
            let segment = lattice.segment(start, end);
            let of_segment = weights.sum(&segment.features);
            for (label, (score, before)) in entered.into_iter().enumerate() {
                let score = score + of_segment + of_log * segment.log[label];
                if score > ended[label].score {
                    ended[label] = Best { score, start, before };
                }
            }
        }
    }
    let last = |one: &usize, two: &usize| best[count][*one].score.total_cmp(&best[count][*two].score);
    let (mut end, mut label) = (count, (0..MODES).max_by(last).unwrap_or_default());
    let mut parts = Vec::new();
    while end > 0 {
        let Best { start, before, .. } = best[end][label];
        parts.push(Part { start, end, label });
        (end, label) = (start, before);
    }
    parts.reverse();
    parts
}

/// The scores of a cut between tasks for each two modes. Two tasks for one mode are one.
pub(crate) fn pair_scores(weights: Column<'_>) -> [[f32; MODES]; MODES] {
    std::array::from_fn(|left| {
        std::array::from_fn(|right| match left == right {
            true => f32::NEG_INFINITY,
            false => pair_features(left, right).iter().map(|hash| weights.weight(*hash)).sum(),
        })
    })
}
