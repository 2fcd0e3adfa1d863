//! Forward pass as in the papers: token by token, in double precision, without any code of the engine.

use std::collections::HashMap;

use crate::tiny::{Scaling, Shape, Tiny};

/// Returns the logits after each token.
pub(crate) fn logits(tiny: &Tiny, tokens: &[u32]) -> Vec<Vec<f64>> {
    let shape = &tiny.shape;
    let mut caches: Vec<Cache> = (0..shape.layers).map(|_| Cache::default()).collect();
    tokens
        .iter()
        .enumerate()
        .map(|(position, token)| {
            let mut stream = row(&tiny.weights["token_embd.weight"], *token as usize, shape.width);
            for (number, cache) in caches.iter_mut().enumerate() {
                let layer = Layer { shape, weights: &tiny.weights, number };
                layer.apply(&mut stream, cache, position);
            }
            let normed = norm(&stream, &tiny.weights["output_norm.weight"]);
            let output = if shape.tied { "token_embd.weight" } else { "output.weight" };
            times(&tiny.weights[output], &normed)
        })
        .collect()
}

#[derive(Default)]
struct Cache {
    keys: Vec<Vec<f64>>,
    values: Vec<Vec<f64>>,
}

struct Layer<'a> {
    shape: &'a Shape,
    weights: &'a HashMap<String, Vec<f32>>,
    number: usize,
}

fn row(matrix: &[f32], row: usize, columns: usize) -> Vec<f64> {
    matrix[row * columns..][..columns].iter().map(|value| f64::from(*value)).collect()
}

fn times(matrix: &[f32], vector: &[f64]) -> Vec<f64> {
    matrix
        .chunks_exact(vector.len())
        .map(|row| row.iter().zip(vector).map(|(a, b)| f64::from(*a) * b).sum())
        .collect()
}

fn norm(values: &[f64], weight: &[f32]) -> Vec<f64> {
    let mean = values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64;
    values
        .iter()
        .zip(weight)
        .map(|(value, weight)| value / (mean + 1e-6).sqrt() * f64::from(*weight))
        .collect()
}

impl Layer<'_> {
    fn weight(&self, name: &str) -> Option<&Vec<f32>> {
        self.weights.get(&format!("blk.{}.{name}", self.number))
    }

    fn linear(&self, name: &str, vector: &[f64]) -> Vec<f64> {
        let mut product = times(self.weight(&format!("{name}.weight")).unwrap(), vector);
        if let Some(bias) = self.weight(&format!("{name}.bias")) {
            product.iter_mut().zip(bias).for_each(|(value, bias)| *value += f64::from(*bias));
        }
        product
    }

    fn apply(&self, stream: &mut [f64], cache: &mut Cache, position: usize) {
        let normed = norm(stream, self.weight("attn_norm.weight").unwrap());
        let queries = self.heads("attn_q", &normed, position);
        cache.keys.push(self.heads("attn_k", &normed, position));
        cache.values.push(self.linear("attn_v", &normed));
        let attended = self.attend(&queries, cache);
        add(stream, &self.linear("attn_output", &attended));
        let normed = norm(stream, self.weight("ffn_norm.weight").unwrap());
        let gates = self.linear("ffn_gate", &normed);
        let ups = self.linear("ffn_up", &normed);
        let hidden: Vec<f64> =
            gates.iter().zip(&ups).map(|(gate, up)| gate / (1.0 + (-gate).exp()) * up).collect();
        add(stream, &self.linear("ffn_down", &hidden));
    }

    fn heads(&self, name: &str, normed: &[f64], position: usize) -> Vec<f64> {
        let all = self.linear(name, normed);
        let width = self.shape.head_width;
        let mut turned = Vec::new();
        for head in all.chunks_exact(width) {
            let head = match self.weight(&format!("{name}_norm.weight")) {
                Some(weight) => norm(head, weight),
                None => head.to_vec(),
            };
            turned.extend(self.turn(&head, position));
        }
        turned
    }

    fn turn(&self, head: &[f64], position: usize) -> Vec<f64> {
        let half = self.shape.rope_width() / 2;
        let mut turned = head.to_vec();
        for pair in 0..half {
            let (angle, length) = self.angle(pair, position);
            let (a, b) = if self.shape.architecture == "llama" {
                (2 * pair, 2 * pair + 1)
            } else {
                (pair, pair + half)
            };
            turned[a] = (head[a] * angle.cos() - head[b] * angle.sin()) * length;
            turned[b] = (head[a] * angle.sin() + head[b] * angle.cos()) * length;
        }
        turned
    }

    /// Returns the angle of a pair at a position, and the growth of the rotated values.
    fn angle(&self, pair: usize, position: usize) -> (f64, f64) {
        let width = self.shape.rope_width() as f64;
        let wavelength = 10_000_f64.powf(2.0 * pair as f64 / width) * std::f64::consts::TAU;
        let divisor = self.weights.get("rope_freqs.weight").map_or(1.0, |factors| f64::from(factors[pair]));
        let plain = position as f64 * std::f64::consts::TAU / wavelength / divisor;
        match self.shape.rope.scaling {
            Scaling::None => (plain, 1.0),
            Scaling::Linear(factor) | Scaling::OldLinear(factor) => (plain / f64::from(factor), 1.0),
            Scaling::Yarn { factor, original, attention } => {
                let factor = f64::from(factor);
                // The pair that rotates this often within the original context.
                let pair_of = |turns: f64| {
                    width / 2.0 * (f64::from(original) / turns / std::f64::consts::TAU).log(10_000.0)
                };
                let (low, high) = (pair_of(32.0).floor().max(0.0), pair_of(1.0).ceil().min(width - 1.0));
                let slow = ((pair as f64 - low) / (high - low)).clamp(0.0, 1.0);
                let angle = plain * (1.0 - slow) + plain / factor * slow;
                (angle, f64::from(attention.unwrap_or(1.0)) * (0.1 * factor.ln() + 1.0))
            }
        }
    }

    fn attend(&self, queries: &[f64], cache: &Cache) -> Vec<f64> {
        let width = self.shape.head_width;
        let group = self.shape.heads / self.shape.kv_heads;
        let mut out = Vec::new();
        for (head, query) in queries.chunks_exact(width).enumerate() {
            let own = head / group * width..(head / group + 1) * width;
            let scores: Vec<f64> = cache
                .keys
                .iter()
                .map(|key| {
                    key[own.clone()].iter().zip(query).map(|(a, b)| a * b).sum::<f64>()
                        / (width as f64).sqrt()
                })
                .collect();
            let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let exps: Vec<f64> = scores.iter().map(|score| (score - top).exp()).collect();
            let total: f64 = exps.iter().sum();
            let mut sums = vec![0.0; width];
            for (exp, value) in exps.iter().zip(&cache.values) {
                sums.iter_mut().zip(&value[own.clone()]).for_each(|(sum, value)| *sum += exp / total * value);
            }
            out.extend(sums);
        }
        out
    }
}

fn add(stream: &mut [f64], other: &[f64]) {
    stream.iter_mut().zip(other).for_each(|(a, b)| *a += b);
}
