//! Rotary positions: each pair of a head's columns is turned by an angle that grows with the position.

use super::config::Architecture;
use super::scaling::Frequencies;

/// The angles' cosines and sines for a batch of positions.
#[derive(Default)]
pub(crate) struct Rotation {
    cosines: Vec<f32>,
    sines: Vec<f32>,
    pairs: usize,
}

impl Rotation {
    /// Computes the angles of `tokens` positions from `position` on.
    pub(crate) fn prepare(&mut self, frequencies: &Frequencies, position: usize, tokens: usize) {
        self.pairs = frequencies.pairs.len();
        self.cosines.clear();
        self.sines.clear();
        for token in 0..tokens {
            let position = (position + token) as f64;
            for frequency in &frequencies.pairs {
                let (sine, cosine) = (position * frequency).sin_cos();
                self.cosines.push((cosine * frequencies.magnitude) as f32);
                self.sines.push((sine * frequencies.magnitude) as f32);
            }
        }
    }

    /// Turns one head of one token of the batch.
    pub(crate) fn turn(&self, architecture: Architecture, token: usize, head: &mut [f32]) {
        let angles = |pair: usize| {
            let at = token * self.pairs + pair;
            (self.cosines[at], self.sines[at])
        };
        for pair in 0..self.pairs {
            // Files of the Llama family have neighbouring columns paired, the others the two halves.
            let (a, b) = match architecture {
                Architecture::Llama => (2 * pair, 2 * pair + 1),
                Architecture::Qwen2 | Architecture::Qwen3 => (pair, pair + self.pairs),
            };
            let (cosine, sine) = angles(pair);
            let (x, y) = (head[a], head[b]);
            head[a] = x * cosine - y * sine;
            head[b] = x * sine + y * cosine;
        }
    }
}
