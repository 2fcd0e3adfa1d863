//! One token times rows of `Q8_0`, `Q4_0` and `IQ4_NL`, straight from the file's blocks, with AVX2.
//!
//! These blocks are short, so what is summed across a register weighs most: eight rows go together, and one small tree
//! sums all eight.

#![expect(clippy::needless_range_loop, reason = "registers are numbered, several arrays at a time")]

use std::arch::x86_64::*;

use super::activations::QuantizedRow;
use super::block::SMALL;
use super::dequantize::IQ4_VALUES;
use super::lanes_x86::prefetch;

/// Rows that go together; each asks for the block that its successor so many rows on has in the same place.
pub(super) const ROWS: usize = 8;
const Q8_0_BYTES: usize = 34;
/// Of `Q4_0` and `IQ4_NL`.
const Q4_0_BYTES: usize = 18;
/// The offset of each weight of `Q4_0`.
const Q4_0_OFFSET: i32 = 8;

/// The dot products of eight rows of `Q8_0`, that begin at `rows` and are `stride` bytes each, with one token.
///
/// # Safety
/// The processor must have AVX2, FMA and F16C; `rows` has eight whole rows as long as the token's.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn q8_0(rows: *const u8, stride: usize, token: QuantizedRow<'_>) -> [f32; ROWS] {
    let mut total = _mm256_setzero_ps();
    for (block, scale) in token.scales.iter().enumerate() {
        // SAFETY: block `block` of each row and of the token is there.
        unsafe {
            let at = rows.add(block * Q8_0_BYTES);
            let quants = _mm256_loadu_si256(token.quants.as_ptr().add(block * SMALL).cast());
            let mut products = [_mm256_setzero_si256(); ROWS];
            for row in 0..ROWS {
                prefetch(at.add(row * stride), stride * ROWS, 1);
                let weights = _mm256_loadu_si256(at.add(row * stride + 2).cast());
                products[row] = pairs(signed_products(weights, quants));
            }
            total = with_block(total, at, stride, *scale, sum_rows(products));
        }
    }
    store(total)
}

/// As [`q8_0`], for rows of `Q4_0`.
///
/// # Safety
/// As [`q8_0`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn q4_0(rows: *const u8, stride: usize, token: QuantizedRow<'_>) -> [f32; ROWS] {
    let mut total = _mm256_setzero_ps();
    for (block, (scale, sum)) in token.scales.iter().zip(token.sums).enumerate() {
        // SAFETY: block `block` of each row and of the token is there.
        unsafe {
            let at = rows.add(block * Q4_0_BYTES);
            let quants = _mm256_loadu_si256(token.quants.as_ptr().add(block * SMALL).cast());
            let mut products = [_mm256_setzero_si256(); ROWS];
            for row in 0..ROWS {
                prefetch(at.add(row * stride), stride * ROWS, 1);
                let weights = nibbles(at.add(row * stride + 2));
                products[row] = pairs(_mm256_maddubs_epi16(weights, quants));
            }
            let offset = _mm256_set1_epi32(Q4_0_OFFSET * i32::from(*sum));
            let dots = _mm256_sub_epi32(sum_rows(products), offset);
            total = with_block(total, at, stride, *scale, dots);
        }
    }
    store(total)
}

/// As [`q8_0`], for rows of `IQ4_NL`.
///
/// # Safety
/// As [`q8_0`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn iq4_nl(rows: *const u8, stride: usize, token: QuantizedRow<'_>) -> [f32; ROWS] {
    let mut total = _mm256_setzero_ps();
    for (block, scale) in token.scales.iter().enumerate() {
        // SAFETY: block `block` of each row and of the token is there.
        unsafe {
            let at = rows.add(block * Q4_0_BYTES);
            let quants = _mm256_loadu_si256(token.quants.as_ptr().add(block * SMALL).cast());
            let mut products = [_mm256_setzero_si256(); ROWS];
            for row in 0..ROWS {
                prefetch(at.add(row * stride), stride * ROWS, 1);
                products[row] = pairs(signed_products(iq4_values(at.add(row * stride + 2)), quants));
            }
            total = with_block(total, at, stride, *scale, sum_rows(products));
        }
    }
    store(total)
}

/// The 32 values that sixteen bytes of an `IQ4` format stand for.
///
/// # Safety
/// The processor must have AVX2; sixteen bytes are there.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn iq4_values(bytes: *const u8) -> __m256i {
    // SAFETY: sixteen bytes are there, and as many values in the table.
    unsafe {
        let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(IQ4_VALUES.as_ptr().cast()));
        _mm256_shuffle_epi8(table, nibbles(bytes))
    }
}

/// The low halves of sixteen bytes, then their high halves.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn nibbles(bytes: *const u8) -> __m256i {
    // SAFETY: the caller's pointer has sixteen bytes left.
    let bytes = unsafe { _mm_loadu_si128(bytes.cast()) };
    _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16::<4>(bytes), bytes), _mm256_set1_epi8(0x0f))
}

/// Sums of two neighbouring products of signed bytes, of which the activations are never -128.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn signed_products(weights: __m256i, quants: __m256i) -> __m256i {
    _mm256_maddubs_epi16(_mm256_abs_epi8(weights), _mm256_sign_epi8(quants, weights))
}

/// Adds a block's dot products, times the scales of the rows' blocks and of the token's.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn with_block(total: __m256, blocks: *const u8, stride: usize, scale: f32, dots: __m256i) -> __m256 {
    // SAFETY: a block of these formats begins with its scale, and eight rows have one here.
    unsafe {
        let half = |row: usize| blocks.add(row * stride).cast::<i16>().read_unaligned();
        let halves = _mm_setr_epi16(half(0), half(1), half(2), half(3), half(4), half(5), half(6), half(7));
        let scales = _mm256_mul_ps(_mm256_cvtph_ps(halves), _mm256_set1_ps(scale));
        _mm256_fmadd_ps(scales, _mm256_cvtepi32_ps(dots), total)
    }
}

/// Neighbouring 16-bit numbers, added.
#[inline]
#[target_feature(enable = "avx2")]
fn pairs(products: __m256i) -> __m256i {
    _mm256_madd_epi16(products, _mm256_set1_epi16(1))
}

/// The sum of each register, as eight lanes of one.
#[inline]
#[target_feature(enable = "avx2")]
fn sum_rows(rows: [__m256i; ROWS]) -> __m256i {
    let four = |a, b, c, d| _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
    let low = four(rows[0], rows[1], rows[2], rows[3]);
    let high = four(rows[4], rows[5], rows[6], rows[7]);
    _mm256_add_epi32(
        _mm256_permute2x128_si256::<0x20>(low, high),
        _mm256_permute2x128_si256::<0x31>(low, high),
    )
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(total: __m256) -> [f32; ROWS] {
    let mut sums = [0.0; ROWS];
    // SAFETY: eight floats.
    unsafe { _mm256_storeu_ps(sums.as_mut_ptr(), total) };
    sums
}
