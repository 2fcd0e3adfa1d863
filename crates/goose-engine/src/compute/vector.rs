//! Operations on single rows of activations: norms, gates, sums.

use super::instructions::Instructions;
use super::lanes::{Kernel, Lanes, WIDTH, dispatch, exp, sum};

/// Computes the root-mean-square norm of a row, times a weight for each column.
pub(crate) fn rms_norm(level: Instructions, row: &[f32], weight: &[f32], epsilon: f32, out: &mut [f32]) {
    dispatch(level, RmsNorm { row, weight, epsilon, out });
}

/// Computes `gate = silu(gate) * up`.
pub(crate) fn silu_times(level: Instructions, gate: &mut [f32], up: &[f32]) {
    dispatch(level, SiluTimes { gate, up });
}

/// Adds the second row to the first.
pub(crate) fn add(row: &mut [f32], other: &[f32]) {
    row.iter_mut().zip(other).for_each(|(a, b)| *a += b);
}

/// Replaces scores by their exponentials relative to the largest, and returns their sum.
pub(crate) fn exponentials(level: Instructions, scores: &mut [f32]) -> f32 {
    dispatch(level, Exponentials { scores })
}

struct RmsNorm<'a> {
    row: &'a [f32],
    weight: &'a [f32],
    epsilon: f32,
    out: &'a mut [f32],
}

impl Kernel for RmsNorm<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, simd: L::Token) {
        let (wide, rest) = self.row.as_chunks::<WIDTH>();
        let mut squares = L::splat(simd, 0.0);
        for lanes in wide {
            let lanes = L::load(simd, lanes);
            squares = lanes.mul_add(lanes, squares);
        }
        let total = sum(squares) + rest.iter().map(|value| value * value).sum::<f32>();
        let factor = 1.0 / (total / self.row.len() as f32 + self.epsilon).sqrt();
        for ((out, value), weight) in self.out.iter_mut().zip(self.row).zip(self.weight) {
            *out = value * factor * weight;
        }
    }
}

struct SiluTimes<'a> {
    gate: &'a mut [f32],
    up: &'a [f32],
}

impl Kernel for SiluTimes<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, simd: L::Token) {
        let (gates, gate_rest) = self.gate.as_chunks_mut::<WIDTH>();
        let (ups, up_rest) = self.up.as_chunks::<WIDTH>();
        for (gate, up) in gates.iter_mut().zip(ups) {
            silu::<L>(simd, L::load(simd, gate)).mul(L::load(simd, up)).store(gate);
        }
        if !gate_rest.is_empty() {
            let mut padded = [0.0; WIDTH];
            padded[..gate_rest.len()].copy_from_slice(gate_rest);
            silu::<L>(simd, L::load(simd, &padded)).store(&mut padded);
            for ((gate, silu), up) in gate_rest.iter_mut().zip(&padded).zip(up_rest) {
                *gate = silu * up;
            }
        }
    }
}

#[inline(always)]
fn silu<L: Lanes>(simd: L::Token, x: L) -> L {
    let one = L::splat(simd, 1.0);
    x.div(one.add(exp(simd, L::splat(simd, 0.0).sub(x))))
}

struct Exponentials<'a> {
    scores: &'a mut [f32],
}

impl Kernel for Exponentials<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<L: Lanes>(self, simd: L::Token) -> f32 {
        let (wide, rest) = self.scores.as_chunks_mut::<WIDTH>();
        let mut top = L::splat(simd, f32::NEG_INFINITY);
        for lanes in wide.iter() {
            top = top.max(L::load(simd, lanes));
        }
        let mut largest = super::lanes::largest(top);
        for value in rest.iter() {
            largest = largest.max(*value);
        }
        let base = L::splat(simd, largest);
        let mut total = L::splat(simd, 0.0);
        for lanes in wide.iter_mut() {
            let value = exp(simd, L::load(simd, lanes).sub(base));
            total = total.add(value);
            value.store(lanes);
        }
        if rest.is_empty() {
            return sum(total);
        }
        let mut padded = [f32::NEG_INFINITY; WIDTH];
        padded[..rest.len()].copy_from_slice(rest);
        exp(simd, L::load(simd, &padded).sub(base)).store(&mut padded);
        padded[rest.len()..].fill(0.0);
        rest.copy_from_slice(&padded[..rest.len()]);
        sum(total.add(L::load(simd, &padded)))
    }
}
