//! One token times rows of any quantized format, straight from the file's blocks.
//!
//! Writing an answer is this for the formats that have no kernel of their own: each row's block is unpacked into the
//! nearest cache and multiplied there, by loops that compilers turn into vector instructions. The order of the float
//! operations is that of the panels' kernels, so the results are the same bits.

use super::activations::{QuantizedRow, SUPER_SUMS};
use super::block::{BlockType, Family, SMALL, SUPER};
use super::lanes::{Kernel, Lanes};
use super::unpack::{COLUMNS, Unpacked};

/// Rows of one format, one after the other, and the token they are multiplied with.
pub(super) struct Rows<'a> {
    pub(super) kind: BlockType,
    pub(super) rows: &'a [u8],
    pub(super) row_bytes: usize,
    pub(super) token: QuantizedRow<'a>,
    /// A product for each row.
    pub(super) out: &'a mut [f32],
}

impl Kernel for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let chunk_bytes = self.kind.row_bytes(COLUMNS);
        let mut unpacked = Unpacked::EMPTY;
        for (row, out) in self.rows.chunks_exact(self.row_bytes).zip(self.out) {
            *out = 0.0;
            for (chunk, blocks) in row.chunks(chunk_bytes).enumerate() {
                unpacked.take(self.kind, blocks);
                *out = match self.kind.family() {
                    Family::Super => super_block(self.kind, &unpacked, self.token, chunk, *out),
                    _ => small_blocks(self.kind, &unpacked, self.token, chunk, *out),
                };
            }
        }
    }
}

#[inline(always)]
fn super_block(kind: BlockType, row: &Unpacked, token: QuantizedRow<'_>, block: usize, before: f32) -> f32 {
    let quants = &token.quants[block * SUPER..][..SUPER];
    let sums = &token.sums[block * SUPER_SUMS..][..SUPER_SUMS];
    let (scales, sums) = match kind.groups() {
        8 => (std::array::from_fn(|group| row.scales.groups[group / 2]), &sums[16..]),
        _ => (row.scales.groups, &sums[..16]),
    };
    let products = scaled_dot(&row.weights, quants, scales);
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

/// The sum of sixteen groups' dot products, each times its scale.
#[inline(always)]
fn scaled_dot(weights: &[u8; SUPER], quants: &[i8], scales: [i16; 16]) -> i32 {
    let mut lanes = [0_i32; 16];
    let groups = weights.as_chunks::<16>().0.iter().zip(quants.as_chunks::<16>().0);
    for ((weights, quants), scale) in groups.zip(scales) {
        for i in 0..16 {
            let product = i32::from(weights[i]) * i32::from(quants[i]);
            lanes[i] = lanes[i].wrapping_add(product.wrapping_mul(scale.into()));
        }
    }
    lanes.into_iter().fold(0, i32::wrapping_add)
}

#[inline(always)]
fn small_blocks(kind: BlockType, row: &Unpacked, token: QuantizedRow<'_>, chunk: usize, before: f32) -> f32 {
    let first = chunk * (COLUMNS / SMALL);
    let quants = token.quants[chunk * COLUMNS..].as_chunks::<SMALL>().0.iter();
    let facts = token.scales[first..].iter().zip(&token.sums[first..]);
    let own = row.scales.scale.iter().zip(&row.scales.min);
    let mut total = before;
    for (((weights, quants), (scale, sum)), (own_scale, own_min)) in
        row.weights.as_chunks::<SMALL>().0.iter().zip(quants).zip(facts).zip(own)
    {
        let sum = i32::from(*sum);
        let dot = dot(weights, quants) - kind.offset() * sum;
        total = (own_scale * scale).mul_add(dot as f32, total);
        total = (own_min * scale).mul_add(sum as f32, total);
    }
    total
}

#[inline(always)]
fn dot(weights: &[u8; SMALL], quants: &[i8; SMALL]) -> i32 {
    weights.iter().zip(quants).map(|(weight, quant)| i32::from(*weight) * i32::from(*quant)).sum()
}
