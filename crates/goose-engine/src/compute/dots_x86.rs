//! [`Dots`] with the vector registers of x86-64.
//!
//! As in `lanes_x86`, the methods carry no target feature of their own: they are inlined into kernels that do, and their
//! tokens prove that the processor has the instructions.

use std::arch::x86_64::*;

use super::block::{SMALL, SUPER};
use super::dots::{Dots, GROUPS};
use super::instructions::{Avx2, Avx512};
use super::lanes_x86::{Pair, Wide};

impl Dots for Pair {
    type Token = Avx2;

    #[inline(always)]
    fn dot(_: Avx2, weights: &[u8; SMALL], quants: &[i8; SMALL]) -> i32 {
        // SAFETY: the token proves that the instructions are there; two halves of 32 bytes, and sixteen groups of 16 bytes, are read from arrays of that size.
        unsafe {
            let low = products(weights.as_ptr(), quants.as_ptr());
            let high = products(weights.as_ptr().add(16), quants.as_ptr().add(16));
            sum(_mm256_add_epi32(low, high))
        }
    }

    #[inline(always)]
    fn scaled_dot(_: Avx2, weights: &[u8; SUPER], quants: &[i8; SUPER], scales: &[i16; GROUPS]) -> i32 {
        // SAFETY: the token proves that the instructions are there; two halves of 32 bytes, and sixteen groups of 16 bytes, are read from arrays of that size.
        unsafe {
            let mut total = _mm256_setzero_si256();
            for (group, scale) in scales.iter().enumerate() {
                let products = products(weights.as_ptr().add(group * 16), quants.as_ptr().add(group * 16));
                let scaled = _mm256_mullo_epi32(products, _mm256_set1_epi32((*scale).into()));
                total = _mm256_add_epi32(total, scaled);
            }
            sum(total)
        }
    }
}

impl Dots for Wide {
    type Token = Avx512;

    #[inline(always)]
    fn dot(_: Avx512, weights: &[u8; SMALL], quants: &[i8; SMALL]) -> i32 {
        // SAFETY: the token proves that the instructions are there; whole registers are read from arrays that they fill, or a quarter of them.
        unsafe {
            let weights = _mm256_loadu_si256(weights.as_ptr().cast());
            let quants = _mm256_loadu_si256(quants.as_ptr().cast());
            sum(_mm256_dpbusd_epi32(_mm256_setzero_si256(), weights, quants))
        }
    }

    #[inline(always)]
    fn scaled_dot(_: Avx512, weights: &[u8; SUPER], quants: &[i8; SUPER], scales: &[i16; GROUPS]) -> i32 {
        // SAFETY: the token proves that the instructions are there; whole registers are read from arrays that they fill, or a quarter of them.
        unsafe {
            let scales = _mm512_cvtepi16_epi32(_mm256_loadu_si256(scales.as_ptr().cast()));
            let mut total = _mm512_setzero_si512();
            for quarter in 0..4 {
                let weights = _mm512_loadu_si512(weights.as_ptr().add(quarter * 64).cast());
                let quants = _mm512_loadu_si512(quants.as_ptr().add(quarter * 64).cast());
                // Four lanes for each of four groups.
                let dots = _mm512_dpbusd_epi32(_mm512_setzero_si512(), weights, quants);
                let group = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
                let group = _mm512_add_epi32(group, _mm512_set1_epi32(quarter as i32 * 4));
                let own = _mm512_permutexvar_epi32(group, scales);
                total = _mm512_add_epi32(total, _mm512_mullo_epi32(dots, own));
            }
            _mm512_reduce_add_epi32(total)
        }
    }
}

/// Eight sums of two neighbouring products of sixteen bytes.
///
/// # Safety
/// The processor must have AVX2, and both pointers sixteen bytes.
#[inline(always)]
unsafe fn products(weights: *const u8, quants: *const i8) -> __m256i {
    // SAFETY: the same promises.
    unsafe {
        let weights = _mm256_cvtepu8_epi16(_mm_loadu_si128(weights.cast()));
        let quants = _mm256_cvtepi8_epi16(_mm_loadu_si128(quants.cast()));
        _mm256_madd_epi16(weights, quants)
    }
}

/// The sum of eight lanes.
///
/// # Safety
/// The processor must have AVX2.
#[inline(always)]
unsafe fn sum(lanes: __m256i) -> i32 {
    // SAFETY: the same promise.
    unsafe {
        let four = _mm_add_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256::<1>(lanes));
        let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b01_00_11_10>(four));
        _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32::<0b10_11_00_01>(two)))
    }
}
