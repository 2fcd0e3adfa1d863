//! Products of bytes: unsigned weights with signed activations. One definition, three ways to do it; whole numbers, so
//! all give the same.

use super::block::{SMALL, SUPER};
use super::lanes::Portable;

/// Groups of sixteen weights in a block of 256.
pub(crate) const GROUPS: usize = SUPER / 16;

/// What the row kernels need of an instruction set. Methods are `#[inline(always)]`, as those of `Lanes` are.
pub(crate) trait Dots {
    /// Proof that the processor has the instructions.
    type Token: Copy;

    /// The dot product of a block of 32.
    fn dot(simd: Self::Token, weights: &[u8; SMALL], quants: &[i8; SMALL]) -> i32;

    /// The sum of the dot products of sixteen groups, each times its scale.
    fn scaled_dot(
        simd: Self::Token,
        weights: &[u8; SUPER],
        quants: &[i8; SUPER],
        scales: &[i16; GROUPS],
    ) -> i32;
}

impl Dots for Portable {
    type Token = ();

    #[inline(always)]
    fn dot((): (), weights: &[u8; SMALL], quants: &[i8; SMALL]) -> i32 {
        weights.iter().zip(quants).map(|(weight, quant)| i32::from(*weight) * i32::from(*quant)).sum()
    }

    #[inline(always)]
    fn scaled_dot((): (), weights: &[u8; SUPER], quants: &[i8; SUPER], scales: &[i16; GROUPS]) -> i32 {
        let mut lanes = [0_i32; 16];
        let groups = weights.as_chunks::<16>().0.iter().zip(quants.as_chunks::<16>().0);
        for ((weights, quants), scale) in groups.zip(scales) {
            for i in 0..16 {
                let product = i32::from(weights[i]) * i32::from(quants[i]);
                lanes[i] = lanes[i].wrapping_add(product.wrapping_mul((*scale).into()));
            }
        }
        lanes.into_iter().fold(0, i32::wrapping_add)
    }
}
