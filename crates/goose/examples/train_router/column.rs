//! Weights of features that are learned one by one, by stochastic gradient ascent with a rate for each weight (AdaGrad).

use std::collections::HashMap;

use crate::router::table::FINE_STEP;

/// Learned weights.
#[derive(Default)]
pub(crate) struct Learned {
    rows: HashMap<u32, Row>,
}

#[derive(Clone, Copy)]
struct Row {
    weight: f32,
    squares: f32,
}

/// The rate at which weights change, and their pull to zero.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    pub(crate) rate: f32,
    pub(crate) decay: f32,
}

impl Learned {
    pub(crate) fn weight(&self, hash: u32) -> f32 {
        self.rows.get(&hash).map_or(0.0, |row| row.weight)
    }

    pub(crate) fn sum(&self, features: &[(u32, f32)]) -> f32 {
        features.iter().map(|(hash, value)| self.weight(*hash) * value).sum()
    }

    pub(crate) fn set(&mut self, hash: u32, weight: f32) {
        self.rows.insert(hash, Row { weight, squares: 1e-2 });
    }

    /// Moves a weight along its gradient.
    pub(crate) fn change(&mut self, hash: u32, gradient: f32, pace: Pace) {
        let row = self.rows.entry(hash).or_insert(Row { weight: 0.0, squares: 1e-2 });
        let gradient = gradient - pace.decay * row.weight;
        row.squares += gradient * gradient;
        row.weight += pace.rate * gradient / row.squares.sqrt();
    }

    /// The records of a table with the largest weights.
    pub(crate) fn records(&self, most: usize) -> Vec<(u32, Vec<u8>)> {
        let mut kept: Vec<(u32, i16)> =
            self.rows.iter().map(|(hash, row)| (*hash, fine(row.weight))).collect();
        kept.retain(|(_, weight)| *weight != 0);
        kept.sort_by_key(|(hash, weight)| (std::cmp::Reverse(weight.unsigned_abs()), *hash));
        kept.truncate(most);
        kept.into_iter().map(|(hash, weight)| (hash, weight.to_le_bytes().to_vec())).collect()
    }
}

/// A weight in fine steps.
pub(crate) fn fine(weight: f32) -> i16 {
    (weight / FINE_STEP).round().clamp(f32::from(i16::MIN), f32::from(i16::MAX)) as i16
}
