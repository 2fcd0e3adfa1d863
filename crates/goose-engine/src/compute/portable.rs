//! Integer kernels in plain Rust. They define the results of the others, bit by bit.

#![expect(clippy::needless_range_loop, reason = "registers are numbered, several arrays at a time")]

use super::activations::SUPER_SUMS;
use super::multiply::{STRIP, SmallChunk, SuperChunk};
use super::panel::{Panel, ROWS};

/// Returns the sum of four products of unsigned and signed bytes.
fn dot4(weights: u32, quants: &[i8]) -> i32 {
    let weights = weights.to_le_bytes();
    weights.iter().zip(quants).map(|(weight, quant)| i32::from(*weight) * i32::from(*quant)).sum()
}

pub(super) fn super_chunk(chunk: &SuperChunk<'_>, panels: &[Panel], sums_of: &mut [f32]) {
    for token in 0..chunk.tokens {
        let row = chunk.activations.super_row(token);
        let quants = &row.quants[chunk.block * 256..][..256];
        let sums = &row.sums[chunk.block * SUPER_SUMS..][..SUPER_SUMS];
        let (scale, sums_of) = (row.scales[chunk.block], &mut sums_of[token * STRIP..][..STRIP]);
        for (panel, out) in panels.iter().zip(sums_of.chunks_exact_mut(ROWS)) {
            for (lane, out) in out.iter_mut().enumerate() {
                let (products, mins) = super_lane(panel, lane, chunk.kind.groups(), quants, sums);
                *out = if chunk.kind.has_mins() {
                    let scaled = (panel.scale[0][lane] * scale).mul_add(products as f32, *out);
                    (-(panel.min[0][lane] * scale)).mul_add(mins as f32, scaled)
                } else {
                    (panel.scale[0][lane] * scale).mul_add((products.wrapping_add(mins)) as f32, *out)
                };
            }
        }
    }
}

fn super_lane(panel: &Panel, lane: usize, groups: usize, quants: &[i8], sums: &[i16]) -> (i32, i32) {
    let words = 64 / groups;
    let sums = if groups == 16 { &sums[..16] } else { &sums[16..] };
    let (mut products, mut mins) = (0_i32, 0_i32);
    for group in 0..groups {
        let dot: i32 = (group * words..(group + 1) * words)
            .map(|word| dot4(panel.quants[word][lane], &quants[word * 4..][..4]))
            .sum();
        products = products.wrapping_add(dot.wrapping_mul(panel.scales[group][lane]));
        let pair = panel.mins[group / 2][lane];
        let min = if group % 2 == 0 { i32::from(pair as i16) } else { pair >> 16 };
        mins = mins.wrapping_add(min * i32::from(sums[group]));
    }
    (products, mins)
}

pub(super) fn small_chunk(chunk: &SmallChunk<'_>, panels: &[Panel], sums_of: &mut [f32]) {
    for token in 0..chunk.tokens {
        let row = chunk.activations.small_row(token);
        let sums_of = &mut sums_of[token * STRIP..][..STRIP];
        for (panel, out) in panels.iter().zip(sums_of.chunks_exact_mut(ROWS)) {
            for at in 0..chunk.blocks {
                let block = chunk.first_block + at;
                let quants = &row.quants[block * 32..][..32];
                let (scale, sum) = (row.scales[block], i32::from(row.sums[block]));
                for (lane, out) in out.iter_mut().enumerate() {
                    let words = panel.quants[at * 8..][..8].iter().zip(quants.chunks_exact(4));
                    let dot: i32 = words.map(|(word, quants)| dot4(word[lane], quants)).sum();
                    let dot = dot - chunk.kind.offset() * sum;
                    *out = (panel.scale[at][lane] * scale).mul_add(dot as f32, *out);
                    *out = (panel.min[at][lane] * scale).mul_add(sum as f32, *out);
                }
            }
        }
    }
}
