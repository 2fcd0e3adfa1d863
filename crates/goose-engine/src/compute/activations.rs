//! Batch of activations, and its 8-bit forms for quantized weights.
//!
//! Each token is quantized separately, so its result does not depend on the other tokens of the batch.

use super::block::{Family, SMALL, SUPER};
use super::instructions::Instructions;
use super::lanes::{Kernel, Lanes, WIDTH, dispatch, largest};
use super::pool::{Pool, SharedMut};

/// Number of sums for a block of 256: sixteen over 16 values, then eight over 32.
pub(crate) const SUPER_SUMS: usize = 24;
/// Largest magnitude of a quantized activation. It is never -128, which some kernels rely on.
const LIMIT: f32 = 127.0;

/// Activations of several tokens, one row each.
#[derive(Default)]
pub(crate) struct Activations {
    columns: usize,
    tokens: usize,
    values: Vec<f32>,
    supers: QuantizedBatch,
    smalls: QuantizedBatch,
}

/// Rows of 8-bit integers with a scale per block.
#[derive(Default)]
pub(crate) struct QuantizedBatch {
    quants: Vec<i8>,
    scales: Vec<f32>,
    sums: Vec<i16>,
}

/// 8-bit form of one token.
#[derive(Clone, Copy)]
pub(crate) struct QuantizedRow<'a> {
    pub(crate) quants: &'a [i8],
    pub(crate) scales: &'a [f32],
    pub(crate) sums: &'a [i16],
}

impl QuantizedBatch {
    fn resize(&mut self, tokens: usize, columns: usize, block: usize, sums: usize) {
        let blocks = tokens * (columns / block);
        self.quants.resize(tokens * columns, 0);
        self.scales.resize(blocks, 0.0);
        self.sums.resize(blocks * sums, 0);
    }

    #[inline]
    fn row(&self, token: usize, columns: usize, block: usize, sums: usize) -> QuantizedRow<'_> {
        let blocks = columns / block;
        QuantizedRow {
            quants: &self.quants[token * columns..][..columns],
            scales: &self.scales[token * blocks..][..blocks],
            sums: &self.sums[token * blocks * sums..][..blocks * sums],
        }
    }
}

impl Activations {
    /// Resizes the batch. The values are unspecified afterwards.
    pub(crate) fn resize(&mut self, tokens: usize, columns: usize) {
        self.tokens = tokens;
        self.columns = columns;
        self.values.resize(tokens * columns, 0.0);
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    pub(crate) fn tokens(&self) -> usize {
        self.tokens
    }

    /// Returns all values, row by row.
    pub(crate) fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values[..self.tokens * self.columns]
    }

    /// Returns all values, row by row.
    pub(crate) fn row_values(&self) -> &[f32] {
        &self.values[..self.tokens * self.columns]
    }

    /// Returns one token in blocks of 256.
    #[inline]
    pub(crate) fn super_row(&self, token: usize) -> QuantizedRow<'_> {
        self.supers.row(token, self.columns, SUPER, SUPER_SUMS)
    }

    /// Returns one token in blocks of 32.
    #[inline]
    pub(crate) fn small_row(&self, token: usize) -> QuantizedRow<'_> {
        self.smalls.row(token, self.columns, SMALL, 1)
    }

    /// Computes the forms that the given families need.
    pub(crate) fn quantize(&mut self, level: Instructions, pool: &mut Pool, families: &[Family]) {
        for family in [Family::Super, Family::Small] {
            if families.contains(&family) {
                self.quantize_as(level, pool, family);
            }
        }
    }

    fn quantize_as(&mut self, level: Instructions, pool: &mut Pool, family: Family) {
        let (tokens, columns) = (self.tokens, self.columns);
        let (target, block, sums) = match family {
            Family::Super => (&mut self.supers, SUPER, SUPER_SUMS),
            _ => (&mut self.smalls, SMALL, 1),
        };
        target.resize(tokens, columns, block, sums);
        let blocks = columns / block;
        let quants = SharedMut::new(&mut target.quants);
        let scales = SharedMut::new(&mut target.scales);
        let all_sums = SharedMut::new(&mut target.sums);
        let values = &self.values;
        pool.run(tokens, &|token, _| {
            // SAFETY: each token has its own parts.
            let (quants, scales, sums) = unsafe {
                (
                    quants.part(token * columns, columns),
                    scales.part(token * blocks, blocks),
                    all_sums.part(token * blocks * sums, blocks * sums),
                )
            };
            let values = &values[token * columns..][..columns];
            dispatch(level, Quantize { values, quants, scales, sums, block });
        });
    }
}

struct Quantize<'a> {
    values: &'a [f32],
    quants: &'a mut [i8],
    scales: &'a mut [f32],
    sums: &'a mut [i16],
    block: usize,
}

impl Kernel for Quantize<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, simd: L::Token) {
        let sums_each = self.sums.len() / self.scales.len().max(1);
        let blocks = self.values.chunks_exact(self.block).zip(self.quants.chunks_exact_mut(self.block));
        let facts = self.scales.iter_mut().zip(self.sums.chunks_exact_mut(sums_each.max(1)));
        for ((values, quants), (scale, sums)) in blocks.zip(facts) {
            *scale = quantize_block::<L>(simd, values, quants);
            if sums_each == SUPER_SUMS {
                sum_super(quants, sums);
            } else {
                sums[0] = total(quants);
            }
        }
    }
}

#[inline(always)]
fn quantize_block<L: Lanes>(simd: L::Token, values: &[f32], quants: &mut [i8]) -> f32 {
    let (values, _) = values.as_chunks::<WIDTH>();
    let (quants, _) = quants.as_chunks_mut::<WIDTH>();
    let zero = L::splat(simd, 0.0);
    let mut top = zero;
    for lanes in values {
        let lanes = L::load(simd, lanes);
        top = top.max(lanes).max(zero.sub(lanes));
    }
    let top = largest(top);
    if top == 0.0 || !top.is_finite() {
        quants.fill([0; WIDTH]);
        return if top == 0.0 { 0.0 } else { f32::NAN };
    }
    let inverse = L::splat(simd, LIMIT / top);
    let mut rounded = [0.0_f32; WIDTH];
    for (lanes, quants) in values.iter().zip(quants) {
        L::load(simd, lanes).mul(inverse).round().store(&mut rounded);
        *quants = rounded.map(|value| value as i8);
    }
    top / LIMIT
}

#[inline(always)]
fn sum_super(quants: &[i8], sums: &mut [i16]) {
    let (sixteens, thirty_twos) = sums.split_at_mut(SUPER / 16);
    for (sum, quants) in sixteens.iter_mut().zip(quants.chunks_exact(16)) {
        *sum = total(quants);
    }
    for (sum, pair) in thirty_twos.iter_mut().zip(sixteens.chunks_exact(2)) {
        *sum = pair[0] + pair[1];
    }
}

#[inline(always)]
fn total(quants: &[i8]) -> i16 {
    quants.iter().map(|quant| i16::from(*quant)).sum()
}
