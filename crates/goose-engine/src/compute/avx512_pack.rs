//! Panels of `Q4_K` and `Q6_K`, sixteen whole rows at once, with AVX-512.

use std::arch::x86_64::*;

use super::block::BlockType;
use super::panel::{Panel, ROWS};
use super::unpack::Scales;

/// Fills a panel from sixteen blocks of `Q4_K`, `stride` bytes apart.
///
/// # Safety
/// The processor must have AVX-512 F and BW; sixteen blocks of 144 bytes are there.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) unsafe fn q4k(blocks: *const u8, stride: usize, panel: &mut Panel) {
    // SAFETY: as promised by the caller.
    unsafe {
        scales(BlockType::Q4K, blocks, stride, panel);
        let nibbles = _mm512_set1_epi8(0x0f);
        for half in 0..2 {
            let words = transposed(blocks.add(16 + half * 64), stride);
            for (i, word) in words.into_iter().enumerate() {
                let at = (half * 2 + i / 8) * 16 + i % 8;
                store(&mut panel.quants[at], _mm512_and_si512(word, nibbles));
                store(&mut panel.quants[at + 8], _mm512_and_si512(_mm512_srli_epi16::<4>(word), nibbles));
            }
        }
    }
}

/// Fills a panel from sixteen blocks of `Q6_K`, `stride` bytes apart.
///
/// # Safety
/// As [`q4k`], with blocks of 210 bytes.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) unsafe fn q6k(blocks: *const u8, stride: usize, panel: &mut Panel) {
    // SAFETY: as promised by the caller.
    unsafe {
        scales(BlockType::Q6K, blocks, stride, panel);
        let (nibble, top) = (_mm512_set1_epi8(0x0f), _mm512_set1_epi8(0x30));
        let high = transposed(blocks.add(128), stride);
        for half in 0..2 {
            let low = transposed(blocks.add(half * 64), stride);
            for i in 0..16 {
                let high = high[half * 8 + i % 8];
                let (first, second) = if i < 8 {
                    (_mm512_slli_epi16::<4>(high), high)
                } else {
                    (_mm512_slli_epi16::<2>(high), _mm512_srli_epi16::<2>(high))
                };
                let (first, second) = (_mm512_and_si512(first, top), _mm512_and_si512(second, top));
                let upper = _mm512_srli_epi16::<4>(low[i]);
                // (low & nibble) | top
                store(
                    &mut panel.quants[half * 32 + i],
                    _mm512_ternarylogic_epi32::<0xea>(low[i], nibble, first),
                );
                store(
                    &mut panel.quants[half * 32 + 16 + i],
                    _mm512_ternarylogic_epi32::<0xea>(upper, nibble, second),
                );
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn store(to: &mut [u32; ROWS], value: __m512i) {
    // SAFETY: sixteen words.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), value) }
}

/// Word `i` of sixteen rows in register `i`; the rows are `stride` bytes apart.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn transposed(rows: *const u8, stride: usize) -> [__m512i; 16] {
    // SAFETY: 64 bytes of sixteen rows are there.
    unsafe {
        let row: [__m512i; 16] = std::array::from_fn(|i| _mm512_loadu_si512(rows.add(i * stride).cast()));
        let mut quads = [_mm512_setzero_si512(); 16];
        for i in 0..4 {
            let [a, b, c, d] = [row[i * 4], row[i * 4 + 1], row[i * 4 + 2], row[i * 4 + 3]];
            let (ab_low, ab_high) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
            let (cd_low, cd_high) = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
            // quads[word % 4 * 4 + i]: in 128-bit lane `word / 4`, that word of rows 4i to 4i + 3.
            quads[i] = _mm512_unpacklo_epi64(ab_low, cd_low);
            quads[4 + i] = _mm512_unpackhi_epi64(ab_low, cd_low);
            quads[8 + i] = _mm512_unpacklo_epi64(ab_high, cd_high);
            quads[12 + i] = _mm512_unpackhi_epi64(ab_high, cd_high);
        }
        let mut words = [_mm512_setzero_si512(); 16];
        for word in 0..4 {
            let [a, b, c, d] =
                [quads[word * 4], quads[word * 4 + 1], quads[word * 4 + 2], quads[word * 4 + 3]];
            let ab_even = _mm512_shuffle_i32x4::<0b10_00_10_00>(a, b);
            let ab_odd = _mm512_shuffle_i32x4::<0b11_01_11_01>(a, b);
            let cd_even = _mm512_shuffle_i32x4::<0b10_00_10_00>(c, d);
            let cd_odd = _mm512_shuffle_i32x4::<0b11_01_11_01>(c, d);
            words[word] = _mm512_shuffle_i32x4::<0b10_00_10_00>(ab_even, cd_even);
            words[4 + word] = _mm512_shuffle_i32x4::<0b10_00_10_00>(ab_odd, cd_odd);
            words[8 + word] = _mm512_shuffle_i32x4::<0b11_01_11_01>(ab_even, cd_even);
            words[12 + word] = _mm512_shuffle_i32x4::<0b11_01_11_01>(ab_odd, cd_odd);
        }
        words
    }
}

/// # Safety
/// Sixteen blocks of the format are there, `stride` bytes apart.
#[inline]
unsafe fn scales(kind: BlockType, blocks: *const u8, stride: usize, panel: &mut Panel) {
    let mut scales = Scales::EMPTY;
    for row in 0..ROWS {
        // SAFETY: as promised by the caller.
        let block = unsafe { std::slice::from_raw_parts(blocks.add(row * stride), kind.block_bytes()) };
        scales.take(kind, block);
        panel.pack_scales(&scales, row);
    }
}
