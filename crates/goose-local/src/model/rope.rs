//! Rotary positions: each pair of a head's columns is turned by an angle that grows with the position.

use super::config::{Architecture, Config};

/// The angles' cosines and sines for a batch of positions.
#[derive(Default)]
pub(crate) struct Rotation {
    cosines: Vec<f32>,
    sines: Vec<f32>,
    pairs: usize,
}

impl Rotation {
    /// Computes the angles of `tokens` positions from `position` on.
    pub(crate) fn prepare(
        &mut self,
        config: &Config,
        factors: Option<&[f32]>,
        position: usize,
        tokens: usize,
    ) {
        self.pairs = config.rope_width / 2;
        self.cosines.clear();
        self.sines.clear();
        let frequencies: Vec<f64> = (0..self.pairs)
            .map(|pair| {
                let factor = factors.map_or(1.0, |factors| f64::from(factors[pair]));
                config.rope_base.powf(-(2.0 * pair as f64) / config.rope_width as f64) / factor
            })
            .collect();
        for token in 0..tokens {
            let position = (position + token) as f64 / config.rope_divisor;
            for frequency in &frequencies {
                let (sine, cosine) = (position * frequency).sin_cos();
                self.cosines.push(cosine as f32);
                self.sines.push(sine as f32);
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
