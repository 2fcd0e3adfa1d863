//! One token times rows of any quantized format, directly from the file's blocks.
//!
//! Used for formats without a special kernel: each block of a row is unpacked into the L1 cache and
//! multiplied there. The float operations have the same order as in the kernels for panels, so the
//! results are bit-identical.

use super::activations::{QuantizedRow, SUPER_SUMS};
use super::block::{BlockType, Family, SMALL, SUPER};
use super::lanes::{Kernel, Lanes};
use super::unpack::{COLUMNS, SMALLS, UnpackedRow};

/// Consecutive rows of one format, and the token that they are multiplied with.
pub(super) struct Rows<'a> {
    pub(super) kind: BlockType,
    pub(super) rows: &'a [u8],
    pub(super) row_bytes: usize,
    pub(super) token: QuantizedRow<'a>,
    /// Product of each row.
    pub(super) out: &'a mut [f32],
}

impl Kernel for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, simd: L::Token) {
        let chunk_bytes = self.kind.row_bytes(COLUMNS);
        let mut unpacked = UnpackedRow::EMPTY;
        for (row, out) in self.rows.chunks_exact(self.row_bytes).zip(self.out) {
            *out = 0.0;
            for (chunk, blocks) in row.chunks(chunk_bytes).enumerate() {
                unpacked.take(self.kind, blocks);
                *out = match self.kind.family() {
                    Family::Super => super_block::<L>(simd, self.kind, &unpacked, self.token, chunk, *out),
                    _ => small_blocks::<L>(simd, self.kind, &unpacked, self.token, chunk, *out),
                };
            }
        }
    }
}

#[inline(always)]
fn super_block<L: Lanes>(
    simd: L::Token,
    kind: BlockType,
    row: &UnpackedRow,
    token: QuantizedRow<'_>,
    block: usize,
    before: f32,
) -> f32 {
    let quants = token.quants.as_chunks::<SUPER>().0;
    let sums = &token.sums.as_chunks::<SUPER_SUMS>().0[block];
    let (groups, sums) = match kind.groups() {
        8 => (std::array::from_fn(|group| row.scales.groups[group / 2]), &sums[16..]),
        _ => (row.scales.groups, &sums[..16]),
    };
    let products = L::scaled_dot(simd, &row.weights, &quants[block], &groups);
    let mins = sums.iter().zip(row.scales.mins).map(|(sum, min)| i32::from(*sum) * i32::from(min));
    let mins = mins.fold(0, i32::wrapping_add);
    let (scale, own) = (token.scales[block], &row.scales);
    if kind.has_mins() {
        let scaled = (own.scale[0] * scale).mul_add(products as f32, before);
        (-(own.min[0] * scale)).mul_add(mins as f32, scaled)
    } else {
        (own.scale[0] * scale).mul_add(products.wrapping_add(mins) as f32, before)
    }
}

#[inline(always)]
fn small_blocks<L: Lanes>(
    simd: L::Token,
    kind: BlockType,
    row: &UnpackedRow,
    token: QuantizedRow<'_>,
    chunk: usize,
    before: f32,
) -> f32 {
    let first = chunk * SMALLS;
    let quants = &token.quants.as_chunks::<SMALL>().0[first..];
    let count = quants.len().min(SMALLS);
    let (scales, sums) = (&token.scales[first..][..count], &token.sums[first..][..count]);
    let (weights, own) = (row.weights.as_chunks::<SMALL>().0, &row.scales);
    let mut total = before;
    for block in 0..count {
        let sum = i32::from(sums[block]);
        let dot = L::dot(simd, &weights[block], &quants[block]) - kind.offset() * sum;
        total = (own.scale[block] * scales[block]).mul_add(dot as f32, total);
        total = (own.min[block] * scales[block]).mul_add(sum as f32, total);
    }
    total
}
