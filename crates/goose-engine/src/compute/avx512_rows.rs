//! One token times rows of `Q4_K` and `Q6_K`, directly from the file's blocks, with AVX-512 and VNNI.
//!
//! These kernels dominate the time of writing an answer. They must be faster than memory delivers the
//! weights. Four rows are computed together, so that the headers of four blocks fill a register and one
//! transposition sums all four.

#![expect(clippy::needless_range_loop, reason = "registers are numbered, several arrays at a time")]

use std::arch::x86_64::*;

use super::activations::{QuantizedRow, SUPER_SUMS};
use super::lanes_x86::prefetch;

/// Number of rows that are computed together. Each prefetches the same block of the row `ROWS` further.
pub(super) const ROWS: usize = 4;
const Q4K_BYTES: usize = 144;
const Q6K_BYTES: usize = 210;

/// Returns the dot products of one token with four rows of `Q4_K`. The rows begin at `rows`, and are
/// `stride` bytes long.
///
/// # Safety
/// The processor has AVX-512 F, BW, DQ, VL and VNNI; `rows` has four whole rows as long as the token's.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
pub(super) unsafe fn q4k(rows: *const u8, stride: usize, token: QuantizedRow<'_>) -> [f32; ROWS] {
    let mut total = _mm_setzero_ps();
    let nibbles = _mm512_set1_epi8(0x0f);
    let halves = _mm512_inserti64x4::<1>(_mm512_setzero_si512(), _mm256_set1_epi16(4));
    let pick = [pick_q4k(0), pick_q4k(4)];
    for (block, scale) in token.scales.iter().enumerate() {
        // SAFETY: each row and the token have a block `block`.
        unsafe {
            let quants = token.quants.as_ptr().add(block * 256);
            let sums = token.sums.as_ptr().add(block * SUPER_SUMS);
            let at = |row: usize| rows.add(row * stride + block * Q4K_BYTES);
            let (header, scales) = headers(at(0), at(1), at(2), at(3));
            let mut products = [_mm512_setzero_si512(); ROWS];
            for row in 0..ROWS {
                let weights = at(row).add(16);
                prefetch(weights, stride * ROWS, 3);
                let dot = |quarter: usize| {
                    let bytes = _mm512_broadcast_i64x4(_mm256_loadu_si256(weights.add(quarter * 32).cast()));
                    let weights = _mm512_and_si512(_mm512_srlv_epi16(bytes, halves), nibbles);
                    let activations = _mm512_loadu_si512(quants.add(quarter * 64).cast());
                    _mm512_dpbusd_epi32(_mm512_setzero_si512(), weights, activations)
                };
                let own = lane_everywhere(scales, row);
                let first = _mm512_packs_epi32(dot(0), dot(1));
                let second = _mm512_packs_epi32(dot(2), dot(3));
                let half =
                    _mm512_dpwssd_epi32(_mm512_setzero_si512(), first, _mm512_shuffle_epi8(own, pick[0]));
                products[row] = _mm512_dpwssd_epi32(half, second, _mm512_shuffle_epi8(own, pick[1]));
            }
            let mins = _mm512_unpackhi_epi8(scales, _mm512_setzero_si512());
            let bases = _mm512_broadcast_i32x4(_mm_loadu_si128(sums.add(16).cast()));
            let mins = sum_in_lanes(_mm512_madd_epi16(mins, bases));
            let factors = _mm512_mul_ps(_mm512_cvtph_ps(header), _mm512_set1_ps(*scale));
            let (scales, mins_scale) = split_factors(factors);
            total = _mm_fmadd_ps(scales, _mm_cvtepi32_ps(sum_rows(products)), total);
            total = _mm_fnmadd_ps(mins_scale, _mm_cvtepi32_ps(mins), total);
        }
    }
    store(total)
}

/// Returns the byte shuffle that gives each 16-bit lane its scale, for a pair of packed dot products of
/// `Q4_K`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn pick_q4k(first: i8) -> __m512i {
    let lane = |a: i8, b: i8| _mm_setr_epi8(a, -1, a, -1, a, -1, a, -1, b, -1, b, -1, b, -1, b, -1);
    let (low, high) = (lane(first, first + 2), lane(first + 1, first + 3));
    let zero = _mm512_castsi128_si512(low);
    let two = _mm512_inserti32x4::<1>(zero, low);
    let three = _mm512_inserti32x4::<2>(two, high);
    _mm512_inserti32x4::<3>(three, high)
}

/// Reads the headers of four blocks: the scale and minimum of each row as half floats, and in each
/// 128-bit lane the eight scales and eight minimums of a row as bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
unsafe fn headers(a: *const u8, b: *const u8, c: *const u8, d: *const u8) -> (__m256i, __m512i) {
    // SAFETY: a block of `Q4_K` begins with a header of 16 bytes.
    unsafe {
        let load = |at: *const u8| _mm_loadu_si128(at.cast());
        let all = _mm512_castsi128_si512(load(a));
        let all = _mm512_inserti32x4::<1>(all, load(b));
        let all = _mm512_inserti32x4::<2>(all, load(c));
        let all = _mm512_inserti32x4::<3>(all, load(d));
        // Words of a header: halves, a, b, c. Wanted: a, c, b, c (low bits) and -, a, -, b (high bits).
        let low = _mm512_shuffle_epi32::<0b11_10_11_01>(all);
        let low = _mm512_srlv_epi32(low, lanes([0, 0, 0, 4]));
        let low = _mm512_and_si512(low, lanes([0x3f3f_3f3f, 0x0f0f_0f0f, 0x3f3f_3f3f, 0x0f0f_0f0f]));
        let high = _mm512_srli_epi32::<2>(_mm512_shuffle_epi32::<0b10_00_01_00>(all));
        let high = _mm512_and_si512(high, lanes([0, 0x3030_3030, 0, 0x3030_3030]));
        let firsts = _mm512_permutexvar_epi32(
            _mm512_setr_epi32(0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12),
            all,
        );
        (_mm512_castsi512_si256(firsts), _mm512_or_si512(low, high))
    }
}

/// Returns the same four words in every 128-bit lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn lanes(words: [i32; 4]) -> __m512i {
    _mm512_broadcast_i32x4(_mm_setr_epi32(words[0], words[1], words[2], words[3]))
}

/// Returns the 128-bit lane `lane` in all four.
#[inline]
#[target_feature(enable = "avx512f")]
fn lane_everywhere(value: __m512i, lane: usize) -> __m512i {
    match lane {
        0 => _mm512_shuffle_i32x4::<0b00_00_00_00>(value, value),
        1 => _mm512_shuffle_i32x4::<0b01_01_01_01>(value, value),
        2 => _mm512_shuffle_i32x4::<0b10_10_10_10>(value, value),
        _ => _mm512_shuffle_i32x4::<0b11_11_11_11>(value, value),
    }
}

/// Separates `scale, minimum` of four rows into the scales and the minimums.
#[inline]
#[target_feature(enable = "avx512f")]
fn split_factors(factors: __m512) -> (__m128, __m128) {
    let low = _mm512_castps512_ps128(factors);
    let high = _mm512_extractf32x4_ps::<1>(factors);
    (_mm_shuffle_ps::<0b10_00_10_00>(low, high), _mm_shuffle_ps::<0b11_01_11_01>(low, high))
}

/// Returns the sum of each register, as four lanes of one register.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
fn sum_rows(rows: [__m512i; ROWS]) -> __m128i {
    let pairs = |a, b| _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let (first, second) = (pairs(rows[0], rows[1]), pairs(rows[2], rows[3]));
    let four = _mm512_add_epi32(_mm512_unpacklo_epi64(first, second), _mm512_unpackhi_epi64(first, second));
    let two = _mm256_add_epi32(_mm512_castsi512_si256(four), _mm512_extracti64x4_epi64::<1>(four));
    _mm_add_epi32(_mm256_castsi256_si128(two), _mm256_extracti128_si256::<1>(two))
}

/// Returns the sum of each 128-bit lane, as four lanes of one register.
#[inline]
#[target_feature(enable = "avx512f")]
fn sum_in_lanes(value: __m512i) -> __m128i {
    let two = _mm512_add_epi32(value, _mm512_shuffle_epi32::<0b10_11_00_01>(value));
    let one = _mm512_add_epi32(two, _mm512_shuffle_epi32::<0b01_00_11_10>(two));
    let order = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    _mm512_castsi512_si128(_mm512_permutexvar_epi32(order, one))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(total: __m128) -> [f32; ROWS] {
    let mut sums = [0.0; ROWS];
    // SAFETY: four floats.
    unsafe { _mm_storeu_ps(sums.as_mut_ptr(), total) };
    sums
}

/// Returns the dot products of rows of `Q6_K`, as [`q4k`] does.
///
/// # Safety
/// As for [`q4k`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")]
pub(super) unsafe fn q6k(rows: *const u8, stride: usize, token: QuantizedRow<'_>) -> [f32; ROWS] {
    let mut total = _mm_setzero_ps();
    let pick = [pick_q6k(0), pick_q6k(8)];
    for (block, scale) in token.scales.iter().enumerate() {
        // SAFETY: each row and the token have a block `block`.
        unsafe {
            let quants = token.quants.as_ptr().add(block * 256);
            let bases = _mm256_loadu_si256(token.sums.as_ptr().add(block * SUPER_SUMS).cast());
            let at = |row: usize| rows.add(row * stride + block * Q6K_BYTES);
            let mut products = [_mm512_setzero_si512(); ROWS];
            for row in 0..ROWS {
                let weights = at(row);
                prefetch(weights, stride * ROWS, 4);
                let [a, b] = q6k_half(weights, weights.add(128), quants);
                let [c, d] = q6k_half(weights.add(64), weights.add(160), quants.add(128));
                let bytes = _mm_loadu_si128(weights.add(192).cast());
                let own = _mm512_broadcast_i32x4(bytes);
                let spread = |pick| _mm512_srai_epi16::<8>(_mm512_shuffle_epi8(own, pick));
                let offset = _mm256_madd_epi16(_mm256_cvtepi8_epi16(bytes), bases);
                let offset = _mm512_zextsi256_si512(_mm256_slli_epi32::<5>(offset));
                let start = _mm512_sub_epi32(_mm512_setzero_si512(), offset);
                let half = _mm512_dpwssd_epi32(start, _mm512_packs_epi32(a, b), spread(pick[0]));
                products[row] = _mm512_dpwssd_epi32(half, _mm512_packs_epi32(c, d), spread(pick[1]));
            }
            let scales = q6k_scales(at(0), at(1), at(2), at(3));
            let factors = _mm_mul_ps(scales, _mm_set1_ps(*scale));
            total = _mm_fmadd_ps(factors, _mm_cvtepi32_ps(sum_rows(products)), total);
        }
    }
    store(total)
}

/// Returns the two dot products (of 64 values each) of half a block, from its low bits, its high bits and
/// its activations.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn q6k_half(low: *const u8, high: *const u8, quants: *const i8) -> [__m512i; 2] {
    // SAFETY: the pointers have 64 low bytes, 32 high bytes and 128 activations.
    unsafe {
        let low = _mm512_loadu_si512(low.cast());
        let high = _mm512_broadcast_i64x4(_mm256_loadu_si256(high.cast()));
        let (four, two, none) = (_mm256_set1_epi16(4), _mm256_set1_epi16(2), _mm256_setzero_si256());
        let left = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(four), two);
        let right = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(none), two);
        let (nibble, top) = (_mm512_set1_epi8(0x0f), _mm512_set1_epi8(0x30));
        let first_top = _mm512_and_si512(_mm512_sllv_epi16(high, left), top);
        let second_top = _mm512_and_si512(_mm512_srlv_epi16(high, right), top);
        // (low & nibble) | top
        let first = _mm512_ternarylogic_epi32::<0xea>(low, nibble, first_top);
        let second = _mm512_ternarylogic_epi32::<0xea>(_mm512_srli_epi16::<4>(low), nibble, second_top);
        let zero = _mm512_setzero_si512();
        [
            _mm512_dpbusd_epi32(zero, first, _mm512_loadu_si512(quants.cast())),
            _mm512_dpbusd_epi32(zero, second, _mm512_loadu_si512(quants.add(64).cast())),
        ]
    }
}

/// Returns the byte shuffle that gives the upper byte of each 16-bit lane its scale, for a pair of packed
/// dot products of `Q6_K`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn pick_q6k(first: i8) -> __m512i {
    let lane = |i: i8| {
        let (a, b) = (first + i, first + 4 + i);
        _mm_setr_epi8(-1, a, -1, a, -1, a, -1, a, -1, b, -1, b, -1, b, -1, b)
    };
    let zero = _mm512_castsi128_si512(lane(0));
    let two = _mm512_inserti32x4::<1>(zero, lane(1));
    let three = _mm512_inserti32x4::<2>(two, lane(2));
    _mm512_inserti32x4::<3>(three, lane(3))
}

#[inline]
#[target_feature(enable = "avx512f,f16c")]
unsafe fn q6k_scales(a: *const u8, b: *const u8, c: *const u8, d: *const u8) -> __m128 {
    // SAFETY: a block of `Q6_K` has its scale at byte 208, its end.
    unsafe {
        let half = |at: *const u8| i64::from(at.add(208).cast::<u16>().read_unaligned());
        _mm_cvtph_ps(_mm_cvtsi64_si128(half(a) | half(b) << 16 | half(c) << 32 | half(d) << 48))
    }
}
