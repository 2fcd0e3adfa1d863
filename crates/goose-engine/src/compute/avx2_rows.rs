//! One token times rows of `Q4_K`, `Q5_K`, `Q6_K` and `IQ4_XS`, and of the short blocks of `Q8_0`, `Q4_0`
//! and `IQ4_NL`, directly from the file's blocks, with AVX2.

#![expect(clippy::needless_range_loop, reason = "registers are numbered, several arrays at a time")]

use std::arch::x86_64::*;

use super::activations::{QuantizedRow, SUPER_SUMS};
use super::block::{BlockType, SMALL, f16_to_f32};
use super::lanes_x86::{prefetch, sum, sum4};
use super::unpack::{IQ4_VALUES, iq4xs_scales};

/// Number of rows that are computed together. Each prefetches the same block of the row `ROWS` further.
const ROWS: usize = 4;
/// Bytes of a block of each format.
pub(super) const Q4K: usize = 144;
pub(super) const Q5K: usize = 176;
pub(super) const Q6K: usize = 210;
pub(super) const IQ4XS: usize = 136;

/// Returns the dot products of one token with four rows in blocks of 256. The rows begin at `rows`, and
/// are `stride` bytes long. `BYTES` identifies the format.
///
/// # Safety
/// The processor has AVX2, FMA and F16C; `rows` has four whole rows as long as the token's.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn super_rows<const BYTES: usize>(
    rows: *const u8,
    stride: usize,
    token: QuantizedRow<'_>,
) -> [f32; ROWS] {
    const { assert!(matches!(BYTES, Q4K | Q5K | Q6K | IQ4XS), "a format of blocks of 256") };
    let mut totals = [0.0_f32; ROWS];
    for (block, scale) in token.scales.iter().enumerate() {
        for (row, total) in totals.iter_mut().enumerate() {
            // SAFETY: each row and the token have a block `block`.
            unsafe {
                let at = rows.add(row * stride + block * BYTES);
                prefetch(at, stride * ROWS, if BYTES == Q6K { 4 } else { 3 });
                let sums = token.sums.as_ptr().add(block * SUPER_SUMS);
                let quants = token.quants.as_ptr().add(block * 256);
                let half = |byte: usize| f16_to_f32(at.add(byte).cast::<u16>().read_unaligned());
                match BYTES {
                    Q6K => *total = (half(208) * scale).mul_add(q6k_block(at, quants, sums) as f32, *total),
                    IQ4XS => {
                        let products = iq4xs_block(&*at.cast(), quants);
                        *total = (half(0) * scale).mul_add(products as f32, *total);
                    }
                    _ => {
                        let (products, mins) = q4k_or_q5k_block::<BYTES>(at, quants, sums.add(16));
                        *total = (half(0) * scale).mul_add(products as f32, *total);
                        *total = (-(half(2) * scale)).mul_add(mins as f32, *total);
                    }
                }
            }
        }
    }
    totals
}

#[inline]
#[target_feature(enable = "avx2")]
unsafe fn q4k_or_q5k_block<const BYTES: usize>(
    block: *const u8,
    quants: *const i8,
    sums: *const i16,
) -> (i32, i32) {
    // SAFETY: the pointers have a block of `BYTES` bytes, 256 activations and 8 sums.
    unsafe {
        let word = |i: usize| block.cast::<u32>().add(1 + i).read_unaligned();
        let (a, b, c) = (word(0), word(1), word(2));
        let join = |low: u32, high: u32| i64::from(low) | (i64::from(high) << 32);
        let scales = join(a & 0x3f3f_3f3f, (c & 0x0f0f_0f0f) | ((a >> 2) & 0x3030_3030));
        let mins = join(b & 0x3f3f_3f3f, ((c >> 4) & 0x0f0f_0f0f) | ((b >> 2) & 0x3030_3030));
        let scales = _mm256_broadcastsi128_si256(_mm_cvtepu8_epi16(_mm_cvtsi64_si128(scales)));
        let mins = _mm_madd_epi16(_mm_cvtepu8_epi16(_mm_cvtsi64_si128(mins)), _mm_loadu_si128(sums.cast()));
        // The low halves of the weights are at the end of the block. `Q5_K` has the fifth bits before
        // them.
        let (lows, tops) = (block.add(BYTES - 128), _mm256_loadu_si256(block.add(16).cast()));
        let (nibbles, one) = (_mm256_set1_epi8(0x0f), _mm256_set1_epi8(1));
        let mut total = _mm256_setzero_si256();
        for quarter in 0..4 {
            let bytes = _mm256_loadu_si256(lows.add(quarter * 32).cast());
            let halves =
                [_mm256_and_si256(bytes, nibbles), _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), nibbles)];
            for (h, mut weights) in halves.into_iter().enumerate() {
                let group = quarter * 2 + h;
                if BYTES == Q5K {
                    let top = _mm256_srl_epi16(tops, _mm_cvtsi32_si128(group as i32));
                    let top = _mm256_slli_epi16::<4>(_mm256_and_si256(top, one));
                    weights = _mm256_or_si256(weights, top);
                }
                let activations = _mm256_loadu_si256(quants.add(group * 32).cast());
                let own = _mm256_shuffle_epi8(
                    scales,
                    _mm256_set1_epi16((((group * 2 + 1) << 8) | (group * 2)) as i16),
                );
                let products = _mm256_madd_epi16(_mm256_maddubs_epi16(weights, activations), own);
                total = _mm256_add_epi32(total, products);
            }
        }
        (sum(total), sum4(mins))
    }
}

#[inline]
#[target_feature(enable = "avx2")]
unsafe fn q6k_block(block: *const u8, quants: *const i8, sums: *const i16) -> i32 {
    // SAFETY: the pointers have a block of 210 bytes, 256 activations and 16 sums.
    unsafe {
        let scales = _mm256_cvtepi8_epi16(_mm_loadu_si128(block.add(192).cast()));
        let offset = _mm256_madd_epi16(scales, _mm256_loadu_si256(sums.cast()));
        let mut total = _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32::<5>(offset));
        let nibbles = _mm256_set1_epi8(0x0f);
        let top = _mm256_set1_epi8(0x30);
        for half in 0..2 {
            let eight = if half == 0 {
                _mm256_castsi256_si128(scales)
            } else {
                _mm256_extracti128_si256::<1>(scales)
            };
            let eight = _mm256_broadcastsi128_si256(eight);
            let high = _mm256_loadu_si256(block.add(128 + half * 32).cast());
            let low = [
                _mm256_loadu_si256(block.add(half * 64).cast()),
                _mm256_loadu_si256(block.add(half * 64 + 32).cast()),
            ];
            let tops = [
                _mm256_slli_epi16::<4>(high),
                _mm256_slli_epi16::<2>(high),
                high,
                _mm256_srli_epi16::<2>(high),
            ];
            for quarter in 0..4 {
                let bytes = if quarter < 2 { low[quarter] } else { _mm256_srli_epi16::<4>(low[quarter - 2]) };
                let weights =
                    _mm256_or_si256(_mm256_and_si256(bytes, nibbles), _mm256_and_si256(tops[quarter], top));
                let activations = _mm256_loadu_si256(quants.add(half * 128 + quarter * 32).cast());
                let pick = |group: usize| _mm_set1_epi16((((group * 2 + 1) << 8) | (group * 2)) as i16);
                let pick = _mm256_setr_m128i(pick(quarter * 2), pick(quarter * 2 + 1));
                let own = _mm256_shuffle_epi8(eight, pick);
                let products = _mm256_madd_epi16(_mm256_maddubs_epi16(weights, activations), own);
                total = _mm256_add_epi32(total, products);
            }
        }
        sum(total)
    }
}

#[inline]
#[target_feature(enable = "avx2")]
unsafe fn iq4xs_block(block: &[u8; IQ4XS], quants: *const i8) -> i32 {
    let mut total = _mm256_setzero_si256();
    for (group, scale) in iq4xs_scales(block).into_iter().enumerate() {
        // SAFETY: each group has sixteen bytes of weights and 32 activations.
        unsafe {
            let weights = iq4_values(block.as_ptr().add(8 + group * 16));
            let activations = _mm256_loadu_si256(quants.add(group * 32).cast());
            let products = signed_products(weights, activations);
            let scaled = _mm256_madd_epi16(products, _mm256_set1_epi16(scale.into()));
            total = _mm256_add_epi32(total, scaled);
        }
    }
    // SAFETY: the caller's processor has AVX2.
    unsafe { sum(total) }
}

/// Number of rows of short blocks that are computed together. Sums across a register are the main cost
/// there, and one small tree of additions sums all eight rows.
const SMALL_ROWS: usize = 8;
/// Formats of [`small_rows`].
pub(super) const Q8_0: u8 = BlockType::Q8_0 as u8;
pub(super) const Q4_0: u8 = BlockType::Q4_0 as u8;
pub(super) const IQ4_NL: u8 = BlockType::Iq4Nl as u8;
/// Offset of the weights of `Q4_0`.
const Q4_0_OFFSET: i32 = 8;

/// Returns the dot products of one token with eight rows in blocks of 32. The rows begin at `rows`, and
/// are `stride` bytes long.
///
/// # Safety
/// The processor has AVX2, FMA and F16C; `rows` has eight whole rows as long as the token's.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn small_rows<const KIND: u8>(
    rows: *const u8,
    stride: usize,
    token: QuantizedRow<'_>,
) -> [f32; SMALL_ROWS] {
    let bytes = if KIND == Q8_0 { 34 } else { 18 };
    let mut total = _mm256_setzero_ps();
    for (block, (scale, sum)) in token.scales.iter().zip(token.sums).enumerate() {
        // SAFETY: each row and the token have a block `block`.
        unsafe {
            let at = rows.add(block * bytes);
            let quants = _mm256_loadu_si256(token.quants.as_ptr().add(block * SMALL).cast());
            let mut products = [_mm256_setzero_si256(); SMALL_ROWS];
            for row in 0..SMALL_ROWS {
                prefetch(at.add(row * stride), stride * SMALL_ROWS, 1);
                let weights = at.add(row * stride + 2);
                products[row] = pairs(match KIND {
                    Q8_0 => signed_products(_mm256_loadu_si256(weights.cast()), quants),
                    Q4_0 => _mm256_maddubs_epi16(nibbles(weights), quants),
                    _ => signed_products(iq4_values(weights), quants),
                });
            }
            let mut dots = sum_rows(products);
            if KIND == Q4_0 {
                dots = _mm256_sub_epi32(dots, _mm256_set1_epi32(Q4_0_OFFSET * i32::from(*sum)));
            }
            total = with_block(total, at, stride, *scale, dots);
        }
    }
    store(total)
}

/// Returns the 32 values of sixteen bytes in an `IQ4` format.
///
/// # Safety
/// The processor has AVX2; the pointer has sixteen bytes.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn iq4_values(bytes: *const u8) -> __m256i {
    // SAFETY: the pointer has sixteen bytes, and the table sixteen values.
    unsafe {
        let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(IQ4_VALUES.as_ptr().cast()));
        _mm256_shuffle_epi8(table, nibbles(bytes))
    }
}

/// Returns the low halves of sixteen bytes, then their high halves.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn nibbles(bytes: *const u8) -> __m256i {
    // SAFETY: the caller's pointer has sixteen bytes left.
    let bytes = unsafe { _mm_loadu_si128(bytes.cast()) };
    _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16::<4>(bytes), bytes), _mm256_set1_epi8(0x0f))
}

/// Returns sums of two neighbouring products of signed bytes. It needs activations other than -128.
#[inline]
#[target_feature(enable = "avx2")]
fn signed_products(weights: __m256i, quants: __m256i) -> __m256i {
    _mm256_maddubs_epi16(_mm256_abs_epi8(weights), _mm256_sign_epi8(quants, weights))
}

/// Adds the dot products of a block, times the scales of the rows' blocks and of the token.
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

/// Adds neighbouring 16-bit integers.
#[inline]
#[target_feature(enable = "avx2")]
fn pairs(products: __m256i) -> __m256i {
    _mm256_madd_epi16(products, _mm256_set1_epi16(1))
}

/// Returns the sum of each register, as eight lanes of one register.
#[inline]
#[target_feature(enable = "avx2")]
fn sum_rows(rows: [__m256i; SMALL_ROWS]) -> __m256i {
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
fn store(total: __m256) -> [f32; SMALL_ROWS] {
    let mut sums = [0.0; SMALL_ROWS];
    // SAFETY: eight floats.
    unsafe { _mm256_storeu_ps(sums.as_mut_ptr(), total) };
    sums
}
