//! [`Lanes`] and [`Dots`]: operations on sixteen floats, and products of bytes, with three
//! implementations.
//!
//! Kernels are written once over these traits, and compiled for each instruction set. Every operation
//! rounds in the same way on each, and multiply-add is always fused, so the results are bit-identical.

use super::block::{SMALL, SUPER};
use super::block::{f16_to_f32, f32_to_f16};
use super::instructions::{Instructions, Level};

/// Number of values that are computed together.
pub(crate) const WIDTH: usize = 16;

/// Sixteen floats. Only a token creates lanes, so lanes prove that the processor has the instructions.
pub(crate) trait Lanes: Copy + Dots {
    /// Number of lanes in a row of a register tile.
    const TILE: usize;

    fn splat(simd: Self::Token, value: f32) -> Self;
    fn load(simd: Self::Token, from: &[f32; WIDTH]) -> Self;
    fn store(self, to: &mut [f32; WIDTH]);
    fn from_halves(simd: Self::Token, from: &[u16; WIDTH]) -> Self;
    fn to_halves(self, to: &mut [u16; WIDTH]);
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn max(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;
    /// Returns `self * factor + term`, rounded once.
    fn mul_add(self, factor: Self, term: Self) -> Self;
    /// Rounds to the nearest integer, ties to even.
    fn round(self) -> Self;
    /// Returns two to the power of each value. All values are integers from -126 to 127.
    fn exp2_whole(self) -> Self;
}

/// Number of groups of sixteen weights in a block of 256.
pub(crate) const GROUPS: usize = SUPER / 16;

/// Products of bytes for the row kernels. Like those of [`Lanes`], the methods are `#[inline(always)]`.
pub(crate) trait Dots {
    /// Proof that the processor has the instructions.
    type Token: Copy;

    /// Returns the dot product of a block of 32.
    fn dot(simd: Self::Token, weights: &[u8; SMALL], quants: &[i8; SMALL]) -> i32;

    /// Returns the sum of the dot products of sixteen groups, each times its scale.
    fn scaled_dot(
        simd: Self::Token,
        weights: &[u8; SUPER],
        quants: &[i8; SUPER],
        scales: &[i16; GROUPS],
    ) -> i32;
}

/// Returns the sum of sixteen values, always added in the same order.
#[inline(always)]
pub(crate) fn sum<L: Lanes>(lanes: L) -> f32 {
    let mut values = [0.0; WIDTH];
    lanes.store(&mut values);
    for width in [8, 4, 2, 1] {
        for i in 0..width {
            values[i] += values[i + width];
        }
    }
    values[0]
}

/// Returns the largest of sixteen values.
#[inline(always)]
pub(crate) fn largest<L: Lanes>(lanes: L) -> f32 {
    let mut values = [0.0; WIDTH];
    lanes.store(&mut values);
    values.into_iter().fold(f32::NEG_INFINITY, f32::max)
}

/// Returns e to the power of each value, to about one unit in the last place. Values are clamped to -87
/// and 88.
#[inline(always)]
pub(crate) fn exp<L: Lanes>(simd: L::Token, x: L) -> L {
    let clamped = x.max(L::splat(simd, -87.0)).min(L::splat(simd, 88.0));
    let power = clamped.mul(L::splat(simd, std::f32::consts::LOG2_E)).round();
    // ln 2 is split in two parts, so that the remainder is exact.
    let rest = power.mul_add(L::splat(simd, -0.693_359_4), clamped);
    let rest = power.mul_add(L::splat(simd, 2.121_944_4e-4), rest);
    let mut poly = L::splat(simd, 1.0 / 5040.0);
    for factor in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        poly = poly.mul_add(rest, L::splat(simd, factor));
    }
    poly.mul(power.exp2_whole())
}

/// Implementation in plain Rust.
#[derive(Clone, Copy)]
pub(crate) struct Portable([f32; WIDTH]);

impl Portable {
    #[inline(always)]
    fn zip(self, other: Self, op: impl Fn(f32, f32) -> f32) -> Self {
        Self(std::array::from_fn(|i| op(self.0[i], other.0[i])))
    }
}

impl Lanes for Portable {
    const TILE: usize = 1;

    #[inline(always)]
    fn splat((): (), value: f32) -> Self {
        Self([value; WIDTH])
    }
    #[inline(always)]
    fn load((): (), from: &[f32; WIDTH]) -> Self {
        Self(*from)
    }
    #[inline(always)]
    fn store(self, to: &mut [f32; WIDTH]) {
        *to = self.0;
    }
    #[inline(always)]
    fn from_halves((): (), from: &[u16; WIDTH]) -> Self {
        Self(from.map(f16_to_f32))
    }
    #[inline(always)]
    fn to_halves(self, to: &mut [u16; WIDTH]) {
        *to = self.0.map(f32_to_f16);
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        self.zip(other, |a, b| a / b)
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.zip(other, |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.zip(other, |a, b| if a < b { a } else { b })
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i].mul_add(factor.0[i], term.0[i])))
    }
    #[inline(always)]
    fn round(self) -> Self {
        Self(self.0.map(f32::round_ties_even))
    }
    #[inline(always)]
    fn exp2_whole(self) -> Self {
        Self(self.0.map(|power| f32::from_bits(((power as i32 + 127) as u32) << 23)))
    }
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

/// Computation that is written once and compiled for every instruction set.
pub(crate) trait Kernel {
    /// Result of the computation.
    type Output;

    /// Computes with the given lanes. Implementations must be `#[inline(always)]`: otherwise they are not
    /// compiled with the instructions of the lanes.
    fn run<L: Lanes>(self, simd: L::Token) -> Self::Output;
}

/// Runs a kernel with the instructions of `level`.
pub(crate) fn dispatch<K: Kernel>(level: Instructions, kernel: K) -> K::Output {
    match level.0 {
        Level::Portable => kernel.run::<Portable>(()),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2(token) => token.run(kernel),
        #[cfg(target_arch = "x86_64")]
        Level::Avx512(token) => token.run(kernel),
    }
}
